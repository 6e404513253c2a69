/* hex.h: bytes of golden files written as hexadecimal digits; spaces are passed over. */
#ifndef ATHANOR_TESTS_HEX_H
#define ATHANOR_TESTS_HEX_H

#include "testing.h"

static inline size_t from_hex(const char *text, uint8_t *out, size_t capacity) {
  size_t count = 0;
  for (; *text != '\0'; text++) {
    if (*text == ' ') continue;
    char pair[3] = {text[0], text[1], '\0'};
    if (count == capacity) fail_msg("more than %zu bytes of hex", capacity);
    out[count++] = (uint8_t)strtoul(pair, NULL, 16);
    text++;
  }
  return count;
}

/* These bytes are exactly what the text spells. */
static inline void assert_hex(const void *bytes, size_t count, const char *text) {
  uint8_t expected[1024];
  size_t expected_count = from_hex(text, expected, sizeof expected);
  assert_int_equal(count, expected_count);
  assert_memory_equal(bytes, expected, count);
}

#endif
