/* encode_block.h: blocks of text together with their tokens, and who makes them on any thread. */
#ifndef ATHANOR_DATA_ENCODE_BLOCK_H
#define ATHANOR_DATA_ENCODE_BLOCK_H

#include "athanor/tokenizer.h"
#include "data/corpus.h"

/* A block and the tokens of all its lines, one after another. */
typedef struct ath_encoded_block {
  ath_block text;
  int32_t *ids;
  size_t count, capacity;
} ath_encoded_block;

typedef struct ath_encoder {
  const ath_tokenizer *tokenizer;
  int threads;
  ath_encoding *encodings; /* one for each thread */
} ath_encoder;

/* `threads` 0: as many as OpenMP has. The tokenizer must outlive the encoder. */
ath_status ath_encoder_create(const ath_tokenizer *tokenizer, int threads, ath_encoder *out)
    ATH_MUST_CHECK;
void ath_encoder_free(ath_encoder *self);

/* Encodes every line with its special tokens and sets its `tokens`. The first line that fails
 * gives the failure; the block is of no use then. */
ath_status ath_encoder_run(const ath_encoder *self, ath_encoded_block *block, int thread)
    ATH_MUST_CHECK;

/* `count` blocks, for a pipeline. Freeing takes what a failed making has left. */
ath_status ath_encoded_blocks_create(size_t count, ath_encoded_block ***out) ATH_MUST_CHECK;
void ath_encoded_blocks_free(ath_encoded_block **blocks, size_t count); /* NULL is allowed */

#endif
