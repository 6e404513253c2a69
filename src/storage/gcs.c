/* gcs.c: asking Cloud Storage: connections, tokens, addresses, and what answers say. */
#include "storage/gcs.h"

#include <nettle/base64.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_MAX = 16, MIB = 1 << 20 };

/* --- names -------------------------------------------------------------------------------- */

ath_status ath_gcs_parse(const char *location, bool any, ath_gcs_name *out) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
  if (!ath_location_is_remote(location))
    return ath_fail(ATH_INVALID, "%.80s: not of the form gs://bucket/name", location);
  const char *bucket = location + strlen("gs://");
  size_t length = strspn(bucket, allowed);
  const char *object = bucket[length] == '/' ? bucket + length + 1 : bucket + length;
  if ((bucket[length] != '/' && bucket[length] != '\0') || length < 3 || length >= ATH_BUCKET_MAX)
    return ath_fail(ATH_INVALID, "%.80s: the bucket's name has 3 to 222 of a-z 0-9 - _ .",
                    location);
  if ((*object == '\0' && !any) || strlen(object) >= ATH_OBJECT_MAX ||
      strpbrk(object, "\r\n") != NULL)
    return ath_fail(ATH_INVALID, "%.80s: an object's name has 1 to 1024 bytes without line ends",
                    location);
  memcpy(out->bucket, bucket, length);
  out->bucket[length] = '\0';
  memcpy(out->object, object, strlen(object) + 1);
  return ATH_OK;
}

static ath_status add_host(ath_buffer *out) {
  const char *emulator = getenv("STORAGE_EMULATOR_HOST");
  if (emulator == NULL || *emulator == '\0')
    return ath_buffer_string(out, "https://storage.googleapis.com");
  size_t length = strlen(emulator);
  while (length > 0 && emulator[length - 1] == '/') length--;
  if (strstr(emulator, "://") == NULL) ATH_TRY(ath_buffer_string(out, "http://"));
  return ath_buffer_append(out, emulator, length);
}

static bool is_set(const char *name) {
  const char *value = getenv(name);
  return value != NULL && *value != '\0';
}

/* An emulator wants no token; it gets one where one is given expressly. */
static bool is_anonymous(void) {
  return is_set("STORAGE_EMULATOR_HOST") && !is_set("GOOGLE_OAUTH_ACCESS_TOKEN") &&
         !is_set("GOOGLE_APPLICATION_CREDENTIALS");
}

ath_status ath_gcs_url(ath_buffer *out, const char *before, const char *bucket, const char *object,
                       const char *after) {
  ath_buffer_clear(out);
  ATH_TRY(add_host(out));
  ATH_TRY(ath_buffer_format(out, "/%sb/%s/o", before, bucket));
  if (object != NULL) {
    ATH_TRY(ath_buffer_byte(out, '/'));
    ATH_TRY(ath_http_escape(out, object, ""));
  }
  return ath_buffer_string(out, after);
}

static uint64_t size_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  uint64_t size = text != NULL ? strtoull(text, NULL, 10) : 0;
  if (size == 0 || size > (uint64_t)1 << 40) size = otherwise;
  return (size + ATH_GCS_GRAIN - 1) / ATH_GCS_GRAIN * ATH_GCS_GRAIN;
}

ath_gcs_sizes ath_gcs_sizes_get(void) {
  ath_gcs_sizes sizes = {.block = size_of("ATHANOR_GCS_CHUNK", 4 * MIB),
                         .chunk = size_of("ATHANOR_GCS_CHUNK", 128 * MIB),
                         .part = size_of("ATHANOR_GCS_PART", 128 * MIB)};
  if (sizes.block > 1024 * (uint64_t)MIB) sizes.block = 1024 * (uint64_t)MIB;
  return sizes;
}

