/* kinds.h: the pre-tokenisers, a file each. */
#ifndef ATHANOR_TOKENIZERS_PRE_TOKENIZERS_KINDS_H
#define ATHANOR_TOKENIZERS_PRE_TOKENIZERS_KINDS_H

#include "tokenizers/pipeline.h"

extern const ath_pre_tokenizer_kind ath_pre_tokenizer_metaspace;

#endif
