/* gcs_read.c: objects of Cloud Storage from front to back, read ahead.
 *
 * The object is cut into blocks. Threads fetch those in front of the reader, each by a request of
 * its own, into a ring of as many buffers as there are threads and one more; the reader takes them
 * in order. An object of one block is fetched by the reader itself, and no thread begins. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/tfrecord.h"
#include "base/outcome.h"
#include "storage/gcs.h"
#include "storage/http_lines.h"

enum { SLOTS = ATH_GCS_THREADS + 1, URL_MAX = ATH_HTTP_URL_MAX };

typedef struct slot {
  char *bytes; /* of a whole block */
  bool ready;
  ath_outcome outcome;
} slot;

struct ath_gcs_reader {
  char location[ATH_LOCATION_MAX];
  ath_buffer url;
  ath_object_info info;
  uint64_t block;
  uint64_t at;     /* where the next byte read lies */
  uint32_t crc;
  bool whole;      /* read in order from the beginning so far */

  slot slots[SLOTS];
  pthread_mutex_t lock; /* over what follows and the slots' `ready` */
  pthread_cond_t room, filled;
  pthread_t threads[ATH_GCS_THREADS];
  int thread_count;
  uint64_t next;   /* the next block to fetch */
  uint64_t wanted; /* the block that is read */
  bool ends;
};

static uint64_t block_count(const ath_gcs_reader *self) {
  return (self->info.size + self->block - 1) / self->block;
}

static uint64_t block_end(const ath_gcs_reader *self, uint64_t index) {
  uint64_t end = (index + 1) * self->block;
  return end < self->info.size ? end : self->info.size;
}

/* --- one block ---------------------------------------------------------------------------- */

typedef struct fetching {
  const ath_gcs_reader *reader;
  const ath_http *http;
  uint64_t at, end; /* what is still missing */
  char *bytes;      /* where it goes */
  bool begun;       /* the answer's headers were looked at */
} fetching;

/* The answer has to be the range that was asked for, of the version that was opened. */
static ath_status check_answer(const fetching *self) {
  const ath_gcs_reader *reader = self->reader;
  const char *generation = ath_http_header_of(self->http, "x-goog-generation");
  const char *range = ath_http_header_of(self->http, "content-range");
  uint64_t first = 0, end = reader->info.size;
  uint32_t crc;
  if ((generation != NULL && reader->info.version != 0 &&
       strtoull(generation, NULL, 10) != reader->info.version) ||
      (reader->info.has_crc && ath_http_header_of(self->http, "x-goog-hash") != NULL &&
       ath_gcs_read_hash(ath_http_header_of(self->http, "x-goog-hash"), &crc) &&
       crc != reader->info.crc32c))
    return ath_fail(ATH_MISMATCH, "%s was replaced while it was read", reader->location);
  if (range != NULL && !ath_http_range(range, &first, &end))
    return ath_fail(ATH_IO, "%s: the answer's Content-Range is none", reader->location);
  if (first != self->at || (range != NULL && end > self->end))
    return ath_fail(ATH_IO, "%s: another range came than was asked for", reader->location);
  return ATH_OK;
}

static ath_status take(void *context, const void *bytes, size_t count) {
  fetching *self = context;
  if (!self->begun) ATH_TRY(check_answer(self));
  self->begun = true;
  if (count > self->end - self->at)
    return ath_fail(ATH_IO, "%s: more came than was asked for", self->reader->location);
  memcpy(self->bytes, bytes, count);
  self->bytes += count;
  self->at += count;
  return ATH_OK;
}

static ath_status fetch_once(ath_gcs *gcs, fetching *self, ath_http_answer *answer) {
  char range[64];
  snprintf(range, sizeof range, "bytes=%llu-%llu", (unsigned long long)self->at,
           (unsigned long long)(self->end - 1));
  /* What was stored compressed is to come as it is, or no checksum would match. */
  ath_http_request request = {.method = "GET", .url = self->reader->url.bytes, .take = take,
                              .take_context = self,
                              .headers = {{"Range", range}, {"Accept-Encoding", "gzip"}}};
  self->begun = false;
  ATH_TRY(ath_gcs_exchange(gcs, &request, answer));
  if ((answer->status == 200 || answer->status == 206) && self->at < self->end)
    return ath_fail(ATH_IO, "%s: the answer ends early", self->reader->location);
  return ATH_OK;
}

