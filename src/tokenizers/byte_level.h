/* byte_level.h: what "ByteLevel" has in tokenizer.json, as pre-tokeniser, post-processor and
 * decoder alike. Each role heeds its own share of it.
 *
 * {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true} */
#ifndef ATHANOR_TOKENIZERS_BYTE_LEVEL_H
#define ATHANOR_TOKENIZERS_BYTE_LEVEL_H

#include "tokenizers/pipeline.h"

typedef struct ath_byte_level {
  bool add_prefix_space, trim_offsets, use_regex; /* true where the file does not say */
} ath_byte_level;

/* `*data` becomes an ath_byte_level. */
ath_status ath_byte_level_read(const ath_json *json, ath_arena *arena, void **data) ATH_MUST_CHECK;
/* The same, but the two members that the oldest files have must be there. */
ath_status ath_byte_level_read_strictly(const ath_json *json, ath_arena *arena, void **data)
    ATH_MUST_CHECK;
void ath_byte_level_write(const void *data, ath_json_writer *out);

/* Whether a pre-tokeniser cuts nothing more, and sees no letters, once it has written bytes as
 * letters: its words may then stay bytes (`raw` in the run), if the model reads those. */
bool ath_byte_level_comes_last(const ath_pre_tokenizer *pre_tokenizer);
/* Whether a part is a pre-tokeniser that leaves the words of such a run as they are. */
bool ath_byte_level_is_idle(ath_part part, const ath_run *run);

#endif
