/* sequence.c: decoders one after another.
 *
 * {"type": "Sequence", "decoders": […]} */
#include "tokenizers/decoders/kinds.h"
#include "tokenizers/decoders/pieces.h"

typedef struct sequence {
  size_t count;
  ath_decoder items[];
} sequence;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "decoders", NULL};
  ath_json_check_keys(json, known);
  ATH_TRY(ath_check_nesting(json));
  ath_json list = ath_json_member(json, "decoders");
  size_t count;
  ATH_TRY(ath_json_array(&list, &count));
  sequence *self = ath_arena_alloc(arena, sizeof *self + count * sizeof *self->items);
  if (self == NULL) return ATH_NO_MEMORY;
  self->count = count;
  for (size_t i = 0; i < count; i++) {
    ath_json item = ath_json_item(&list, i);
    ATH_TRY(ath_decoder_read(&item, arena, &self->items[i]));
  }
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const sequence *self = data;
  ath_json_open(out, "decoders", '[');
  for (size_t i = 0; i < self->count; i++) {
    const ath_kind *kind = &self->items[i].kind->base;
    ath_json_open(out, NULL, '{');
    ath_json_put_text(out, "type", kind->name);
    kind->write(self->items[i].data, out);
    ath_json_close(out, '}');
  }
  ath_json_close(out, ']');
}

static void clear(ath_pieces *pieces) {
  ath_buffer_clear(&pieces->bytes);
  pieces->count = 0;
}

/* All steps but the last write to two spare lists in turn. */
static ath_status apply(const void *data, const ath_pieces *in, ath_pieces *out) {
  const sequence *self = data;
  ath_pieces spare[2] = {{.bytes = ath_buffer_make(in->bytes.maximum)},
                         {.bytes = ath_buffer_make(in->bytes.maximum)}};
  ath_status status = ATH_OK;
  for (size_t i = 0; i < self->count && status == ATH_OK; i++) {
    ath_pieces *to = i + 1 < self->count ? &spare[i % 2] : out;
    clear(to);
    status = self->items[i].kind->apply(self->items[i].data, in, to);
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
