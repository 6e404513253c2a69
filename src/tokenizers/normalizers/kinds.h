/* kinds.h: the normalisers, a file each. */
#ifndef ATHANOR_TOKENIZERS_NORMALIZERS_KINDS_H
#define ATHANOR_TOKENIZERS_NORMALIZERS_KINDS_H

#include "tokenizers/pipeline.h"

extern const ath_kinds ath_normalizer_kinds; /* all of them */
extern const ath_normalizer_kind ath_normalizer_bert, ath_normalizer_byte_level,
    ath_normalizer_lowercase, ath_normalizer_nfc, ath_normalizer_nfd, ath_normalizer_nfkc,
    ath_normalizer_nfkd, ath_normalizer_nmt, ath_normalizer_precompiled, ath_normalizer_prepend,
    ath_normalizer_replace, ath_normalizer_sequence, ath_normalizer_strip,
    ath_normalizer_strip_accents;

#endif
