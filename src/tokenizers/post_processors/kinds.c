/* kinds.c: which post-processors there are. */
#include "tokenizers/post_processors/kinds.h"

static const ath_kind *const kinds[] = {
  &ath_post_processor_bert.base,
  &ath_post_processor_byte_level.base,
  &ath_post_processor_roberta.base,
  &ath_post_processor_sequence.base,
  &ath_post_processor_template.base,
};

ath_status ath_post_processor_read(const ath_json *json, ath_arena *arena,
                                   ath_post_processor *out) {
  const ath_kind *kind;
  void *data;
  ATH_TRY(ath_kind_read(json, kinds, sizeof kinds / sizeof *kinds, arena, &kind, &data));
  /* `base` is the first member, so its address is the table's. */
  *out = (ath_post_processor){(const ath_post_processor_kind *)(const void *)kind, data};
  return ATH_OK;
}
