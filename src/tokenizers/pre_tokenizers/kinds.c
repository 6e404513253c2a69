/* kinds.c: which pre-tokenisers there are. */
#include "tokenizers/pre_tokenizers/kinds.h"

static const ath_kind *const kinds[] = {
  &ath_pre_tokenizer_bert.base,
  &ath_pre_tokenizer_byte_level.base,
  &ath_pre_tokenizer_delimiter.base,
  &ath_pre_tokenizer_digits.base,
  &ath_pre_tokenizer_fixed_length.base,
  &ath_pre_tokenizer_metaspace.base,
  &ath_pre_tokenizer_punctuation.base,
  &ath_pre_tokenizer_scripts.base,
  &ath_pre_tokenizer_sequence.base,
  &ath_pre_tokenizer_split.base,
  &ath_pre_tokenizer_whitespace.base,
  &ath_pre_tokenizer_whitespace_split.base,
};

ath_status ath_pre_tokenizer_read(const ath_json *json, ath_arena *arena, ath_pre_tokenizer *out) {
  const ath_kind *kind;
  void *data;
  ATH_TRY(ath_kind_read(json, kinds, sizeof kinds / sizeof *kinds, arena, &kind, &data));
  /* `base` is the first member, so its address is the table's. */
  *out = (ath_pre_tokenizer){(const ath_pre_tokenizer_kind *)(const void *)kind, data};
  return ATH_OK;
}
