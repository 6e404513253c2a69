/* merged_tokens.h: what merging makes of a word, found without merging. Of all ways to cut a word
 * into tokens merging gives the one of which all neighbours stay apart (bpe_encode.c); whether two
 * do can be told from how they were made, so that the tokens are found from left to right by
 * looking up the longest first, and going back where that was wrong. (The idea is that of GitHub's
 * bpe crate.) */
#ifndef ATHANOR_TOKENIZERS_MERGED_TOKENS_H
#define ATHANOR_TOKENIZERS_MERGED_TOKENS_H

#include <pthread.h>
#include <stdatomic.h>

#include "tokenizers/models/merges.h"

typedef struct ath_merged_tokens ath_merged_tokens;

enum { ATH_MERGED_WORD_MAX = 1024 }; /* bytes of a word */

/* Makes the tables for words whose symbols are bytes, which have these ids. *out is NULL where
 * merging cannot be foreseen so: where a token is made by two merges, or by one of lower rank than
 * one that makes a part of it. */
ath_status ath_merged_tokens_create(const ath_merges *merges, const int32_t bytes[256],
                                    ath_merged_tokens **out) ATH_MUST_CHECK;
void ath_merged_tokens_destroy(ath_merged_tokens *self); /* NULL is allowed */

/* The tables of a model, which any thread may ask for: made once so many words were merged that
 * making them takes no longer. */
typedef struct ath_merged_lazy {
  pthread_mutex_t lock;
  atomic_size_t words;
  atomic_bool tried;
  ath_merged_tokens *tokens;
} ath_merged_lazy;
/* Goes with the arena. */
ath_status ath_merged_lazy_init(ath_merged_lazy *self, ath_arena *arena) ATH_MUST_CHECK;
/* *out is NULL when the tables are not there, and these words are merged. */
ath_status ath_merged_lazy_get(ath_merged_lazy *self, const ath_merges *merges,
                               const int32_t bytes[256], size_t words,
                               const ath_merged_tokens **out) ATH_MUST_CHECK;

/* Cuts a word of at most ATH_MERGED_WORD_MAX bytes into the tokens that merging would make of it;
 * there is room for one a byte. Returns how many. */
size_t ath_merged_tokens_cut(const ath_merged_tokens *self, const char *bytes, size_t length,
                             ath_word_piece *out);

#endif