/* --- connections -------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ath_gcs *idle[IDLE_MAX];
static size_t idle_count;

static void destroy(ath_gcs *self) {
  ath_http_destroy(self->http);
  ath_buffer_free(&self->text);
  free(self);
}

static ath_status create(ath_gcs **out) {
  ath_gcs *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a connection");
  self->text = ath_buffer_make(ATH_GCS_TEXT_MAX);
  ath_status status = ath_http_create(&self->http);
  if (status == ATH_OK) *out = self;
  else destroy(self);
  return status;
}

ath_status ath_gcs_borrow(ath_gcs **out) {
  *out = NULL;
  pthread_mutex_lock(&lock);
  if (idle_count > 0) *out = idle[--idle_count];
  pthread_mutex_unlock(&lock);
  return *out != NULL ? ATH_OK : create(out);
}

void ath_gcs_return(ath_gcs *self) {
  if (self == NULL) return;
  pthread_mutex_lock(&lock);
  if (idle_count < IDLE_MAX) {
    idle[idle_count++] = self;
    self = NULL;
  }
  pthread_mutex_unlock(&lock);
  if (self != NULL) destroy(self);
}

/* --- asking ------------------------------------------------------------------------------- */

ath_status ath_gcs_exchange(ath_gcs *self, ath_http_request *request, ath_http_answer *answer) {
  bool anonymous = is_anonymous();
  *answer = (ath_http_answer){.retry_after = -1};
  if (request->text == NULL) request->text = &self->text;
  request->bearer = NULL;
  if (!anonymous) {
    ATH_TRY(ath_credentials_token(NULL, self->token));
    request->bearer = self->token;
  }
  ATH_TRY(ath_http_exchange(self->http, request, answer));
  if (answer->status != 401 || anonymous) return ATH_OK;
  char refused[ATH_TOKEN_MAX];
  memcpy(refused, self->token, sizeof refused);
  ATH_TRY(ath_credentials_token(refused, self->token));
  return ath_http_exchange(self->http, request, answer);
}

ath_status ath_gcs_ask(ath_gcs *self, ath_http_request *request, int good, int other,
                       const char *what, ath_http_answer *answer) {
  ath_status status;
  ath_retry retry = ath_retry_begin(&ath_retry_default, NULL);
  do {
    request->seconds = ath_retry_seconds(&retry);
    status = ath_gcs_exchange(self, request, answer);
  } while (ath_retry_again(&retry, status, answer));
  if (status == ATH_OK && (answer->status == good || answer->status == other)) return ATH_OK;
  return ath_retry_fail(&retry, status, answer, &self->text, what);
}

/* --- what answers say --------------------------------------------------------------------- */

/* Four bytes, the highest first. */
bool ath_gcs_decode_crc(const char *base64, uint32_t *crc) {
  struct base64_decode_ctx context;
  uint8_t bytes[BASE64_DECODE_LENGTH(8)];
  size_t length = sizeof bytes;
  if (base64 == NULL || strnlen(base64, 8) < 8 || (base64[8] != '\0' && base64[8] != ','))
    return false;
  base64_decode_init(&context);
  if (!base64_decode_update(&context, &length, bytes, 8, base64) ||
      !base64_decode_final(&context) || length != 4)
    return false;
  *crc = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
  return true;
}

void ath_gcs_encode_crc(uint32_t crc, char base64[9]) {
  const uint8_t bytes[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
                            (uint8_t)crc};
  base64_encode_raw(base64, sizeof bytes, bytes);
  base64[8] = '\0';
}

bool ath_gcs_read_hash(const char *value, uint32_t *crc) {
  const char *found = value != NULL ? strstr(value, "crc32c=") : NULL;
  return found != NULL && ath_gcs_decode_crc(found + strlen("crc32c="), crc);
}

/* 64-bit numbers come as strings. */
static bool read_number(const json_t *root, const char *name, uint64_t *out) {
  const char *text = json_string_value(json_object_get(root, name));
  char *end = NULL;
  if (text == NULL || *text < '0' || *text > '9') return false;
  errno = 0;
  *out = strtoull(text, &end, 10);
  return errno == 0 && *end == '\0';
}

bool ath_gcs_read_info(const json_t *root, ath_object_info *out) {
  *out = (ath_object_info){0};
  if (!read_number(root, "size", &out->size)) return false;
  if (!read_number(root, "generation", &out->version)) out->version = 0;
  const json_t *crc = json_object_get(root, "crc32c");
  out->has_crc = ath_gcs_decode_crc(json_string_value(crc), &out->crc32c);
  return out->has_crc || crc == NULL;
}
