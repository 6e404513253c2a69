/* utf8.c: checking UTF-8, eight ASCII bytes at a time where there are such. */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* How many bytes of `s`, of which there are `left`, are a beginning of a well-formed sequence, and
 * in *whole how many that sequence has; 0 for a byte that begins none. Only the second byte's range
 * depends on the first: it is what shuts out overlong forms (E0, F0), surrogates (ED) and numbers
 * past U+10FFFF (F4). */
static size_t sequence_prefix(const uint8_t *s, size_t left, size_t *whole) {
  *whole = 1;
  if (s[0] < 0x80) return 1;
  if (s[0] < 0xC2 || s[0] > 0xF4) return 0;
  *whole = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
  uint8_t low = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;
  uint8_t high = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF;
  if (left < 2 || s[1] < low || s[1] > high) return 1;
  size_t count = 2;
  while (count < *whole && count < left && (s[count] & 0xC0) == 0x80) count++;
  return count;
}

/* Bytes of the well-formed sequence that begins at `s`; 0 if there is none. */
static size_t sequence_length(const uint8_t *s, size_t left) {
  size_t whole;
  return sequence_prefix(s, left, &whole) == whole ? whole : 0;
}

size_t ath_utf8_prefix(const char *bytes, size_t length) {
  size_t at = 0;
  while (at < length) {
    uint64_t eight;
    while (length - at >= sizeof eight) {
      memcpy(&eight, bytes + at, sizeof eight);
      if ((eight & UINT64_C(0x8080808080808080)) != 0) break;
      at += sizeof eight;
    }
    if (at == length) break;
    size_t step = sequence_length((const uint8_t *)bytes + at, length - at);
    if (step == 0) return at;
    at += step;
  }
  return length;
}

ath_status ath_utf8_repair(const char *bytes, size_t length, ath_buffer *out) {
  for (size_t at = 0; at < length;) {
    size_t valid = ath_utf8_prefix(bytes + at, length - at), whole;
    ATH_TRY(ath_buffer_append(out, bytes + at, valid));
    at += valid;
    if (at == length) break;
    ATH_TRY(ath_buffer_string(out, "\uFFFD"));
    size_t part = sequence_prefix((const uint8_t *)bytes + at, length - at, &whole);
    at += part > 0 ? part : 1;
  }
  return ATH_OK;
}
