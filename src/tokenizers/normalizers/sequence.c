/* sequence.c: normalisers one after another.
 *
 * {"type": "Sequence", "normalizers": […]} */
#include "tokenizers/normalizers/kinds.h"

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  return ath_sequence_read(json, "normalizers", &ath_normalizer_kinds, arena, data);
}

static void write(const void *data, ath_json_writer *out) {
  ath_sequence_write(data, "normalizers", out);
}

static ath_status apply(const void *data, ath_run *run, ath_text *text) {
  const ath_sequence *self = data;
  assert(text->bytes != NULL);
  for (size_t i = 0; i < self->count; i++) {
    const ath_part *item = &self->items[i];
    ATH_TRY(ATH_KIND_OF(ath_normalizer_kind, *item)->apply(item->data, run, text));
  }
  return ATH_OK;
}

/* Only the first sees the text's own characters beside this one. */
static ath_keeping keeps(const void *data, uint8_t character) {
  const ath_sequence *self = data;
  ath_keeping least = ATH_KEEPS_APART;
  for (size_t i = 0; i < self->count; i++) {
    const ath_part *item = &self->items[i];
    const ath_normalizer_kind *kind = ATH_KIND_OF(ath_normalizer_kind, *item);
    ath_keeping keeping = kind->keeps != NULL ? kind->keeps(item->data, character)
                                              : ATH_KEEPS_NOTHING;
    if (i > 0 && keeping == ATH_KEEPS_AS_GRAPHEME) keeping = ATH_KEEPS_NOTHING;
    if (keeping < least) least = keeping;
  }
  return least;
}

const ath_normalizer_kind ath_normalizer_sequence = {{"Sequence", read, write}, apply, keeps, NULL};
