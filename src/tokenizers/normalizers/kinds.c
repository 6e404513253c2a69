/* kinds.c: which normalisers there are. */
#include "tokenizers/normalizers/kinds.h"

static const ath_kind *const kinds[] = {
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

ath_status ath_normalizer_read(const ath_json *json, ath_arena *arena, ath_normalizer *out) {
  const ath_kind *kind;
  void *data;
  ATH_TRY(ath_kind_read(json, kinds, sizeof kinds / sizeof *kinds, arena, &kind, &data));
  /* `base` is the first member, so its address is the table's. */
  *out = (ath_normalizer){(const ath_normalizer_kind *)(const void *)kind, data};
  return ATH_OK;
}
