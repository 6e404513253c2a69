/* unigram.h: a Unigram model as it is made: by reading tokenizer.json, and by training. */
#ifndef ATHANOR_TOKENIZERS_UNIGRAM_H
#define ATHANOR_TOKENIZERS_UNIGRAM_H

#include "tokenizers/pipeline.h"
#include "tokenizers/models/trie.h"

typedef struct ath_unigram_entry {
  const char *bytes; /* NUL-terminated, though it may hold NULs */
  uint32_t length;
} ath_unigram_entry;

typedef struct ath_unigram {
  ath_arena *arena;
  ath_unigram_entry *pieces; /* by id */
  double *scores;            /* log probabilities, by id */
  int32_t count;
  size_t capacity;
  int32_t unknown; /* id of the unknown token; −1: none */
  bool byte_fallback;      /* unknown pieces become bytes, where there is a token for each */
  int32_t byte_ids[256];   /* of "<0x00>" … "<0xFF>"; −1: none */
  double least;    /* of all scores */
  size_t window;   /* a power of two above the bytes of the longest piece */
  ath_trie trie;   /* piece to id */
} ath_unigram;

/* An empty model with room for `count` pieces. */
ath_status ath_unigram_create(ath_arena *arena, size_t count, ath_unigram **out) ATH_MUST_CHECK;
/* Adds the piece of the next id. `bytes` must live as long as the model. */
void ath_unigram_add(ath_unigram *self, const char *bytes, size_t length, double score);
/* Makes the model ready once all pieces are in. When a piece is there twice, *doubled is the
 * second one's id and the model is of no use; −1 otherwise. */
ath_status ath_unigram_finish(ath_unigram *self, int32_t *doubled) ATH_MUST_CHECK;

#endif
