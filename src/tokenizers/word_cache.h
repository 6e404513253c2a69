/* word_cache.h: the pieces of the words met lately. Text repeats its words, so most of them are
 * found here, at the price of one cache line. Belongs to one run; holds a fixed amount. */
#ifndef ATHANOR_TOKENIZERS_WORD_CACHE_H
#define ATHANOR_TOKENIZERS_WORD_CACHE_H

#include "tokenizers/pipeline.h"

enum {
  ATH_WORD_KEY_BYTES = 24, /* longer words are not cached */
  ATH_WORD_PIECES = 6,     /* nor those of more pieces */
};

typedef struct ath_word_piece {
  int32_t id;
  uint32_t end; /* byte offset in the word where the piece ends */
} ath_word_piece;

typedef struct ath_word_key {
  uint64_t words[ATH_WORD_KEY_BYTES / 8]; /* the word's bytes, then zeros */
  uint32_t length;
  uint32_t hash;
} ath_word_key;

typedef struct ath_word_cache ath_word_cache;

/* The run's cache, made on first use; NULL, with the failure text set, when memory is out. */
ath_word_cache *ath_word_cache_of(ath_run *run);

/* False when the word is too long to be cached. */
bool ath_word_key_make(const ath_text *word, ath_word_key *out);

/* The number of pieces of a word, 0 when it is not there. They are valid until the next put. */
size_t ath_word_cache_find(const ath_word_cache *self, const ath_word_key *key,
                           const ath_word_piece **pieces);
/* Keeps the pieces, in place of the word that used to be there. */
void ath_word_cache_put(ath_word_cache *self, const ath_word_key *key,
                        const ath_word_piece *pieces, size_t count);

#endif
