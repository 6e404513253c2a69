/* encoding.c: guessing an encoding by counting bytes. */
#include "storage/encoding.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SAMPLE = 1 << 14 };

const char *ath_encoding_of_mark(const char *bytes, size_t length) {
  if (length >= 2 && memcmp(bytes, "\xFF\xFE", 2) == 0) return "UTF-16LE";
  if (length >= 2 && memcmp(bytes, "\xFE\xFF", 2) == 0) return "UTF-16BE";
  return NULL;
}

typedef struct counts {
  size_t zeros[2];    /* at even and odd places */
  size_t controls;    /* other than tabs, line ends and the like */
  size_t high;        /* bytes from 0x80 */
  size_t high_pairs;  /* … behind another one */
  size_t c1;          /* 0x80 – 0x9F, which ISO 8859-1 has no characters for */
  size_t upper, lower; /* 0xE0 – 0xFF and 0xC0 – 0xDF: KOI8-R has its small letters in the second */
} counts;

static counts count(const uint8_t *bytes, size_t length) {
  counts c = {0};
  for (size_t i = 0; i < length; i++) {
    uint8_t b = bytes[i];
    if (b == 0) c.zeros[i & 1]++;
    else if (b < 0x20 && (b < '\t' || b > '\r') && b != 0x1B) c.controls++;
    if (b < 0x80) continue;
    c.high++;
    c.high_pairs += i > 0 && bytes[i - 1] >= 0x80;
    c.c1 += b < 0xA0;
    c.upper += b >= 0xE0;
    c.lower += b >= 0xC0 && b < 0xE0;
  }
  return c;
}

/* Pairs as JIS X 0208 has them, many of them kana, whose first bytes are 0x82 and 0x83. */
static bool is_shift_jis(const uint8_t *bytes, size_t length) {
  size_t pairs = 0, kana = 0, wrong = 0;
  for (size_t i = 0; i + 1 < length; i++) {
    uint8_t b = bytes[i], next = bytes[i + 1];
    bool first = (b >= 0x81 && b <= 0x9F) || (b >= 0xE0 && b <= 0xEF);
    if (!first) {
      wrong += b == 0x80 || b >= 0xF0;
      continue;
    }
    if (next < 0x40 || next > 0xFC || next == 0x7F) wrong++;
    pairs++;
    kana += b == 0x82 || b == 0x83;
    i++;
  }
  return pairs > 0 && kana * 5 >= pairs && wrong * 20 <= pairs;
}

const char *ath_encoding_guess(const char *text, size_t length) {
  if (length > SAMPLE) length = SAMPLE;
  const uint8_t *bytes = (const uint8_t *)text;
  counts c = count(bytes, length);
  if (c.zeros[1] * 3 > length && c.zeros[0] * 20 < length) return "UTF-16LE";
  if (c.zeros[0] * 3 > length && c.zeros[1] * 20 < length) return "UTF-16BE";
  if ((c.controls + c.zeros[0] + c.zeros[1]) * 50 > length) return NULL;
  if (is_shift_jis(bytes, length)) return "SHIFT_JIS";
  if (c.high_pairs * 2 > c.high) { /* words of such bytes alone */
    if ((c.upper + c.lower) * 10 < c.high * 7) return NULL;
    return c.lower > c.upper ? "KOI8-R" : "WINDOWS-1251";
  }
  return c.c1 > 0 ? "WINDOWS-1252" : "ISO-8859-1";
}
