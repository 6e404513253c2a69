/* kinds.h: the pre-tokenisers, a file each. */
#ifndef ATHANOR_TOKENIZERS_PRE_TOKENIZERS_KINDS_H
#define ATHANOR_TOKENIZERS_PRE_TOKENIZERS_KINDS_H

#include "tokenizers/pipeline.h"

extern const ath_kinds ath_pre_tokenizer_kinds; /* all of them */
extern const ath_pre_tokenizer_kind ath_pre_tokenizer_bert, ath_pre_tokenizer_byte_level,
    ath_pre_tokenizer_delimiter, ath_pre_tokenizer_digits, ath_pre_tokenizer_fixed_length,
    ath_pre_tokenizer_metaspace, ath_pre_tokenizer_punctuation, ath_pre_tokenizer_scripts,
    ath_pre_tokenizer_sequence, ath_pre_tokenizer_split, ath_pre_tokenizer_whitespace,
    ath_pre_tokenizer_whitespace_split;

#endif
