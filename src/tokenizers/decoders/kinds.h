/* kinds.h: the decoders, a file each. */
#ifndef ATHANOR_TOKENIZERS_DECODERS_KINDS_H
#define ATHANOR_TOKENIZERS_DECODERS_KINDS_H

#include "tokenizers/pipeline.h"

extern const ath_kinds ath_decoder_kinds; /* all of them */
extern const ath_decoder_kind ath_decoder_byte_fallback, ath_decoder_byte_level, ath_decoder_ctc,
    ath_decoder_fuse, ath_decoder_metaspace, ath_decoder_replace, ath_decoder_sequence,
    ath_decoder_strip, ath_decoder_suffix, ath_decoder_word_piece;

#endif
