/* characters.c: character classes, from utf8proc's general categories. */
#include "tokenizers/characters.h"

#include <assert.h>
#include <utf8proc.h>

uint32_t ath_character_at(const char *bytes, size_t at) {
  const uint8_t *s = (const uint8_t *)bytes + at;
  if (s[0] < 0x80) return s[0];
  if (s[0] < 0xE0) return (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
  if (s[0] < 0xF0) return (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
  return (s[0] & 0x07u) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
}

uint32_t ath_character_before(const char *bytes, size_t at) {
  assert(at > 0);
  do at--;
  while (((uint8_t)bytes[at] & 0xC0) == 0x80);
  return ath_character_at(bytes, at);
}

bool ath_is_white_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

/* Symbols that are alphabetic all the same: letters in circles and squares. */
static bool is_enclosed_letter(uint32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

bool ath_is_word_character(uint32_t c) {
  switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU: case UTF8PROC_CATEGORY_LL: case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM: case UTF8PROC_CATEGORY_LO: case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC: case UTF8PROC_CATEGORY_ME: case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL: case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return c == 0x200C || c == 0x200D || is_enclosed_letter(c);
  }
}
