/* encode_block.h: the lines of a block to tokens, on several threads; in order all the same. */
#ifndef ATHANOR_DATA_ENCODE_BLOCK_H
#define ATHANOR_DATA_ENCODE_BLOCK_H

#include "athanor/tokenizer.h"
#include "data/corpus.h"

typedef struct ath_block_encoder ath_block_encoder;

/* `threads` 0: as many as OpenMP has. The tokenizer must outlive the encoder. */
ath_status ath_block_encoder_create(const ath_tokenizer *tokenizer, int threads,
                                    ath_block_encoder **out) ATH_MUST_CHECK;
void ath_block_encoder_destroy(ath_block_encoder *self); /* NULL is allowed */

/* Encodes every line with its special tokens and sets its `tokens`. The first line that fails, in
 * the order of the text, gives the failure. */
ath_status ath_block_encoder_run(ath_block_encoder *self, ath_block *block) ATH_MUST_CHECK;

/* The ids of line `index` of the block that was encoded last; to be asked in ascending order. */
const int32_t *ath_block_encoder_ids(ath_block_encoder *self, const ath_block *block,
                                     size_t index);

#endif
