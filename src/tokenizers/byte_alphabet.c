/* byte_alphabet.c: bytes and the characters that stand for them. */
#include "tokenizers/byte_alphabet.h"

#include <assert.h>
#include <string.h>

/* Bytes for themselves: ! to ~, then ¡ to ¬ and ® to ÿ, which take two bytes of UTF-8. */
#define ONE(b) {{(char)(b), 0}, 1}
#define TWO(c) {{(char)(0xC0 | (c) >> 6), (char)(0x80 | ((c) & 0x3F))}, 2}
#define ONE_4(b) ONE(b), ONE((b) + 1), ONE((b) + 2), ONE((b) + 3)
#define TWO_4(c) TWO(c), TWO((c) + 1), TWO((c) + 2), TWO((c) + 3)
#define ONE_16(b) ONE_4(b), ONE_4((b) + 4), ONE_4((b) + 8), ONE_4((b) + 12)
#define TWO_16(c) TWO_4(c), TWO_4((c) + 4), TWO_4((c) + 8), TWO_4((c) + 12)

const ath_byte_letter ath_byte_letters[256] = {
  TWO_16(0x100), TWO_16(0x110),                                              /* controls */
  TWO(0x120), ONE(0x21), ONE(0x22), ONE(0x23), ONE_4(0x24), ONE_4(0x28), ONE_4(0x2C),
  ONE_16(0x30), ONE_16(0x40), ONE_16(0x50), ONE_16(0x60),
  ONE_4(0x70), ONE_4(0x74), ONE_4(0x78), ONE(0x7C), ONE(0x7D), ONE(0x7E), TWO(0x121),
  TWO_16(0x122), TWO_16(0x132),                                              /* 0x80 to 0x9F */
  TWO(0x142), TWO(0xA1), TWO(0xA2), TWO(0xA3), TWO_4(0xA4), TWO_4(0xA8),
  TWO(0xAC), TWO(0x143), TWO(0xAE), TWO(0xAF),
  TWO_16(0xB0), TWO_16(0xC0), TWO_16(0xD0), TWO_16(0xE0), TWO_16(0xF0),
};

int ath_letter_byte(uint32_t c) {
  assert(c < 0x110000);
  if ((c >= 0x21 && c <= 0x7E) || (c >= 0xA1 && c <= 0xFF && c != 0xAD)) return (int)c;
  if (c >= 0x100 && c <= 0x120) return (int)(c - 0x100);
  if (c >= 0x121 && c <= 0x142) return (int)(c - 0x121 + 0x7F);
  return c == 0x143 ? 0xAD : -1;
}

char *ath_write_byte_letters(char *out, const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    const ath_byte_letter *letter = &ath_byte_letters[(uint8_t)bytes[i]];
    memcpy(out, letter->utf8, sizeof letter->utf8);
    out += letter->length;
  }
  return out;
}