/* Goes on where an answer was cut, and counts tries from the last byte that came. */
static ath_status fetch(ath_gcs *gcs, fetching *self) {
  ath_retry retry = ath_retry_begin(&ath_retry_default, NULL);
  ath_http_answer answer;
  ath_status status;
  uint64_t before;
  bool again;
  do {
    before = self->at;
    status = fetch_once(gcs, self, &answer);
    if (self->at > before) ath_retry_renew(&retry, &ath_retry_default, self->at - before);
    again = ath_retry_again(&retry, status, &answer);
  } while (again);
  if (status == ATH_OK && (answer.status == 200 || answer.status == 206)) return ATH_OK;
  status = ath_retry_fail(&retry, status, &answer, &gcs->text, self->reader->location);
  if (status != ATH_NOT_FOUND) return status;
  return ath_fail(ATH_MISMATCH, "%s was replaced or deleted while it was read",
                  self->reader->location);
}

static ath_status fetch_block(const ath_gcs_reader *self, uint64_t index, char *bytes) {
  ath_gcs *gcs;
  ATH_TRY(ath_gcs_borrow(&gcs));
  fetching block = {.reader = self, .http = gcs->http, .at = index * self->block,
                    .end = block_end(self, index), .bytes = bytes};
  ath_status status = fetch(gcs, &block);
  ath_gcs_return(gcs);
  return status;
}

/* --- ahead -------------------------------------------------------------------------------- */

static void *work(void *context) {
  ath_gcs_reader *self = context;
  pthread_mutex_lock(&self->lock);
  while (!self->ends && self->next < block_count(self)) {
    if (self->next >= self->wanted + SLOTS) {
      pthread_cond_wait(&self->room, &self->lock);
      continue;
    }
    uint64_t index = self->next++;
    slot *to = &self->slots[index % SLOTS];
    pthread_mutex_unlock(&self->lock);
    ath_status status = fetch_block(self, index, to->bytes);
    pthread_mutex_lock(&self->lock);
    ath_outcome_keep(&to->outcome, status);
    to->ready = true;
    if (status != ATH_OK) self->ends = true;
    pthread_cond_broadcast(&self->filled);
  }
  pthread_mutex_unlock(&self->lock);
  return NULL;
}

static void stop(ath_gcs_reader *self) {
  pthread_mutex_lock(&self->lock);
  self->ends = true;
  pthread_cond_broadcast(&self->room);
  pthread_mutex_unlock(&self->lock);
  for (int i = 0; i < self->thread_count; i++) pthread_join(self->threads[i], NULL);
  self->thread_count = 0;
  self->ends = false;
  for (int i = 0; i < SLOTS; i++) self->slots[i].ready = false;
}

