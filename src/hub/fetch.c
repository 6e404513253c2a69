/* fetch.c: one file of a repository into the cache. */
#include "hub/fetch.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hub/place.h"

enum { REDIRECTS_MAX = 5, BLOB_MODE = 0666, ERROR_TEXT_MAX = 1 << 16,
       ROUNDS = 2 };

typedef struct download {
  ath_hub *hub;
  const ath_hub_entry *entry;
  ath_transfer *transfer;
  const char *path;        /* of the unfinished file */
  int file;
  uint64_t have, fetched;  /* bytes in it; bytes that came in */
  bool began;              /* the answer's first bytes are in */
  ath_hub_digest digest;   /* of what it has */
} download;

static ath_status begin_anew(download *self) {
  if (ftruncate(self->file, 0) != 0) return ath_fail_errno(errno, "%s", self->path);
  ath_transfer_add(self->transfer, -(int64_t)self->have);
  self->have = 0;
  ath_hub_digest_begin(&self->digest, self->entry->lfs[0] != '\0', self->entry->size);
  return ATH_OK;
}

static ath_status write_all(download *self, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t put = pwrite(self->file, bytes, count, (off_t)self->have);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return ath_fail_errno(errno, "%s", self->path);
    self->have += (uint64_t)put;
    bytes += put;
    count -= (size_t)put;
  }
  return ATH_OK;
}

/* A server that does not know ranges sends the whole file again. */
static ath_status take(void *context, const void *bytes, size_t count) {
  download *self = context;
  if (!self->began && self->have > 0 &&
      ath_http_header_of(self->hub->http, "Content-Range") == NULL)
    ATH_TRY(begin_anew(self));
  self->began = true;
  if (count > self->entry->size - self->have)
    return ath_fail(ATH_CORRUPT, "%s: more bytes come than the %" PRIu64 " that the Hub lists",
                    self->entry->path, self->entry->size);
  ATH_TRY(write_all(self, bytes, count));
  ath_hub_digest_add(&self->digest, bytes, count);
  self->fetched += count;
  ath_transfer_add(self->transfer, (int64_t)count);
  return ATH_OK;
}

static ath_status exchange(download *self, const char *url, ath_buffer *text,
                           ath_http_answer *answer) {
  char range[48];
  ath_http_request request = {.method = "GET", .url = url, .redirects = REDIRECTS_MAX,
                              .bearer = ath_hub_bearer(self->hub, url),
                              .headers = {{"Accept-Encoding", "identity"}},
                              .stop = self->hub->stop, .text = text, .take = take,
                              .take_context = self};
  if (self->have > 0) {
    snprintf(range, sizeof range, "bytes=%" PRIu64 "-", self->have);
    request.headers[1] = (ath_http_header){"Range", range};
  }
  self->began = false;
  ath_buffer_clear(text);
  *answer = (ath_http_answer){0};
  return ath_http_exchange(self->hub->http, &request, answer);
}

/* As long as bytes come in at a fair rate there is hope: the tries count from the last. */
static ath_status request_rest(download *self, const char *url, ath_buffer *text) {
  ath_http_answer answer;
  ath_status status;
  uint64_t before;
  ath_retry retry = ath_retry_begin(&self->hub->policy, self->hub->stop);
  do {
    before = self->have;
    status = exchange(self, url, text, &answer);
    if (status == ATH_OK && answer.status / 100 == 2 && self->have < self->entry->size)
      status = ath_fail(ATH_IO, "the answer ended after %" PRIu64 " of %" PRIu64 " bytes",
                        self->have, self->entry->size);
    if (self->have > before) ath_retry_renew(&retry, &self->hub->policy, self->have - before);
  } while (ath_retry_again(&retry, status, &answer));
  if (status == ATH_OK && answer.status / 100 == 2) return ATH_OK;
  return ath_hub_fail(self->hub, &retry, status, &answer, text, self->entry->path);
}

/* --- one download ------------------------------------------------------------------------- */

