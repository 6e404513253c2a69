/* kinds.h: the decoders, a file each. */
#ifndef ATHANOR_TOKENIZERS_DECODERS_KINDS_H
#define ATHANOR_TOKENIZERS_DECODERS_KINDS_H

#include "tokenizers/pipeline.h"

extern const ath_decoder_kind ath_decoder_metaspace;

#endif
