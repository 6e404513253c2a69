/* suffix.c: the mark at the ends of words made a space, but in the last piece.
 *
 * {"type": "BPEDecoder", "suffix": "</w>"} */
#include "tokenizers/decoders/kinds.h"
#include "tokenizers/decoders/pieces.h"

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "suffix", NULL};
  ath_json_check_keys(json, known);
  ath_string *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  *data = self;
  return ath_string_read(json, "suffix", arena, self);
}

static void write(const void *data, ath_json_writer *out) {
  const ath_string *self = data;
  ath_json_put_string(out, "suffix", self->bytes, self->length);
}

static ath_status apply(const void *data, const ath_pieces *in, ath_pieces *out) {
  const ath_string *suffix = data;
  for (size_t i = 0; i < in->count; i++) {
    ath_string space = {" ", i + 1 < in->count};
    ATH_TRY(ath_replace_all(ath_piece(in, i), *suffix, space, &out->bytes));
    ATH_TRY(ath_pieces_end(out));
  }
  return ATH_OK;
}

const ath_decoder_kind ath_decoder_suffix = {{"BPEDecoder", read, write}, apply};
