/* kinds.c: which models there are. */
#include "tokenizers/models/kinds.h"

static const ath_kind *const items[] = {
  &ath_model_bpe.base,
  &ath_model_unigram.base,
  &ath_model_wordlevel.base,
  &ath_model_wordpiece.base,
};

static const ath_kinds kinds = {items, sizeof items / sizeof *items};

/* Files from before 2020 have no "type": the members tell what it is. */
static const ath_model_kind *guess(const ath_json *json) {
  ath_json merges = ath_json_member(json, "merges"), vocab = ath_json_member(json, "vocab");
  ath_json longest = ath_json_member(json, "max_input_chars_per_word");
  if (merges.value != NULL) return &ath_model_bpe;
  if (json_is_array(vocab.value)) return &ath_model_unigram;
  return longest.value != NULL ? &ath_model_wordpiece : &ath_model_wordlevel;
}

ath_status ath_model_read(const ath_json *json, ath_arena *arena, ath_model *out) {
  ATH_TRY(ath_json_object(json));
  ath_json type = ath_json_member(json, "type");
  const ath_model_kind *guessed = type.value == NULL ? guess(json) : NULL;
  if (guessed != NULL) {
    void *data;
    ATH_TRY(guessed->base.read(json, arena, &data));
    *out = (ath_model){guessed, data};
    return ATH_OK;
  }
  ath_part part;
  ATH_TRY(ath_part_read(json, &kinds, arena, &part));
  *out = (ath_model){ATH_KIND_OF(ath_model_kind, part), part.data};
  return ATH_OK;
}
