/* word_cache.h: the pieces of the words met lately. Text repeats its words, so most of them are
 * found here, at the price of one line of the processor's cache. Belongs to one run; has a fixed
 * size. */
#ifndef ATHANOR_TOKENIZERS_WORD_CACHE_H
#define ATHANOR_TOKENIZERS_WORD_CACHE_H

#include "tokenizers/pipeline.h"

enum {
  ATH_WORD_KEY_BYTES = 24, /* longer words are not kept */
  ATH_WORD_PIECES = 6,     /* nor those of more pieces */
  ATH_WORD_ENTRIES = 1 << 14,
};

typedef struct ath_word_key {
  uint64_t words[ATH_WORD_KEY_BYTES / 8]; /* the word's bytes, folded where they are few */
  uint32_t length;
  uint32_t place; /* where in the table it belongs */
} ath_word_key;

/* A word and its pieces: 64 bytes. */
typedef struct ath_cached_word {
  _Alignas(64) uint64_t words[ATH_WORD_KEY_BYTES / 8];
  int32_t ids[ATH_WORD_PIECES];
  uint8_t ends[ATH_WORD_PIECES]; /* byte offset in the word where each piece ends */
  uint8_t length;
  uint8_t count; /* 0: free */
} ath_cached_word;

typedef struct ath_word_cache {
  ath_cached_word entries[ATH_WORD_ENTRIES];
} ath_word_cache;

typedef struct ath_word_piece {
  int32_t id;
  uint32_t end;
} ath_word_piece;

/* The run's cache, made on first use; NULL, with the failure text set, when memory is out. */
ath_word_cache *ath_word_cache_of(ath_run *run);

/* False when the word is too long to be kept. */
bool ath_word_key_make(const ath_text *word, ath_word_key *out);

static inline bool ath_cached_word_is(const ath_cached_word *self, const ath_word_key *key) {
  return self->words[0] == key->words[0] && self->words[1] == key->words[1] &&
         self->words[2] == key->words[2] && self->length == key->length && self->count > 0;
}

/* The word, or NULL; valid until the next put. A word has two places, side by side. */
static inline const ath_cached_word *ath_word_cache_find(const ath_word_cache *self,
                                                         const ath_word_key *key) {
  const ath_cached_word *first = &self->entries[key->place];
  if (ath_cached_word_is(first, key)) return first;
  const ath_cached_word *second = &self->entries[key->place ^ 1];
  return ath_cached_word_is(second, key) ? second : NULL;
}

/* Keeps a word's pieces, if there are any; the older of the two words in its places goes. */
void ath_word_cache_put(ath_word_cache *self, const ath_word_key *key,
                        const ath_word_piece *pieces, size_t count);

/* How many bytes of a word a message shows: of whole characters, at most a hundred. */
int ath_word_shown(const ath_text *word);

/* Finds the pieces of a word, in memory of the run's that lasts until its next call. */
typedef ath_status (*ath_word_cutter)(const void *model, ath_run *run, const ath_text *word,
                                      ath_word_piece **pieces, size_t *count);

/* Encodes a word by the cache, or by `cut` when it is not there. Tokens of the id `shown`, which
 * may be none (−1), show the text that they stand for. */
ath_status ath_word_encode(const void *model, ath_word_cutter cut, int32_t shown, ath_run *run,
                           const ath_text *word) ATH_MUST_CHECK;

/* Appends pieces, the first of which begins at byte `from`, as tokens. One that ends where the
 * piece before it does stands for the same text, as the bytes of a character may do. Pieces may
 * end inside a character: offsets are those of whole ones. */
ath_status ath_word_emit(ath_run *run, const ath_text *word, size_t from,
                         const ath_word_piece *pieces, size_t count, int32_t shown)
    ATH_MUST_CHECK;

#endif
