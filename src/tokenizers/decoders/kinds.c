/* kinds.c: which decoders there are. */
#include "tokenizers/decoders/kinds.h"

static const ath_kind *const items[] = {
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

const ath_kinds ath_decoder_kinds = {items, sizeof items / sizeof *items};

ath_status ath_decoder_read(const ath_json *json, ath_arena *arena, ath_decoder *out) {
  ath_part part;
  ATH_TRY(ath_part_read(json, &ath_decoder_kinds, arena, &part));
  *out = (ath_decoder){ATH_KIND_OF(ath_decoder_kind, part), part.data};
  return ATH_OK;
}
