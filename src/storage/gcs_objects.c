/* gcs_objects.c: objects of Cloud Storage as a whole: what they are, lists of them, deleting,
 * rewriting, joining. */
#include <stdlib.h>
#include <string.h>

#include "storage/gcs.h"

enum { PAGES_MAX = 1 << 20, REWRITES_MAX = 1 << 16, URL_MAX = ATH_HTTP_URL_MAX };
#define API "storage/v1/"

/* The answer's JSON; the caller gives it up. */
static ath_status parse(const ath_gcs *self, const char *what, json_t **out) {
  json_error_t error;
  *out = json_loadb(self->text.bytes != NULL ? self->text.bytes : "", self->text.length, 0, &error);
  return *out != NULL ? ATH_OK
                      : ath_fail(ATH_IO, "%s: the answer is not JSON: %s", what, error.text);
}

static ath_status stat_by(ath_gcs *self, const char *location, ath_buffer *url,
                          ath_object_info *out) {
  ath_gcs_name name;
  ath_http_answer answer;
  json_t *root;
  ATH_TRY(ath_gcs_parse(location, false, &name));
  ATH_TRY(ath_gcs_url(url, API, name.bucket, name.object, "?fields=size,generation,crc32c"));
  ath_http_request request = {.method = "GET", .url = url->bytes};
  ATH_TRY(ath_gcs_ask(self, &request, 200, 0, location, &answer));
  ATH_TRY(parse(self, location, &root));
  bool good = ath_gcs_read_info(root, out);
  json_decref(root);
  return good ? ATH_OK : ath_fail(ATH_IO, "%s: the answer tells no size", location);
}

ath_status ath_gcs_stat(const char *location, ath_object_info *out) {
  ath_gcs *self;
  ath_buffer url = ath_buffer_make(URL_MAX);
  ATH_TRY(ath_gcs_borrow(&self));
  ath_status status = stat_by(self, location, &url, out);
  ath_gcs_return(self);
  ath_buffer_free(&url);
  return status;
}

/* --- lists -------------------------------------------------------------------------------- */

typedef struct listing {
  const char *location;
  ath_gcs_name name;
  char token[2048]; /* of the next page; "": the first or none */
  ath_status (*visit)(void *context, const char *name, const ath_object_info *info);
  void *context;
} listing;

static ath_status page_url(const listing *self, ath_buffer *url) {
  ATH_TRY(ath_gcs_url(url, API, self->name.bucket, NULL,
                      "?fields=items(name,size,generation,crc32c),nextPageToken&prefix="));
  ATH_TRY(ath_http_escape(url, self->name.object, ""));
  if (self->token[0] == '\0') return ATH_OK;
  ATH_TRY(ath_buffer_string(url, "&pageToken="));
  return ath_http_escape(url, self->token, "");
}

/* Objects whose names end in a slash are how some tools show empty folders; parts are of uploads
 * under way, or ended by a kill. */
static ath_status visit_items(const listing *self, const json_t *items) {
  size_t prefix = strlen(self->name.object);
  for (size_t i = 0; i < json_array_size(items); i++) {
    ath_object_info info;
    const json_t *item = json_array_get(items, i);
    const char *name = json_string_value(json_object_get(item, "name"));
    if (name == NULL || !ath_gcs_read_info(item, &info))
      return ath_fail(ATH_IO, "%s: a list with an object without name or size", self->location);
    if (strncmp(name, self->name.object, prefix) != 0 || name[prefix] == '\0' ||
        name[strlen(name) - 1] == '/' || strstr(name, ATH_GCS_PART_MARK) != NULL)
      continue;
    ATH_TRY(self->visit(self->context, name + prefix, &info));
  }
  return ATH_OK;
}

static ath_status next_token(listing *self, const json_t *root) {
  const char *token = json_string_value(json_object_get(root, "nextPageToken"));
  if (token == NULL) token = "";
  if (strlen(token) >= sizeof self->token || (*token != '\0' && strcmp(token, self->token) == 0))
    return ath_fail(ATH_IO, "%s: the list does not go on", self->location);
  memcpy(self->token, token, strlen(token) + 1);
  return ATH_OK;
}

static ath_status list_page(listing *self, ath_gcs *gcs, ath_buffer *url) {
  ath_http_answer answer;
  json_t *root;
  ATH_TRY(page_url(self, url));
  ath_http_request request = {.method = "GET", .url = url->bytes};
  ATH_TRY(ath_gcs_ask(gcs, &request, 200, 0, self->location, &answer));
  ATH_TRY(parse(gcs, self->location, &root));
  ath_status status = visit_items(self, json_object_get(root, "items"));
  if (status == ATH_OK) status = next_token(self, root);
  json_decref(root);
  return status;
}

static ath_status list_all(listing *self, ath_gcs *gcs, ath_buffer *url) {
  ATH_TRY(ath_gcs_parse(self->location, true, &self->name));
  size_t length = strlen(self->name.object);
  if (length > 0 && self->name.object[length - 1] != '/') {
    if (length + 1 >= ATH_OBJECT_MAX)
      return ath_fail(ATH_INVALID, "%.80s…: the name is too long", self->location);
    memcpy(self->name.object + length, "/", 2);
  }
  for (int page = 0; page < PAGES_MAX; page++) {
    ATH_TRY(list_page(self, gcs, url));
    if (self->token[0] == '\0') return ATH_OK;
  }
  return ath_fail(ATH_INVALID, "%s: more than %d pages of objects", self->location, PAGES_MAX);
}

