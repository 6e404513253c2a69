/* kinds.h: the post-processors, a file each. */
#ifndef ATHANOR_TOKENIZERS_POST_PROCESSORS_KINDS_H
#define ATHANOR_TOKENIZERS_POST_PROCESSORS_KINDS_H

#include "tokenizers/pipeline.h"

extern const ath_kinds ath_post_processor_kinds; /* all of them */
extern const ath_post_processor_kind ath_post_processor_bert, ath_post_processor_byte_level,
    ath_post_processor_roberta, ath_post_processor_sequence, ath_post_processor_template;

#endif
