/* chunks.h: a text cut, as it is written, into parts that become the same ids wherever they stand,
 * which are looked up among those met lately; what becomes of a new one the pipeline finds out.
 *
 * Where a text may be cut so, its parts tell (ath_border). For BERT that is at spaces, and around
 * punctuation and Chinese characters; where texts are only cut at spaces, before or instead of
 * each. */
#ifndef ATHANOR_TOKENIZERS_CHUNKS_H
#define ATHANOR_TOKENIZERS_CHUNKS_H

#include "tokenizers/pipeline.h"

typedef struct ath_chunking {
  bool possible;
  uint8_t signs[256]; /* what a byte means for cutting (chunks.c) */
  uint64_t wide[16];  /* by the first byte of three and the second: whether such characters are
                         set apart, whatever the third is */
} ath_chunking;

void ath_chunking_find(ath_chunking *self, const ath_normalizer *normalizer,
                       const ath_pre_tokenizer *pre_tokenizer, const ath_model *model);

/* Appends the ids of a text. `encode` is the pipeline: it gets the parts that are not known. */
ath_status ath_chunks_encode(const ath_chunking *self, ath_run *run, const ath_text *text,
                             ath_sink encode) ATH_MUST_CHECK;

#endif
