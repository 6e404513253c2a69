/* kinds.h: the normalisers, a file each. */
#ifndef ATHANOR_TOKENIZERS_NORMALIZERS_KINDS_H
#define ATHANOR_TOKENIZERS_NORMALIZERS_KINDS_H

#include "tokenizers/pipeline.h"

extern const ath_normalizer_kind ath_normalizer_replace, ath_normalizer_sequence;

#endif
