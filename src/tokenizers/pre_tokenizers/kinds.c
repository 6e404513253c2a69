/* kinds.c: which pre-tokenisers there are. */
#include "tokenizers/pre_tokenizers/kinds.h"

static const ath_kind *const items[] = {
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

const ath_kinds ath_pre_tokenizer_kinds = {items, sizeof items / sizeof *items};

ath_status ath_pre_tokenizer_read(const ath_json *json, ath_arena *arena, ath_pre_tokenizer *out) {
  ath_part part;
  ATH_TRY(ath_part_read(json, &ath_pre_tokenizer_kinds, arena, &part));
  *out = (ath_pre_tokenizer){ATH_KIND_OF(ath_pre_tokenizer_kind, part), part.data};
  return ATH_OK;
}
