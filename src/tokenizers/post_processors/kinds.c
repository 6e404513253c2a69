/* kinds.c: which post-processors there are. */
#include "tokenizers/post_processors/kinds.h"

static const ath_kind *const items[] = {
  &ath_post_processor_bert.base,
  &ath_post_processor_byte_level.base,
  &ath_post_processor_roberta.base,
  &ath_post_processor_sequence.base,
  &ath_post_processor_template.base,
};

const ath_kinds ath_post_processor_kinds = {items, sizeof items / sizeof *items};

ath_status ath_post_processor_read(const ath_json *json, ath_arena *arena,
                                   ath_post_processor *out) {
  ath_part part;
  ATH_TRY(ath_part_read(json, &ath_post_processor_kinds, arena, &part));
  *out = (ath_post_processor){ATH_KIND_OF(ath_post_processor_kind, part), part.data};
  return ATH_OK;
}