ath_status ath_gcs_list(const char *location,
                        ath_status (*visit)(void *context, const char *name,
                                            const ath_object_info *info),
                        void *context) {
  ath_gcs *gcs;
  ath_buffer url = ath_buffer_make(2 * URL_MAX);
  listing self = {.location = location, .visit = visit, .context = context};
  ATH_TRY(ath_gcs_borrow(&gcs));
  ath_status status = list_all(&self, gcs, &url);
  ath_gcs_return(gcs);
  ath_buffer_free(&url);
  return status;
}

/* --- changes ------------------------------------------------------------------------------ */

static ath_status delete_by(ath_gcs *self, const char *location, ath_buffer *url) {
  ath_gcs_name name;
  ath_http_answer answer;
  ATH_TRY(ath_gcs_parse(location, false, &name));
  ATH_TRY(ath_gcs_url(url, API, name.bucket, name.object, ""));
  ath_http_request request = {.method = "DELETE", .url = url->bytes};
  ath_status status = ath_gcs_ask(self, &request, 204, 200, location, &answer);
  return status == ATH_NOT_FOUND ? ATH_OK : status;
}

ath_status ath_gcs_delete(const char *location) {
  ath_gcs *self;
  ath_buffer url = ath_buffer_make(URL_MAX);
  ATH_TRY(ath_gcs_borrow(&self));
  ath_status status = delete_by(self, location, &url);
  ath_gcs_return(self);
  ath_buffer_free(&url);
  return status;
}

/* A large object takes several calls, each of which says where the next goes on. */
static ath_status rewrite_by(ath_gcs *self, const char *from, const char *to, ath_buffer *url,
                             ath_buffer *after) {
  ath_gcs_name source, target;
  ath_http_answer answer;
  ATH_TRY(ath_gcs_parse(from, false, &source));
  ATH_TRY(ath_gcs_parse(to, false, &target));
  ATH_TRY(ath_buffer_format(after, "/rewriteTo/b/%s/o/", target.bucket));
  ATH_TRY(ath_http_escape(after, target.object, ""));
  size_t length = after->length;
  for (int i = 0; i < REWRITES_MAX; i++) {
    json_t *root;
    ATH_TRY(ath_gcs_url(url, API, source.bucket, source.object, after->bytes));
    ath_http_request request = {.method = "POST", .url = url->bytes};
    ATH_TRY(ath_gcs_ask(self, &request, 200, 0, from, &answer));
    ATH_TRY(parse(self, from, &root));
    const char *token = json_string_value(json_object_get(root, "rewriteToken"));
    bool done = token == NULL || json_is_true(json_object_get(root, "done"));
    after->length = length;
    ath_status status = done ? ATH_OK : ath_buffer_string(after, "?rewriteToken=");
    if (!done && status == ATH_OK) status = ath_http_escape(after, token, "");
    json_decref(root);
    if (done || status != ATH_OK) return status;
  }
  return ath_fail(ATH_IO, "%s: rewriting it has no end", from);
}

ath_status ath_gcs_rewrite(const char *from, const char *to) {
  ath_gcs *self;
  ath_buffer url = ath_buffer_make(2 * URL_MAX), after = ath_buffer_make(URL_MAX);
  ATH_TRY(ath_gcs_borrow(&self));
  ath_status status = rewrite_by(self, from, to, &url, &after);
  ath_gcs_return(self);
  ath_buffer_free(&after);
  ath_buffer_free(&url);
  return status;
}

static char *compose_body(const char *const *parts, size_t count) {
  json_t *sources = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(sources, json_pack("{ss}", "name", parts[i]));
  bool whole = json_array_size(sources) == count; /* an object lacking a part would be no failure */
  json_t *root = json_pack("{so s{ss}}", "sourceObjects", sources, "destination", "contentType",
                           "application/octet-stream");
  char *text = whole ? json_dumps(root, JSON_COMPACT) : NULL;
  json_decref(root);
  return text;
}

static ath_status compose_by(ath_gcs *self, const ath_gcs_name *to, const char *body,
                             ath_buffer *url, ath_object_info *out) {
  ath_http_answer answer;
  json_t *root;
  ATH_TRY(ath_gcs_url(url, API, to->bucket, to->object, "/compose"));
  ath_http_request request = {.method = "POST", .url = url->bytes, .body = body,
                              .size = strlen(body),
                              .headers = {{"Content-Type", "application/json"}}};
  ATH_TRY(ath_gcs_ask(self, &request, 200, 0, to->object, &answer));
  ATH_TRY(parse(self, to->object, &root));
  bool good = ath_gcs_read_info(root, out);
  json_decref(root);
  return good ? ATH_OK : ath_fail(ATH_IO, "%s: the answer tells no size", to->object);
}

ath_status ath_gcs_compose(const ath_gcs_name *to, const char *const *parts, size_t count,
                           ath_object_info *out) {
  ath_gcs *self;
  ath_buffer url = ath_buffer_make(URL_MAX);
  char *body = compose_body(parts, count);
  if (body == NULL)
    return ath_fail(ATH_INVALID, "%s: the name is not UTF-8, or there is no memory", to->object);
  ath_status status = ath_gcs_borrow(&self);
  if (status == ATH_OK) {
    status = compose_by(self, to, body, &url, out);
    ath_gcs_return(self);
  }
  ath_buffer_free(&url);
  free(body);
  return status;
}
