/* push.c: local files to a repository, in one commit. */
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "hub/commit.h"
#include "hub/lfs.h"
#include "hub/tree.h"

enum { ROUNDS = 6, BODY_MAX = 4096, HTTP_PRECONDITION_FAILED = 412, HTTP_CONFLICT = 409 };

typedef struct push {
  ath_hub *hub;
  ath_hub_place place;             /* its id with the user's name */
  const ath_hub_push_options *options;
  ath_hub_files files;
  ath_transfer transfer;
  bool tried;                      /* a commit was sent, whatever became of it */
} push;

/* --- the repository ----------------------------------------------------------------------- */

ath_status ath_hub_add_user(ath_hub *hub, ath_hub_place *place) {
  json_t *user = NULL;
  char name[ATH_HUB_ID_MAX];
  ath_buffer url = ath_buffer_make(ATH_HTTP_URL_MAX - 1);
  if (strchr(place->id, '/') != NULL) return ATH_OK;
  memcpy(name, place->id, sizeof name);
  ath_status status = ath_buffer_format(&url, "%s/api/whoami-v2", hub->endpoint);
  if (status == ATH_OK) status = ath_hub_call(hub, "GET", url.bytes, NULL, name, &user);
  const char *user_name = ath_hub_text_of(user, "name");
  if (status == ATH_OK &&
      (user_name == NULL || strlen(user_name) + 1 + strlen(name) >= sizeof place->id))
    status = ath_fail(ATH_INVALID, "%s: the Hub does not tell whose token it is", name);
  if (status == ATH_OK) snprintf(place->id, sizeof place->id, "%s/%s", user_name, name);
  json_decref(user);
  ath_buffer_free(&url);
  return status;
}

/* Older servers go by "private", newer clients say "visibility". */
static ath_status put_repository(const push *self, ath_buffer *out) {
  const char *slash = strchr(self->place.id, '/');
  ATH_TRY(ath_buffer_string(out, "{\"name\": "));
  ATH_TRY(ath_buffer_json(out, slash + 1, strlen(slash + 1)));
  ATH_TRY(ath_buffer_string(out, ", \"organization\": "));
  ATH_TRY(ath_buffer_json(out, self->place.id, (size_t)(slash - self->place.id)));
  if (self->place.kind != ATH_HUB_MODEL)
    ATH_TRY(ath_buffer_format(out, ", \"type\": \"%s\"", ath_hub_kind_name(self->place.kind)));
  if (self->options->private_repo)
    ATH_TRY(ath_buffer_string(out, ", \"private\": true, \"visibility\": \"private\""));
  return ath_buffer_byte(out, '}');
}

static ath_status create_repository(push *self, bool *made) {
  ath_buffer url = ath_buffer_make(ATH_HTTP_URL_MAX - 1), body = ath_buffer_make(BODY_MAX);
  ath_status status = ath_buffer_format(&url, "%s/api/repos/create", self->hub->endpoint);
  if (status == ATH_OK) status = put_repository(self, &body);
  ath_hub_body sent = {.bytes = body.bytes, .size = body.length};
  if (status == ATH_OK)
    status = ath_hub_call(self->hub, "POST", url.bytes, &sent, self->place.id, NULL);
  *made = status == ATH_OK;
  if (status != ATH_OK && self->hub->answer.status == HTTP_CONFLICT) status = ATH_OK;
  ath_buffer_free(&body);
  ath_buffer_free(&url);
  return status;
}

/* The head of the branch, in a repository that is made first where there is none. What hides behind
 * a refusal is told by trying to make it. */
static ath_status find_parent(push *self, char parent[ATH_HUB_COMMIT_MAX]) {
  bool made, hidden;
  ath_status status = ath_hub_resolve(self->hub, &self->place, parent, &hidden);
  if (status != ATH_NOT_FOUND && status != ATH_DENIED) return status;
  ATH_TRY(create_repository(self, &made));
  ATH_TRY(ath_hub_resolve(self->hub, &self->place, parent, &hidden));
  if (hidden || !made || !self->options->private_repo) return ATH_OK;
  return ath_fail(ATH_DENIED, "%s: the Hub made it for all to see, though it was to be private; "
                  "nothing was pushed", self->place.id);
}

/* --- one round ---------------------------------------------------------------------------- */

static bool is_wanted(const ath_hub_file *file) { return !file->ignored && !file->same; }

