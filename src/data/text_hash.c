/* text_hash.c: hashing sixteen bytes at a time. */
#include "data/text_hash.h"

#include <assert.h>
#include <string.h>

#include "base/mix.h"
#include "formats/wire.h"

/* Digits of the fractions of square roots: of 2, 3, 5 and 7. */
#define KEY_A UINT64_C(0x6a09e667f3bcc908)
#define KEY_B UINT64_C(0xbb67ae8584caa73b)
#define KEY_C UINT64_C(0x3c6ef372fe94f82b)
#define KEY_D UINT64_C(0xa54ff53a5f1d36f1)

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Two sums that see each word differently, so that the halves are independent. */
static void add(ath_text_hash *self, uint64_t first, uint64_t second) {
  self->high = ath_mix(self->high ^ first ^ KEY_A, second ^ KEY_B);
  self->low = ath_mix(self->low ^ second ^ KEY_C, first ^ KEY_D) + self->high;
}

ath_text_hash ath_text_hash_make(const char *text, size_t length) {
  while (length > 0 && is_space(text[length - 1])) length--;
  for (; length > 0 && is_space(*text); length--) text++;
  ath_text_hash hash = {KEY_C, KEY_A};
  if (length == 0) return (ath_text_hash){0, 0};
  size_t left = length;
  for (; left >= 16; left -= 16, text += 16) add(&hash, ath_load_u64(text), ath_load_u64(text + 8));
  char rest[16] = "";
  memcpy(rest, text, left);
  add(&hash, ath_load_u64(rest), ath_load_u64(rest + 8));
  add(&hash, length, ~(uint64_t)length); /* so NULs at the end count */
  if (ath_text_hash_is_empty(&hash)) hash.low = 1;
  return hash;
}
