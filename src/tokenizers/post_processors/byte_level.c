/* byte_level.c: the post-processor that adds no tokens, but takes white space off the offsets.
 *
 * {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true} */
#include "tokenizers/byte_level.h"
#include "tokenizers/post_processors/kinds.h"
#include "tokenizers/post_processors/trim.h"

static ath_status lay_out(const void *data, ath_arena *arena, bool special, ath_layout *layout) {
  (void)arena;
  (void)special;
  const ath_byte_level *self = data;
  return self->trim_offsets ? ath_layout_add_trim(layout, self->add_prefix_space) : ATH_OK;
}

const ath_post_processor_kind ath_post_processor_byte_level = {
    {"ByteLevel", ath_byte_level_read, ath_byte_level_write}, lay_out};
