/* gcs.h: the JSON API of Cloud Storage, for store.c; its facts are those of
 * cloud.google.com/storage/docs/json_api.
 *
 * STORAGE_EMULATOR_HOST ("http://127.0.0.1:9023", or without the scheme) is asked instead of
 * Google, without credentials. Answers that pass are waited out (retry.h), and a token that is
 * not accepted any more is replaced once, in the middle of whatever goes on. */
#ifndef ATHANOR_STORAGE_GCS_H
#define ATHANOR_STORAGE_GCS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "storage/credentials.h"
#include "storage/http.h"
#include "storage/location.h"
#include "storage/retry.h"

/* gs://bucket/object, taken apart. */
enum { ATH_BUCKET_MAX = 223, ATH_OBJECT_MAX = 1025, ATH_GCS_TEXT_MAX = 1 << 24 };
typedef struct ath_gcs_name {
  char bucket[ATH_BUCKET_MAX], object[ATH_OBJECT_MAX];
} ath_gcs_name;
/* An object may be "" for a whole bucket where `any` is set. */
ath_status ath_gcs_parse(const char *location, bool any, ath_gcs_name *out) ATH_MUST_CHECK;

/* Sizes in bytes: what one request brings, small enough to stay in the processor's caches, and what
 * one sends, a multiple of 262,144 for the service's sake (ATHANOR_GCS_CHUNK for both); and from
 * where on an object is sent in parallel parts of that size
 * (ATHANOR_GCS_PART). */
typedef struct ath_gcs_sizes {
  uint64_t block, chunk, part;
} ath_gcs_sizes;
ath_gcs_sizes ath_gcs_sizes_get(void);
enum { ATH_GCS_GRAIN = 262144, ATH_GCS_THREADS = 4 };

/* A connection with the token that goes along; those given back are kept for the next. */
typedef struct ath_gcs {
  ath_http *http;
  char token[ATH_TOKEN_MAX];
  ath_buffer text; /* the last answer's */
} ath_gcs;
ath_status ath_gcs_borrow(ath_gcs **out) ATH_MUST_CHECK;
void ath_gcs_return(ath_gcs *self); /* NULL is allowed */

/* One exchange, repeated once with a new token after 401. */
ath_status ath_gcs_exchange(ath_gcs *self, ath_http_request *request, ath_http_answer *answer)
    ATH_MUST_CHECK;
/* As many as retry.h allows; what is neither `good` nor `other` is a failure that names `what`. */
ath_status ath_gcs_ask(ath_gcs *self, ath_http_request *request, int good, int other,
                       const char *what, ath_http_answer *answer) ATH_MUST_CHECK;

/* "<host>/<before>b/<bucket>/o/<object><after>", and without the object where `object` is NULL. */
ath_status ath_gcs_url(ath_buffer *out, const char *before, const char *bucket, const char *object,
                       const char *after) ATH_MUST_CHECK;

/* What an answer says of an object. False when it is no such answer. */
bool ath_gcs_read_info(const json_t *root, ath_object_info *out);
/* "x-goog-hash: crc32c=…,md5=…"; false when it tells no crc32c. */
bool ath_gcs_read_hash(const char *value, uint32_t *crc);
bool ath_gcs_decode_crc(const char *base64, uint32_t *crc);
void ath_gcs_encode_crc(uint32_t crc, char base64[9]);

ath_status ath_gcs_stat(const char *location, ath_object_info *out) ATH_MUST_CHECK;
ath_status ath_gcs_list(const char *location,
                        ath_status (*visit)(void *context, const char *name,
                                            const ath_object_info *info),
                        void *context) ATH_MUST_CHECK;
ath_status ath_gcs_delete(const char *location) ATH_MUST_CHECK;
/* On the server, however large. */
ath_status ath_gcs_rewrite(const char *from, const char *to) ATH_MUST_CHECK;
/* Objects of one bucket joined to another of the same; up to 32. */
ath_status ath_gcs_compose(const ath_gcs_name *to, const char *const *parts, size_t count,
                           ath_object_info *out) ATH_MUST_CHECK;

/* gcs_upload.c: `size` bytes of an open file from `begin` on, resumable; *crc is their checksum. */
ath_status ath_gcs_send(int file, uint64_t begin, uint64_t size, const char *location,
                        uint32_t *crc) ATH_MUST_CHECK;

/* gcs_parts.c: a local file, in parallel parts where it is large. A part's name is the object's
 * with this mark and what makes it unlike any other; lists leave them out. */
#define ATH_GCS_PART_MARK ".athanor-part-"
ath_status ath_gcs_upload(const char *path, const char *location) ATH_MUST_CHECK;

/* gcs_read.c: the object's bytes, in order, read ahead by several threads. */
typedef struct ath_gcs_reader ath_gcs_reader;
ath_status ath_gcs_reader_open(const char *location, ath_gcs_reader **out) ATH_MUST_CHECK;
void ath_gcs_reader_close(ath_gcs_reader *self);
const ath_object_info *ath_gcs_reader_info(const ath_gcs_reader *self);
ath_status ath_gcs_reader_read(ath_gcs_reader *self, void *bytes, size_t room, size_t *count)
    ATH_MUST_CHECK;
ath_status ath_gcs_reader_seek(ath_gcs_reader *self, uint64_t at) ATH_MUST_CHECK;

#endif
