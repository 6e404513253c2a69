/* utf8.h: whether bytes are UTF-8, and where they stop being it. */
#ifndef ATHANOR_BASE_UTF8_H
#define ATHANOR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* How many bytes from the start are well-formed UTF-8 (Unicode 15, table 3-7): `length` when all
 * are, else the offset of the first byte of the first malformed sequence. Surrogates, overlong
 * forms, numbers above U+10FFFF and a sequence cut off at the end are malformed; NUL is not. */
size_t ath_utf8_prefix(const char *bytes, size_t length);

/* Appends the bytes with U+FFFD in place of what is malformed: of each longest beginning of a
 * sequence that could still have become well-formed, or else of each byte (Unicode 15, section 3.9,
 * "maximal subparts"; the WHATWG Encoding Standard's decoder does the same). */
ath_status ath_utf8_repair(const char *bytes, size_t length, ath_buffer *out) ATH_MUST_CHECK;

/* Whether a byte of well-formed UTF-8 belongs to the code point that began before it. */
static inline bool ath_utf8_continues(char byte) { return ((unsigned char)byte & 0xC0) == 0x80; }

/* How many code points well-formed UTF-8 has. */
static inline size_t ath_utf8_count(const char *bytes, size_t length) {
  size_t count = 0;
  for (size_t i = 0; i < length; i++) count += !ath_utf8_continues(bytes[i]);
  return count;
}

#endif
