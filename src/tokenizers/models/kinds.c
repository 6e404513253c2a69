/* kinds.c: which models there are. */
#include "tokenizers/models/kinds.h"

static const ath_kind *const kinds[] = {
  &ath_model_unigram.base,
};

ath_status ath_model_read(const ath_json *json, ath_arena *arena, ath_model *out) {
  const ath_kind *kind;
  void *data;
  ATH_TRY(ath_kind_read(json, kinds, sizeof kinds / sizeof *kinds, arena, &kind, &data));
  /* `base` is the first member, so its address is the table's. */
  *out = (ath_model){(const ath_model_kind *)(const void *)kind, data};
  return ATH_OK;
}
