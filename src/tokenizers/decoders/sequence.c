/* sequence.c: decoders one after another.
 *
 * {"type": "Sequence", "decoders": […]} */
#include "tokenizers/decoders/kinds.h"
#include "tokenizers/decoders/pieces.h"

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  return ath_sequence_read(json, "decoders", &ath_decoder_kinds, arena, data);
}

static void write(const void *data, ath_json_writer *out) {
  ath_sequence_write(data, "decoders", out);
}

static void clear(ath_pieces *pieces) {
  ath_buffer_clear(&pieces->bytes);
  pieces->count = 0;
}

/* All steps but the last write to two spare lists in turn. */
static ath_status apply(const void *data, const ath_pieces *in, ath_pieces *out) {
  const ath_sequence *self = data;
  ath_pieces spare[2] = {{.bytes = ath_buffer_make(in->bytes.maximum)},
                         {.bytes = ath_buffer_make(in->bytes.maximum)}};
  ath_status status = ATH_OK;
  for (size_t i = 0; i < self->count && status == ATH_OK; i++) {
    ath_pieces *to = i + 1 < self->count ? &spare[i % 2] : out;
    clear(to);
    status = ATH_KIND_OF(ath_decoder_kind, self->items[i])->apply(self->items[i].data, in, to);
    in = to;
  }
  for (size_t i = 0; self->count == 0 && i < in->count && status == ATH_OK; i++) {
    ath_string piece = ath_piece(in, i);
    status = ath_pieces_add(out, piece.bytes, piece.length);
  }
  ath_pieces_free(&spare[0]);
  ath_pieces_free(&spare[1]);
  return status;
}

const ath_decoder_kind ath_decoder_sequence = {{"Sequence", read, write}, apply};
