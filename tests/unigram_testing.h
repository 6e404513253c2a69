/* unigram_testing.h: a Unigram tokenizer of a few pieces. */
#ifndef ATHANOR_UNIGRAM_TESTING_H
#define ATHANOR_UNIGRAM_TESTING_H

#include "tokenizers/trainers/build.h"

/* With the usual special tokens, which have the ids 0 to 4. */
static inline ath_status unigram_of(const ath_unigram_piece *pieces, size_t count,
                                    ath_tokenizer **out) {
  ath_build build;
  ath_unigram_options usual = ath_unigram_defaults();
  ATH_TRY(ath_build_init(&build, &ath_recipe_unigram, &usual.common));
  return ath_build_unigram(&build, pieces, count, out);
}

#endif
