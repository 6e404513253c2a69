/* fuzz_http.c: any bytes as an answer over HTTP: lines up to an empty one, then a body, as the
 * client and Cloud Storage's part take them. What is read must lie within its bounds. */
#include "fuzzing.h"
#include "storage/gcs.h"
#include "storage/http_lines.h"
#include "storage/retry.h"

static time_t no_date(const char *text) {
  return strlen(text) % 2 == 0 ? (time_t)-1 : (time_t)strlen(text);
}

/* The end of the lines; each goes as curl hands it over, with its end. */
static size_t add_lines(ath_buffer *lines, const uint8_t *data, size_t size) {
  size_t at = 0;
  while (at < size) {
    const uint8_t *end = memchr(data + at, '\n', size - at);
    size_t count = end != NULL ? (size_t)(end - data) - at + 1 : size - at;
    if (ath_http_lines_add(lines, (const char *)data + at, count) != ATH_OK) break;
    at += count;
    if (count <= 2) break;
  }
  return at;
}

static void look_at_lines(const ath_buffer *lines) {
  static const char *const names[] = {"range", "content-range", "x-goog-hash", "location"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    uint64_t first = 0, end = 0;
    uint32_t crc;
    char base64[9];
    const char *value = ath_http_lines_find(lines, names[i]);
    if (value != NULL) MUST(value >= lines->bytes && value < lines->bytes + lines->length);
    if (ath_http_range(value, &first, &end)) MUST(first < end);
    if (!ath_gcs_read_hash(value, &crc)) continue;
    ath_gcs_encode_crc(crc, base64);
    uint32_t again = ~crc;
    MUST(ath_gcs_decode_crc(base64, &again) && again == crc);
  }
  double wait = ath_http_lines_wait(lines, 1, no_date);
  MUST(wait == -1 || (wait >= 0 && wait < 1e9));
}

static void look_at_body(const ath_buffer *body) {
  static const ath_http_answer answer = {.status = 400, .retry_after = -1};
  ath_object_info info;
  json_t *root = json_loadb(body->bytes != NULL ? body->bytes : "", body->length, 0, NULL);
  if (ath_gcs_read_info(root, &info)) MUST(json_object_get(root, "size") != NULL);
  json_decref(root);
  ath_retry retry = ath_retry_begin(&ath_retry_default, NULL);
  MUST(ath_retry_fail(&retry, ATH_OK, &answer, body, "it") == ATH_INVALID);
  for (const char *c = ath_error_text(); *c != '\0'; c++) MUST((unsigned char)*c >= ' ');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ath_buffer lines = ath_buffer_make(ATH_HTTP_LINES_BYTES_MAX), body = ath_buffer_make(1 << 20);
  size_t at = add_lines(&lines, data, size);
  look_at_lines(&lines);
  if (ath_buffer_append(&body, data + at, size - at) == ATH_OK) look_at_body(&body);
  ath_buffer_free(&body);
  ath_buffer_free(&lines);
  return 0;
}
