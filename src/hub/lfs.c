/* lfs.c: large files to the store beside the Hub. */
#include "hub/lfs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outcome.h"

enum { BATCH_MAX = 100, PARTS_MAX = 10000, BODY_MAX = 4 << 20, ERROR_TEXT_MAX = 1 << 16,
       PART_NAME_MAX = 16, IDLE_ROUNDS_MAX = 2 };
#define LFS_JSON "application/vnd.git-lfs+json"

typedef struct sender {
  ath_hub *hub;
  const ath_hub_place *place;
  ath_transfer *transfer;
  uint64_t sent;
} sender;

/* --- one request with bytes of a file -------------------------------------------------------- */

typedef struct piece {
  const ath_hub_file *file;
  int descriptor;
  uint64_t from, size, shown; /* `shown`: of its bytes that progress counts */
  ath_transfer *transfer;
} piece;

static void show(piece *self, uint64_t upto) {
  ath_transfer_add(self->transfer, (int64_t)upto - (int64_t)self->shown);
  self->shown = upto;
}

static ath_status read_piece(void *context, uint64_t at, void *bytes, size_t room, size_t *count) {
  piece *self = context;
  uint64_t left = self->size - at;
  ssize_t got;
  do {
    got = pread(self->descriptor, bytes, left < room ? (size_t)left : room,
                (off_t)(self->from + at));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return ath_fail_errno(errno, "%s", self->file->local);
  if (got == 0 && left > 0)
    return ath_fail(ATH_MISMATCH, "%s: became shorter while it was being pushed",
                    self->file->local);
  *count = (size_t)got;
  show(self, at + (uint64_t)got);
  return ATH_OK;
}

/* The addresses are signed: a token would be one right too many, and belongs to another origin. */
static ath_status put_piece(sender *self, const char *url, const json_t *headers, piece *part) {
  ath_buffer text = ath_buffer_make(ERROR_TEXT_MAX);
  ath_http_request request = {.method = "PUT", .url = url, .size = part->size, .read = read_piece,
                              .read_context = part, .stop = self->hub->stop, .text = &text};
  const char *name;
  json_t *value;
  int header = 0;
  json_object_foreach((json_t *)headers, name, value)
    if (json_is_string(value) && header < ATH_HTTP_HEADERS_MAX - 1)
      request.headers[header++] = (ath_http_header){name, json_string_value(value)};
  ath_http_answer answer;
  ath_status status;
  ath_retry retry = ath_retry_begin(&self->hub->policy, self->hub->stop);
  do {
    ath_buffer_clear(&text);
    answer = (ath_http_answer){0};
    show(part, 0);
    status = ath_http_exchange(self->hub->http, &request, &answer);
  } while (ath_retry_again(&retry, status, &answer));
  bool good = status == ATH_OK && answer.status / 100 == 2;
  if (good) self->sent += part->size;
  if (!good)
    status = ath_hub_fail(self->hub, &retry, status, &answer, &text, part->file->remote);
  ath_buffer_free(&text);
  return status;
}

/* --- multipart ---------------------------------------------------------------------------- */

/* The address of a part, counted from 1, under "1", "01", "00001", …: its number as the server
 * writes it. */
static const char *part_url(const json_t *header, uint64_t number) {
  for (int width = 1; width < PART_NAME_MAX - 1; width++) {
    char name[2 * PART_NAME_MAX];
    snprintf(name, sizeof name, "%0*" PRIu64, width, number);
    const char *url = ath_hub_text_of(header, name);
    if (url != NULL) return url;
  }
  return NULL;
}

static ath_status put_parts(sender *self, const json_t *header, uint64_t chunk, piece *part,
                            ath_buffer *parts) {
  uint64_t size = part->file->size, count = size / chunk + (size % chunk > 0);
  if (count > PARTS_MAX)
    return ath_fail(ATH_INVALID, "%s: the Hub wants %" PRIu64 " parts", part->file->remote, count);
  for (uint64_t i = 0; i < count; i++) {
    const char *url = part_url(header, i + 1);
    if (url == NULL) return ath_fail(ATH_INVALID, "%s: the Hub gives no address for part %" PRIu64
                                     " of %" PRIu64, part->file->remote, i + 1, count);
    part->from = i * chunk;
    part->size = size - part->from < chunk ? size - part->from : chunk;
    part->shown = 0;
    ATH_TRY(put_piece(self, url, NULL, part));
    const char *etag = ath_http_header_of(self->hub->http, "ETag");
    if (etag == NULL || *etag == '\0')
      return ath_fail(ATH_INVALID, "%s: the store gives no etag for part %" PRIu64,
                      part->file->remote, i + 1);
    ATH_TRY(ath_buffer_format(parts, "%s{\"partNumber\": %" PRIu64 ", \"etag\": ",
                              i > 0 ? ", " : "", i + 1));
    ATH_TRY(ath_buffer_json(parts, etag, strlen(etag)));
    ATH_TRY(ath_buffer_byte(parts, '}'));
  }
  return ATH_OK;
}

static ath_status put_in_parts(sender *self, const char *url, const json_t *header, uint64_t chunk,
                               piece *part, ath_buffer *body) {
  ATH_TRY(ath_buffer_format(body, "{\"oid\": \"%s\", \"parts\": [", part->file->oid));
  ATH_TRY(put_parts(self, header, chunk, part, body));
  ATH_TRY(ath_buffer_string(body, "]}"));
  ath_hub_body completion = {.type = LFS_JSON, .accept = LFS_JSON, .bytes = body->bytes,
                             .size = body->length};
  return ath_hub_call(self->hub, "POST", url, &completion, part->file->remote, NULL);
}

/* --- one file ----------------------------------------------------------------------------- */

static ath_status verify(sender *self, const ath_hub_file *file, const char *url) {
  char text[ATH_HUB_OID_MAX + 64];
  int length = snprintf(text, sizeof text, "{\"oid\": \"%s\", \"size\": %" PRIu64 "}", file->oid,
                        file->size);
  ath_hub_body body = {.accept = LFS_JSON, .bytes = text, .size = (size_t)length};
  return ath_hub_call(self->hub, "POST", url, &body, file->remote, NULL);
}

static ath_status upload(sender *self, const json_t *action, piece *part) {
  const char *url = ath_hub_text_of(action, "href");
  const json_t *header = json_object_get(action, "header");
  const char *chunk = ath_hub_text_of(header, "chunk_size");
  if (url == NULL) return ath_fail(ATH_INVALID, "%s: the Hub gives no address for it",
                                   part->file->remote);
  if (chunk == NULL) return put_piece(self, url, header, part);
  uint64_t bytes = strtoull(chunk, NULL, 10);
  if (bytes == 0) return ath_fail(ATH_INVALID, "%s: the Hub wants it in parts of \"%.40s\" bytes",
                                  part->file->remote, chunk);
  ath_buffer body = ath_buffer_make(BODY_MAX);
  ath_status status = put_in_parts(self, url, header, bytes, part, &body);
  ath_buffer_free(&body);
  return status;
}

/* Without actions the store has it. */
static ath_status send_file(sender *self, const ath_hub_file *file, const json_t *actions) {
  const json_t *action = json_object_get(actions, "upload");
  const char *check = ath_hub_text_of(json_object_get(actions, "verify"), "href");
  if (action == NULL) {
    ath_transfer_add(self->transfer, (int64_t)file->size);
    return ATH_OK;
  }
  piece part = {.file = file, .size = file->size, .transfer = self->transfer};
  ATH_TRY(ath_hub_file_open(file, &part.descriptor));
  ath_status status = upload(self, action, &part);
  close(part.descriptor);
  if (status == ATH_OK && check != NULL) status = verify(self, file, check);
  return status;
}

/* --- batches ------------------------------------------------------------------------------ */

static ath_status put_batch(const sender *self, ath_hub_file *const *files, size_t count,
                            ath_buffer *out) {
  static const char beginning[] =
      "{\"operation\": \"upload\", \"transfers\": [\"basic\", \"multipart\"], "
      "\"hash_algo\": \"sha256\", \"ref\": {\"name\": ";
  ATH_TRY(ath_buffer_string(out, beginning));
  ATH_TRY(ath_buffer_json(out, self->place->revision, strlen(self->place->revision)));
  ATH_TRY(ath_buffer_string(out, "}, \"objects\": ["));
  for (size_t i = 0; i < count; i++)
    ATH_TRY(ath_buffer_format(out, "%s{\"oid\": \"%s\", \"size\": %" PRIu64 "}",
                              i > 0 ? ", " : "", files[i]->oid, files[i]->size));
  return ath_buffer_string(out, "]}");
}

static ath_status ask_batch(sender *self, ath_hub_file *const *files, size_t count,
                            json_t **out) {
  ath_buffer url = ath_buffer_make(ATH_HTTP_URL_MAX - 1), body = ath_buffer_make(BODY_MAX);
  const ath_hub_place *place = self->place;
  ath_status status = ath_buffer_format(&url, "%s/%s%s.git/info/lfs/objects/batch",
                                        self->hub->endpoint, ath_hub_kind_prefix(place->kind),
                                        place->id);
  if (status == ATH_OK) status = put_batch(self, files, count, &body);
  ath_hub_body sent = {.type = LFS_JSON, .accept = LFS_JSON, .bytes = body.bytes,
                       .size = body.length};
  if (status == ATH_OK) status = ath_hub_call(self->hub, "POST", url.bytes, &sent, place->id, out);
  ath_buffer_free(&body);
  ath_buffer_free(&url);
  return status;
}

static const json_t *object_of(const json_t *batch, const char *oid) {
  const json_t *objects = json_object_get(batch, "objects");
  for (size_t i = 0; i < json_array_size(objects); i++) {
    const json_t *object = json_array_get(objects, i);
    const char *name = ath_hub_text_of(object, "oid");
    if (name != NULL && strcmp(name, oid) == 0) return object;
  }
  return NULL;
}

/* *good: how many of them the store has after it, in their order. */
static ath_status send_batch(sender *self, ath_hub_file *const *files, size_t count,
                             size_t *good) {
  json_t *batch = NULL;
  *good = 0;
  ATH_TRY(ask_batch(self, files, count, &batch));
  ath_status status = ATH_OK;
  for (size_t i = 0; i < count && status == ATH_OK; i++) {
    const json_t *object = object_of(batch, files[i]->oid);
    const char *error = ath_hub_text_of(json_object_get(object, "error"), "message");
    if (object == NULL || error != NULL)
      status = ath_fail(ATH_INVALID, "%s: the Hub does not take it: %.200s", files[i]->remote,
                        error != NULL ? error : "it is not in the answer");
    else status = send_file(self, files[i], json_object_get(object, "actions"));
    *good += status == ATH_OK;
  }
  json_decref(batch);
  return status;
}

/* Addresses are signed for a time: after a long upload the later ones are refused, and asked for
 * anew as long as that brings another file there. What has been sent is not sent again. */
static ath_status send_batch_again(sender *self, ath_hub_file *const *files, size_t count) {
  ath_status status = ATH_OK;
  size_t best = 0, good;
  for (int idle = 0; idle < IDLE_ROUNDS_MAX;) {
    uint64_t before = self->transfer->done;
    status = send_batch(self, files, count, &good);
    if (status != ATH_DENIED) return status;
    ath_transfer_add(self->transfer, (int64_t)before - (int64_t)self->transfer->done);
    idle = good > best ? 0 : idle + 1;
    if (good > best) best = good;
  }
  return status;
}

ath_status ath_hub_lfs_send(ath_hub *hub, const ath_hub_place *place, ath_hub_file *const *files,
                            size_t count, ath_transfer *transfer, uint64_t *sent) {
  sender self = {.hub = hub, .place = place, .transfer = transfer};
  ath_status status = ATH_OK;
  for (size_t i = 0; i < count && status == ATH_OK; i += BATCH_MAX)
    status = send_batch_again(&self, files + i, count - i < BATCH_MAX ? count - i : BATCH_MAX);
  *sent = self.sent;
  return status;
}
