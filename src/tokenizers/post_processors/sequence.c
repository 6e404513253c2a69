/* sequence.c: post-processors one after another.
 *
 * {"type": "Sequence", "processors": […]} */
#include "tokenizers/post_processors/kinds.h"

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  return ath_sequence_read(json, "processors", &ath_post_processor_kinds, arena, data);
}

static void write(const void *data, ath_json_writer *out) {
  ath_sequence_write(data, "processors", out);
}

/* Each may triple the parts, so their number is bounded. */
static ath_status lay_out(const void *data, ath_arena *arena, bool special, ath_layout *layout) {
  enum { PARTS_MAX = 1 << 16 };
  const ath_sequence *self = data;
  for (size_t i = 0; i < self->count; i++) {
    const ath_part *item = &self->items[i];
    ATH_TRY(ATH_KIND_OF(ath_post_processor_kind, *item)->lay_out(item->data, arena, special,
                                                                 layout));
    if (layout->count > PARTS_MAX)
      return ath_fail(ATH_UNSUPPORTED, "post_processor: more than %d tokens and texts", PARTS_MAX);
  }
  return ATH_OK;
}

const ath_post_processor_kind ath_post_processor_sequence = {{"Sequence", read, write}, lay_out};
