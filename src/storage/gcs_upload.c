/* gcs_upload.c: uploads to Cloud Storage, resumable
 * (cloud.google.com/storage/docs/performing-resumable-uploads).
 *
 * A session takes an object in chunks. Its answers: 308 with a Range tells what is stored, without
 * one that nothing is; 200 or 201 is the end; 404 or 410 is the session's end, and a new one begins
 * at byte 0. After anything else it is asked how far it got, before the next chunk is sent. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "athanor/tfrecord.h"
#include "storage/gcs.h"
#include "storage/http_lines.h"
#include "storage/transfer.h"

enum { DISAGREEMENTS_MAX = 6, ENDINGS_MAX = 2, HASH_BYTES = 1 << 18, RANGE_TEXT = 80 };

typedef struct upload {
  ath_gcs *gcs;
  const char *location;
  int file;
  uint64_t begin, size; /* what is sent of the file */
  uint64_t chunk;       /* bytes of a request */
  uint32_t crc;
  char session[ATH_HTTP_URL_MAX];
  uint64_t shown;   /* of what was sent, that progress has */
  uint64_t at;      /* stored so far */
  uint64_t highest; /* stored at any time in this session */
  int endings;      /* how often this session said again that it has all, and did not end */
  int disagreements;
} upload;

static ath_status read_file(const upload *self, uint64_t at, void *bytes, size_t room,
                            size_t *count) {
  ssize_t got;
  do {
    got = pread(self->file, bytes, room, (off_t)(self->begin + at));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return ath_fail_errno(errno, "cannot read what is to be sent");
  *count = (size_t)got;
  return ATH_OK;
}

static ath_status read_chunk(void *context, uint64_t at, void *bytes, size_t room, size_t *count) {
  upload *self = context;
  ATH_TRY(read_file(self, self->at + at, bytes, room, count));
  uint64_t upto = self->at + at + *count; /* what has to go again counts once */
  if (upto > self->shown) ath_transfer_moved(upto - self->shown);
  if (upto > self->shown) self->shown = upto;
  return ATH_OK;
}

static ath_status hash_file(upload *self) {
  uint8_t *block = malloc(HASH_BYTES);
  if (block == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to read a file");
  ath_status status = ATH_OK;
  self->crc = 0;
  for (uint64_t at = 0; at < self->size && status == ATH_OK;) {
    uint64_t left = self->size - at;
    size_t count = 0;
    status = read_file(self, at, block, left < HASH_BYTES ? (size_t)left : HASH_BYTES, &count);
    if (status == ATH_OK && count == 0)
      status = ath_fail(ATH_IO, "the file became shorter while it was read");
    self->crc = ath_crc32c(self->crc, block, count);
    at += count;
  }
  free(block);
  return status;
}

/* --- one session -------------------------------------------------------------------------- */

/* The service is told the checksum beforehand and refuses what does not match. */
static ath_status begin_session(upload *self, const ath_gcs_name *name, ath_buffer *url) {
  char body[128], crc[9], size[24];
  ath_http_answer answer;
  ath_gcs_encode_crc(self->crc, crc);
  snprintf(body, sizeof body, "{\"contentType\":\"application/octet-stream\",\"crc32c\":\"%s\"}",
           crc);
  snprintf(size, sizeof size, "%llu", (unsigned long long)self->size);
  ATH_TRY(ath_gcs_url(url, "upload/storage/v1/", name->bucket, NULL,
                      "?uploadType=resumable&name="));
  ATH_TRY(ath_http_escape(url, name->object, ""));
  ath_http_request request = {
    .method = "POST", .url = url->bytes, .body = body, .size = strlen(body),
    .headers = {{"Content-Type", "application/json"},
                {"X-Upload-Content-Type", "application/octet-stream"},
                {"X-Upload-Content-Length", size}}};
  ATH_TRY(ath_gcs_ask(self->gcs, &request, 200, 201, self->location, &answer));
  const char *session = ath_http_header_of(self->gcs->http, "location");
  if (session == NULL)
    return ath_fail(ATH_IO, "%s: the upload got no address to send to", self->location);
  char here[ATH_HTTP_ORIGIN_MAX], there[ATH_HTTP_ORIGIN_MAX];
  ATH_TRY(ath_http_resolve(url->bytes, session, self->session));
  ath_http_origin(url->bytes, here);
  ath_http_origin(self->session, there);
  if (strcasecmp(here, there) != 0)
    return ath_fail(ATH_DENIED, "%s: the upload is sent to another host, %s", self->location,
                    there);
  self->at = self->highest = 0;
  self->endings = 0;
  return ATH_OK;
}

/* The next chunk; nothing, which asks how far the session is, with `ask` or when all was sent. */
static ath_status send(upload *self, bool ask, ath_http_answer *answer) {
  char range[RANGE_TEXT];
  uint64_t count = ask ? 0 : self->size - self->at;
  if (count > self->chunk) count = self->chunk;
  if (count == 0)
    snprintf(range, sizeof range, "bytes */%llu", (unsigned long long)self->size);
  else
    snprintf(range, sizeof range, "bytes %llu-%llu/%llu", (unsigned long long)self->at,
             (unsigned long long)(self->at + count - 1), (unsigned long long)self->size);
  ath_http_request request = {.method = "PUT", .url = self->session, .size = count,
                              .read = read_chunk, .read_context = self,
                              .headers = {{"Content-Range", range}}};
  return ath_gcs_exchange(self->gcs, &request, answer);
}

/* What a 308 says is stored. False for what cannot be. */
static bool read_stored(upload *self) {
  uint64_t first, end;
  const char *range = ath_http_header_of(self->gcs->http, "range");
  if (range == NULL) {
    self->at = 0;
    return true;
  }
  if (!ath_http_range(range, &first, &end) || first != 0 || end > self->size) return false;
  self->at = end;
  return true;
}

static bool read_result(const upload *self) {
  const ath_buffer *text = &self->gcs->text;
  json_t *root = json_loadb(text->bytes != NULL ? text->bytes : "", text->length, 0, NULL);
  ath_object_info info;
  bool good = ath_gcs_read_info(root, &info);
  json_decref(root);
  return good && info.size == self->size && (!info.has_crc || info.crc32c == self->crc);
}

/* The session is over, or the two sides do not agree on what was sent. */
static bool needs_new_session(upload *self, const ath_http_answer *answer) {
  if (answer->status == 404 || answer->status == 410) return true;
  if (answer->status != 400 && answer->status != 416) return false;
  return ++self->disagreements <= DISAGREEMENTS_MAX;
}

/* Whether a session is to go on, by the answer to what was sent last. Sets *ask for what to send
 * then, and *renew when a new session may do better. */
static bool goes_on(upload *self, ath_status status, const ath_http_answer *answer,
                    ath_retry *retry, bool *ask, bool *renew) {
  if (status == ATH_OK && answer->status == 308 && read_stored(self)) {
    bool asked = *ask;
    *ask = false;
    if (self->at > self->highest) {
      ath_retry_renew(retry, &ath_retry_default, self->at - self->highest);
      self->highest = self->at;
      return true;
    }
    bool endless = self->at == self->size && ++self->endings > ENDINGS_MAX;
    *renew = endless && ++self->disagreements <= DISAGREEMENTS_MAX;
    return !endless && (asked || ath_retry_again(retry, ATH_IO, answer));
  }
  *renew = status == ATH_OK && needs_new_session(self, answer);
  *ask = true;
  return !*renew && ath_retry_again(retry, status, answer);
}

static ath_status run_session(upload *self, bool *renew) {
  ath_retry retry = ath_retry_begin(&ath_retry_default, NULL);
  ath_http_answer answer;
  ath_status status;
  bool ask = false;
  *renew = false;
  do {
    status = send(self, ask, &answer);
    if (status != ATH_OK || (answer.status != 200 && answer.status != 201)) continue;
    if (read_result(self)) return ATH_OK;
    *renew = true;
    return ath_fail(ATH_CORRUPT, "%s: what arrived is not what was sent: its checksum or size "
                    "differs", self->location);
  } while (goes_on(self, status, &answer, &retry, &ask, renew));
  return ath_retry_fail(&retry, status, &answer, &self->gcs->text, self->location);
}

/* --- one object --------------------------------------------------------------------------- */

/* A session may take hours: from one that stored something the time counts anew, not the tries. */
static ath_status run_sessions(upload *self, const ath_gcs_name *name, ath_buffer *url) {
  static const ath_http_answer none = {.retry_after = -1};
  ath_retry retry = ath_retry_begin(&ath_retry_default, NULL);
  ath_status status;
  bool renew;
  do {
    renew = false;
    status = begin_session(self, name, url);
    if (status == ATH_OK) status = run_session(self, &renew);
    if (self->highest > 0) retry.began = ath_retry_begin(&ath_retry_default, NULL).began;
  } while (status != ATH_OK && renew && ath_retry_again(&retry, ATH_IO, &none));
  return status;
}

ath_status ath_gcs_send(int file, uint64_t begin, uint64_t size, const char *location,
                        uint32_t *crc) {
  upload self = {.location = location, .file = file, .begin = begin, .size = size,
                 .chunk = ath_gcs_sizes_get().chunk};
  ath_gcs_name name;
  ath_buffer url = ath_buffer_make(ATH_HTTP_URL_MAX);
  ATH_TRY(ath_gcs_parse(location, false, &name));
  ATH_TRY(hash_file(&self));
  ATH_TRY(ath_gcs_borrow(&self.gcs));
  ath_status status = run_sessions(&self, &name, &url);
  ath_gcs_return(self.gcs);
  ath_buffer_free(&url);
  *crc = self.crc;
  return status;
}