/* The large ones, each content once. */
static size_t list_large(ath_hub_files *files, ath_hub_file **large) {
  size_t count = 0;
  for (size_t i = 0; i < files->count; i++) {
    bool known = !is_wanted(&files->items[i]) || !files->items[i].large;
    for (size_t j = 0; j < count && !known; j++)
      known = strcmp(large[j]->oid, files->items[i].oid) == 0;
    if (!known) large[count++] = &files->items[i];
  }
  return count;
}

static ath_status send_large(push *self, uint64_t *sent) {
  ath_hub_file **large = malloc((self->files.count + 1) * sizeof *large);
  if (large == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list of files");
  size_t count = list_large(&self->files, large);
  ath_transfer_init(&self->transfer, "pushing", self->place.id, self->options->quiet);
  for (size_t i = 0; i < count; i++) self->transfer.total += large[i]->size;
  ath_status status = ath_hub_lfs_send(self->hub, &self->place, large, count, &self->transfer,
                                       sent);
  ath_transfer_finish(&self->transfer, status == ATH_OK);
  free(large);
  return status;
}

static ath_status commit(push *self, const char *parent, ath_hub_pushed *out) {
  json_t *answer = NULL;
  const char *message = self->options->message != NULL ? self->options->message
                                                       : "Upload by athanor";
  self->tried = true;
  ATH_TRY(ath_hub_commit(self->hub, &self->place, &self->files, message, parent, &answer));
  const char *oid = ath_hub_text_of(answer, "commitOid");
  const char *url = ath_hub_text_of(answer, "commitUrl");
  if (oid != NULL) snprintf(out->commit, sizeof out->commit, "%s", oid);
  if (url != NULL) snprintf(out->url, sizeof out->url, "%s", url);
  json_decref(answer);
  return ATH_OK;
}

/* From the head of the branch to a commit on top of it. Its loss on the way does no harm: the next
 * round finds the files there. */
static ath_status try_round(push *self, ath_hub_pushed *out) {
  char parent[ATH_HUB_COMMIT_MAX];
  uint64_t sent = 0, wanted = 0;
  ATH_TRY(find_parent(self, parent));
  ATH_TRY(ath_hub_preupload(self->hub, &self->place, &self->files));
  for (size_t i = 0; i < self->files.count; i++) wanted += is_wanted(&self->files.items[i]);
  snprintf(out->commit, sizeof out->commit, "%s", parent);
  out->committed = wanted > 0 || self->tried;
  if (wanted == 0) return ATH_OK;
  out->files = wanted;
  ATH_TRY(send_large(self, &sent));
  out->bytes += sent;
  return commit(self, parent, out);
}

static ath_status push_files(push *self, ath_hub_pushed *out) {
  ath_status status = ATH_OK;
  for (int round = 0; round < ROUNDS; round++) {
    status = try_round(self, out);
    if (status != ATH_MISMATCH || self->hub->answer.status != HTTP_PRECONDITION_FAILED)
      return status;
  }
  return ath_context(status, "others commit faster than this can be built on");
}

/* --- push --------------------------------------------------------------------------------- */

static ath_status add_sources(push *self, const ath_hub_source *sources, size_t count) {
  for (size_t i = 0; i < count; i++) ATH_TRY(ath_hub_files_add(&self->files, &sources[i]));
  if (self->files.count > 0) return ATH_OK;
  return ath_fail(ATH_NOT_FOUND, "%s: no file to push", count > 0 ? sources[0].local : "nothing");
}

static ath_status push_all(push *self, const ath_hub_place *place, const ath_hub_source *sources,
                           size_t count, ath_hub_pushed *out) {
  ATH_TRY(add_sources(self, sources, count));
  ATH_TRY(ath_hub_open(self->options->token, true, self->options->stop, &self->hub));
  ATH_TRY(ath_hub_add_user(self->hub, &self->place));
  snprintf(out->url, sizeof out->url, "%s/%s%s", self->hub->endpoint,
           ath_hub_kind_prefix(place->kind), self->place.id);
  ATH_TRY(push_files(self, out));
  memcpy(out->id, self->place.id, sizeof out->id);
  return ATH_OK;
}

ath_status ath_hub_push(const ath_hub_place *place, const ath_hub_source *sources, size_t count,
                        const ath_hub_push_options *options, ath_hub_pushed *out) {
  static const ath_hub_push_options none = {0};
  push self = {.place = *place, .options = options != NULL ? options : &none};
  *out = (ath_hub_pushed){0};
  if (ath_hub_is_offline())
    return ath_fail(ATH_DENIED, "%s: HF_HUB_OFFLINE is set, so that nothing is pushed", place->id);
  ath_status status = push_all(&self, place, sources, count, out);
  ath_hub_close(self.hub);
  ath_hub_files_free(&self.files);
  return status;
}