/* From the block that holds the next byte on. */
static ath_status begin(ath_gcs_reader *self) {
  uint64_t left = block_count(self) - self->wanted;
  size_t size = self->info.size < self->block ? (size_t)self->info.size : (size_t)self->block;
  self->next = self->wanted;
  for (uint64_t i = 0; i < left && i < SLOTS; i++) {
    slot *to = &self->slots[(self->wanted + i) % SLOTS];
    if (to->bytes == NULL) to->bytes = malloc(size);
    if (to->bytes == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to read ahead");
  }
  if (left == 1) {
    ath_outcome_keep(&self->slots[self->wanted % SLOTS].outcome, ATH_OK);
    ATH_TRY(fetch_block(self, self->wanted, self->slots[self->wanted % SLOTS].bytes));
    self->slots[self->wanted % SLOTS].ready = true;
    self->next = self->wanted + 1;
    return ATH_OK;
  }
  while (self->thread_count < ATH_GCS_THREADS && (uint64_t)self->thread_count < left) {
    int reason = pthread_create(&self->threads[self->thread_count], NULL, work, self);
    if (reason != 0 && self->thread_count == 0) return ath_fail_errno(reason, "no thread to read");
    if (reason != 0) break;
    self->thread_count++;
  }
  return ATH_OK;
}

/* The block of the next byte. When one fails the threads end, and blocks behind it may stay empty;
 * those in front of it were begun before and come. */
static ath_status await(ath_gcs_reader *self, slot **out) {
  slot *wanted = &self->slots[self->wanted % SLOTS];
  *out = wanted;
  if (self->thread_count == 0 && !wanted->ready) ATH_TRY(begin(self));
  pthread_mutex_lock(&self->lock);
  while (!wanted->ready) pthread_cond_wait(&self->filled, &self->lock);
  pthread_mutex_unlock(&self->lock);
  return ath_outcome_return(&wanted->outcome);
}

static void release(ath_gcs_reader *self, slot *done) {
  pthread_mutex_lock(&self->lock);
  done->ready = false;
  self->wanted++;
  pthread_cond_broadcast(&self->room);
  pthread_mutex_unlock(&self->lock);
}

/* --- the reader --------------------------------------------------------------------------- */

static ath_status make_url(ath_gcs_reader *self) {
  ath_gcs_name name;
  char after[64];
  ATH_TRY(ath_gcs_parse(self->location, false, &name));
  snprintf(after, sizeof after, "?alt=media&generation=%llu",
           (unsigned long long)self->info.version);
  if (self->info.version == 0) after[strlen("?alt=media")] = '\0';
  return ath_gcs_url(&self->url, "storage/v1/", name.bucket, name.object, after);
}

ath_status ath_gcs_reader_open(const char *location, ath_gcs_reader **out) {
  ath_gcs_reader *self = calloc(1, sizeof *self);
  *out = NULL;
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to read an object");
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->room, NULL);
  pthread_cond_init(&self->filled, NULL);
  self->url = ath_buffer_make(URL_MAX);
  self->block = ath_gcs_sizes_get().block;
  self->whole = true;
  ath_status status = ath_gcs_stat(location, &self->info);
  if (status == ATH_OK) {
    snprintf(self->location, sizeof self->location, "%s", location);
    status = make_url(self);
  }
  if (status == ATH_OK) *out = self;
  else ath_gcs_reader_close(self);
  return status;
}

void ath_gcs_reader_close(ath_gcs_reader *self) {
  if (self == NULL) return;
  stop(self);
  for (int i = 0; i < SLOTS; i++) free(self->slots[i].bytes);
  ath_buffer_free(&self->url);
  pthread_cond_destroy(&self->filled);
  pthread_cond_destroy(&self->room);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

const ath_object_info *ath_gcs_reader_info(const ath_gcs_reader *self) { return &self->info; }

static ath_status check_whole(const ath_gcs_reader *self) {
  if (!self->whole || !self->info.has_crc || self->crc == self->info.crc32c) return ATH_OK;
  return ath_fail(ATH_CORRUPT, "%s: what came is not what is stored: its checksum differs",
                  self->location);
}

ath_status ath_gcs_reader_read(ath_gcs_reader *self, void *bytes, size_t room, size_t *count) {
  slot *from;
  *count = 0;
  if (self->at >= self->info.size) return self->at == self->info.size ? check_whole(self) : ATH_OK;
  if (room == 0) return ATH_OK;
  ATH_TRY(await(self, &from));
  uint64_t inside = self->at - self->wanted * self->block;
  uint64_t left = block_end(self, self->wanted) - self->at;
  *count = left < room ? (size_t)left : room;
  memcpy(bytes, from->bytes + inside, *count);
  if (self->whole) self->crc = ath_crc32c(self->crc, bytes, *count);
  self->at += *count;
  if (*count == left) release(self, from);
  return ATH_OK;
}

ath_status ath_gcs_reader_seek(ath_gcs_reader *self, uint64_t at) {
  if (at == self->at) return ATH_OK;
  self->whole = at == 0;
  self->crc = 0;
  self->at = at;
  if (at >= self->info.size || at / self->block != self->wanted) {
    stop(self);
    self->wanted = at / self->block;
  }
  return ATH_OK;
}
