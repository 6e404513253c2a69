/* word_cache.c: a two-way table whose entry is one line of the processor's cache … and a half. */
#include "tokenizers/word_cache.h"

#include <string.h>

enum { ENTRIES = 1 << 15 };

typedef struct entry {
  uint64_t words[ATH_WORD_KEY_BYTES / 8];
  uint32_t length;
  uint32_t count; /* 0: free */
  ath_word_piece pieces[ATH_WORD_PIECES];
} entry;

struct ath_word_cache {
  entry entries[ENTRIES];
};

ath_word_cache *ath_word_cache_of(ath_run *run) {
  return ath_run_scratch(run, ATH_SCRATCH_CACHE, sizeof(ath_word_cache));
}

bool ath_word_key_make(const ath_text *word, ath_word_key *out) {
  if (word->length > ATH_WORD_KEY_BYTES) return false;
  memset(out->words, 0, sizeof out->words);
  memcpy(out->words, word->bytes, word->length);
  out->length = (uint32_t)word->length;
  uint64_t hash = out->length;
  for (size_t i = 0; i < ATH_WORD_KEY_BYTES / 8; i++) {
    hash = (hash ^ out->words[i]) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 29;
  }
  out->hash = (uint32_t)(hash >> 32) & (ENTRIES - 1);
  return true;
}

static bool holds(const entry *self, const ath_word_key *key) {
  return self->count > 0 && self->length == key->length && self->words[0] == key->words[0] &&
         self->words[1] == key->words[1] && self->words[2] == key->words[2];
}

size_t ath_word_cache_find(const ath_word_cache *self, const ath_word_key *key,
                           const ath_word_piece **pieces) {
  const entry *e = &self->entries[key->hash];
  if (!holds(e, key)) e = &self->entries[key->hash ^ 1];
  if (!holds(e, key)) return 0;
  *pieces = e->pieces;
  return e->count;
}

void ath_word_cache_put(ath_word_cache *self, const ath_word_key *key,
                        const ath_word_piece *pieces, size_t count) {
  assert(count > 0);
  if (count > ATH_WORD_PIECES) return;
  entry *e = &self->entries[key->hash];
  if (e->count > 0) self->entries[key->hash ^ 1] = *e; /* the older of the two goes */
  memcpy(e->words, key->words, sizeof e->words);
  e->length = key->length;
  e->count = (uint32_t)count;
  memcpy(e->pieces, pieces, count * sizeof *pieces);
}