/* What an earlier one left is the beginning of this one. */
static ath_status go_on(download *self) {
  struct stat there;
  if (fstat(self->file, &there) != 0) return ath_fail_errno(errno, "%s", self->path);
  uint64_t size = (uint64_t)there.st_size;
  ath_hub_digest_begin(&self->digest, self->entry->lfs[0] != '\0', self->entry->size);
  if (size > self->entry->size) return begin_anew(self);
  ATH_TRY(ath_hub_digest_file(&self->digest, self->file, self->path, size));
  self->have = size;
  ath_transfer_add(self->transfer, (int64_t)size);
  return ATH_OK;
}

static ath_status check(download *self) {
  char found[ATH_HUB_OID_MAX];
  ath_hub_digest_end(&self->digest, found);
  if (strcmp(found, ath_hub_entry_blob(self->entry)) == 0) return ATH_OK;
  return ath_fail(ATH_CORRUPT, "%s: what came has the checksum %s, but the Hub lists %s",
                  self->entry->path, found, ath_hub_entry_blob(self->entry));
}

/* What was left by another may be of no use, and shows only in the end. */
static ath_status fill(download *self, const char *url) {
  ath_buffer text = ath_buffer_make(ERROR_TEXT_MAX);
  ath_status status = go_on(self);
  for (int round = 0; round < ROUNDS && status == ATH_OK; round++) {
    if (self->have < self->entry->size) status = request_rest(self, url, &text);
    if (status != ATH_OK) break;
    status = check(self);
    if (status != ATH_CORRUPT) break;
    ath_status again = begin_anew(self);
    if (again != ATH_OK || round < ROUNDS - 1) status = again;
  }
  ath_buffer_free(&text);
  return status;
}

static ath_status put_url(const download *self, const ath_hub_place *place, const char *commit,
                          ath_buffer *out) {
  ATH_TRY(ath_buffer_format(out, "%s/%s%s/resolve/%s/", self->hub->endpoint,
                            ath_hub_kind_prefix(place->kind), place->id, commit));
  return ath_http_escape(out, self->entry->path, "/");
}

static ath_status fill_and_rename(download *self, const char *url, const char *blob) {
  self->file = open(self->path, O_RDWR | O_CREAT | O_CLOEXEC, BLOB_MODE);
  if (self->file < 0) return ath_fail_errno(errno, "%s", self->path);
  ath_status status = fill(self, url);
  if (status == ATH_OK && fsync(self->file) != 0)
    status = ath_fail_errno(errno, "%s", self->path);
  close(self->file);
  if (status == ATH_OK && rename(self->path, blob) != 0)
    status = ath_fail_errno(errno, "%s: cannot rename it", self->path);
  return status;
}

static ath_status load_blob(download *self, const ath_hub_place *place, const char *commit,
                            const char *blob) {
  char path[ATH_PATH_MAX];
  ath_buffer url = ath_buffer_make(ATH_HTTP_URL_MAX - 1);
  if (snprintf(path, sizeof path, "%s.incomplete", blob) >= ATH_PATH_MAX)
    return ath_fail(ATH_INVALID, "%s: the path is too long", blob);
  self->path = path;
  ath_status status = put_url(self, place, commit, &url);
  if (status == ATH_OK) status = fill_and_rename(self, url.bytes, blob);
  ath_buffer_free(&url);
  return status;
}

/* Another process may have brought the blob while this one waited. */
ath_status ath_hub_fetch(ath_hub *hub, const ath_hub_place *place, const ath_hub_cache *cache,
                         const char *commit, const ath_hub_entry *entry,
                         ath_transfer *transfer, uint64_t *bytes, bool *brought) {
  char blob[ATH_PATH_MAX];
  int lock;
  download load = {.hub = hub, .entry = entry, .transfer = transfer, .file = -1};
  *bytes = 0;
  *brought = false;
  ATH_TRY(ath_hub_cache_blob_path(cache, ath_hub_entry_blob(entry), blob));
  ATH_TRY(ath_hub_cache_lock(cache, ath_hub_entry_blob(entry), hub->stop, &lock));
  ath_status status = ATH_OK;
  *brought = !ath_path_exists(blob);
  if (*brought) status = load_blob(&load, place, commit, blob);
  else ath_transfer_add(transfer, (int64_t)entry->size);
  if (status == ATH_OK) status = ath_hub_cache_link(cache, commit, entry);
  if (lock >= 0) close(lock);
  *bytes = load.fetched;
  return status;
}
