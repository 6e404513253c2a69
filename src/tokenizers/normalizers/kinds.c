/* kinds.c: which normalisers there are. */
#include "tokenizers/normalizers/kinds.h"

static const ath_kind *const items[] = {
  &ath_normalizer_bert.base,
  &ath_normalizer_byte_level.base,
  &ath_normalizer_lowercase.base,
  &ath_normalizer_nfc.base,
  &ath_normalizer_nfd.base,
  &ath_normalizer_nfkc.base,
  &ath_normalizer_nfkd.base,
  &ath_normalizer_nmt.base,
  &ath_normalizer_precompiled.base,
  &ath_normalizer_prepend.base,
  &ath_normalizer_replace.base,
  &ath_normalizer_sequence.base,
  &ath_normalizer_strip.base,
  &ath_normalizer_strip_accents.base,
};

const ath_kinds ath_normalizer_kinds = {items, sizeof items / sizeof *items};

ath_status ath_normalizer_read(const ath_json *json, ath_arena *arena, ath_normalizer *out) {
  ath_part part;
  ATH_TRY(ath_part_read(json, &ath_normalizer_kinds, arena, &part));
  *out = (ath_normalizer){ATH_KIND_OF(ath_normalizer_kind, part), part.data};
  return ATH_OK;
}
