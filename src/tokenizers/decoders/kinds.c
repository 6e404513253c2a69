/* kinds.c: which decoders there are. */
#include "tokenizers/decoders/kinds.h"

static const ath_kind *const kinds[] = {
  &ath_decoder_byte_fallback.base,
  &ath_decoder_byte_level.base,
  &ath_decoder_ctc.base,
  &ath_decoder_fuse.base,
  &ath_decoder_metaspace.base,
  &ath_decoder_replace.base,
  &ath_decoder_sequence.base,
  &ath_decoder_strip.base,
  &ath_decoder_suffix.base,
  &ath_decoder_word_piece.base,
};

ath_status ath_decoder_read(const ath_json *json, ath_arena *arena, ath_decoder *out) {
  const ath_kind *kind;
  void *data;
  ATH_TRY(ath_kind_read(json, kinds, sizeof kinds / sizeof *kinds, arena, &kind, &data));
  /* `base` is the first member, so its address is the table's. */
  *out = (ath_decoder){(const ath_decoder_kind *)(const void *)kind, data};
  return ATH_OK;
}
