/* utf8.c: checking UTF-8, eight ASCII bytes at a time where there are such. */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the well-formed sequence that begins at `s` with `left` bytes to go; 0 if there is
 * none. Only the second byte's range depends on the first: it is what shuts out overlong forms
 * (E0, F0), surrogates (ED) and numbers past U+10FFFF (F4). */
static size_t sequence_length(const uint8_t *s, size_t left) {
  if (s[0] < 0x80) return 1;
  if (s[0] < 0xC2 || s[0] > 0xF4) return 0;
  size_t count = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
  if (left < count) return 0;
  uint8_t low = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;
  uint8_t high = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF;
  if (s[1] < low || s[1] > high) return 0;
  for (size_t i = 2; i < count; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  return count;
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
