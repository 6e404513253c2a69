/* minhash.c: shingles of a text, and the first of them in many orders. */
#include "data/minhash.h"

#include <assert.h>
#include <string.h>

#include "base/mix.h"
#include "data/text_hash.h"

/* Bits of the fractions of square roots: of 11, 13 and 17. */
#define KEY_WORD UINT64_C(0x510e527fade682d1)
#define KEY_SHINGLE UINT64_C(0x9b05688c2b3e6c1f)
#define KEY_ORDER UINT64_C(0x1f83d9abfb41bd6b)

enum { SHINGLE_WORDS = 5 };

/* --- orders -------------------------------------------------------------------------------- */

/* A loop of constant length without branches, which compilers turn into vector instructions. */
static inline __attribute__((always_inline)) void keep(const ath_minhash *restrict self,
                                                       uint32_t shingle,
                                                       uint32_t *restrict firsts) {
  for (int i = 0; i < ATH_ORDERS; i++) {
    uint32_t place = shingle * self->factors[i] + self->terms[i];
    place ^= place >> 15;
    firsts[i] = place < firsts[i] ? place : firsts[i];
  }
}

static void keep_plain(const ath_minhash *self, uint32_t shingle, uint32_t firsts[ATH_ORDERS]) {
  keep(self, shingle, firsts);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void keep_avx2(const ath_minhash *self, uint32_t shingle,
                                                      uint32_t firsts[ATH_ORDERS]) {
  keep(self, shingle, firsts);
}
#endif

void ath_minhash_init(ath_minhash *out, bool plain) {
  out->keep_firsts = keep_plain;
#ifdef __x86_64__
  if (!plain && __builtin_cpu_supports("avx2")) out->keep_firsts = keep_avx2;
#else
  (void)plain;
#endif
  for (uint64_t i = 0; i < ATH_ORDERS; i++) {
    uint64_t bits = ath_mix(KEY_ORDER + i, KEY_WORD - i);
    out->factors[i] = (uint32_t)bits | 1;
    out->terms[i] = (uint32_t)(bits >> 32);
  }
}

/* --- words --------------------------------------------------------------------------------- */

/* Bytes of the word that begins here; 0 where none does. */
static size_t word_at(const unsigned char *text, size_t length) {
  size_t end = 0;
  if (text[0] >= 0xE3) { /* U+3000 and above */
    for (end = 1; end < length && (text[end] & 0xC0) == 0x80; end++) {}
    return end;
  }
  while (end < length && text[end] < 0xE3 &&
         (text[end] >= 0x80 || (text[end] >= '0' && text[end] <= '9') ||
          ((text[end] | 0x20) >= 'a' && (text[end] | 0x20) <= 'z')))
    end++;
  return end;
}

/* Letters of ASCII count as small ones: the bit that tells them apart is set in every byte below
 * 0x80, which digits have set already. */
static uint64_t hash_word(const unsigned char *word, size_t length) {
  uint64_t hash = length;
  for (size_t i = 0; i < length; i++)
    hash = (hash ^ (word[i] < 0x80 ? word[i] | 0x20u : word[i])) * UINT64_C(0x9E3779B97F4A7C15);
  return ath_mix(hash, KEY_WORD);
}

/* --- sketches ------------------------------------------------------------------------------ */

typedef struct sketching {
  const ath_minhash *orders;
  uint32_t firsts[ATH_ORDERS];
} sketching;

static void add_shingle(sketching *self, uint64_t shingle) {
  self->orders->keep_firsts(self->orders, (uint32_t)(shingle >> 32), self->firsts);
}

static uint64_t hash_shingle(const uint64_t words[SHINGLE_WORDS], size_t count) {
  uint64_t hash = KEY_SHINGLE;
  size_t first = count < SHINGLE_WORDS ? 0 : count - SHINGLE_WORDS;
  for (size_t i = first; i < count; i++)
    hash = ath_mix(hash ^ words[i % SHINGLE_WORDS], KEY_WORD);
  return hash;
}

static void add_text(sketching *self, const unsigned char *text, size_t length) {
  uint64_t words[SHINGLE_WORDS];
  size_t count = 0;
  for (size_t at = 0; at < length;) {
    size_t size = word_at(text + at, length - at);
    if (size > 0) {
      words[count++ % SHINGLE_WORDS] = hash_word(text + at, size);
      if (count >= SHINGLE_WORDS) add_shingle(self, hash_shingle(words, count));
    }
    at += size > 0 ? size : 1;
  }
  if (count > 0 && count < SHINGLE_WORDS) add_shingle(self, hash_shingle(words, count));
  if (count == 0) add_shingle(self, ath_text_hash_make((const char *)text, length).high);
}

void ath_minhash_sketch(const ath_minhash *self, const char *text, size_t length,
                        ath_sketch *out) {
  sketching s = {.orders = self};
  memset(s.firsts, 0xFF, sizeof s.firsts);
  add_text(&s, (const unsigned char *)text, length);
  for (int i = 0; i < ATH_ORDERS; i++)
    out->firsts[i] = (uint8_t)(s.firsts[i] * UINT32_C(0x9E3779B1) >> 24);
  for (int band = 0; band < ATH_BANDS; band++) {
    uint64_t key = KEY_ORDER + (uint64_t)band;
    for (int i = 0; i < ATH_BAND_ORDERS; i++)
      key = ath_mix(key ^ s.firsts[band * ATH_BAND_ORDERS + i], KEY_SHINGLE);
    out->keys[band] = (uint32_t)(key >> 32);
  }
}

/* Of 256 pairs of different shingles one agrees in eight bits. */
double ath_sketch_similarity(const uint8_t first[ATH_ORDERS], const uint8_t second[ATH_ORDERS]) {
  int equal = 0;
  for (int i = 0; i < ATH_ORDERS; i++) equal += first[i] == second[i];
  double share = (double)equal / ATH_ORDERS;
  return (share - 1.0 / 256) / (1.0 - 1.0 / 256);
}
