/* kinds.h: the models, a file each. */
#ifndef ATHANOR_TOKENIZERS_MODELS_KINDS_H
#define ATHANOR_TOKENIZERS_MODELS_KINDS_H

#include "tokenizers/pipeline.h"

extern const ath_model_kind ath_model_bpe;
extern const ath_model_kind ath_model_unigram;
extern const ath_model_kind ath_model_wordlevel;
extern const ath_model_kind ath_model_wordpiece;

#endif
