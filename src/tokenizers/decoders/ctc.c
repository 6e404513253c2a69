/* ctc.c: what a speech model emits frame by frame (Graves et al. 2006): repeats and blanks left
 * out.
 *
 * {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": true} */
#include <string.h>

#include "tokenizers/decoders/kinds.h"
#include "tokenizers/decoders/pieces.h"

typedef struct ctc {
  ath_string pad, delimiter;
  bool clean_up;
} ctc;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "pad_token", "word_delimiter_token", "cleanup",
                                      NULL};
  ath_json_check_keys(json, known);
  ctc *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json clean_up = ath_json_member(json, "cleanup");
  ATH_TRY(ath_string_read(json, "pad_token", arena, &self->pad));
  ATH_TRY(ath_string_read(json, "word_delimiter_token", arena, &self->delimiter));
  ATH_TRY(ath_json_required_flag(&clean_up, &self->clean_up));
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const ctc *self = data;
  ath_json_put_string(out, "pad_token", self->pad.bytes, self->pad.length);
  ath_json_put_string(out, "word_delimiter_token", self->delimiter.bytes,
                      self->delimiter.length);
  ath_json_put_flag(out, "cleanup", self->clean_up);
}

static ath_string string_in(const ath_buffer *buffer) {
  return (ath_string){buffer->length > 0 ? buffer->bytes : "", buffer->length};
}

static bool equal(ath_string a, ath_string b) {
  return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

/* One piece, through two buffers; what is empty afterwards is no piece. */
static ath_status put(const ctc *self, ath_string piece, ath_buffer buffers[2], ath_pieces *out) {
  ath_buffer_clear(&buffers[0]);
  ath_buffer_clear(&buffers[1]);
  ATH_TRY(ath_replace_all(piece, self->pad, (ath_string){"", 0}, &buffers[0]));
  size_t before = out->bytes.length;
  if (self->clean_up) {
    ATH_TRY(ath_clean_up(string_in(&buffers[0]), &buffers[1]));
    ATH_TRY(ath_replace_all(string_in(&buffers[1]), self->delimiter, (ath_string){" ", 1},
                            &out->bytes));
  } else if (buffers[0].length > 0) {
    ATH_TRY(ath_buffer_append(&out->bytes, buffers[0].bytes, buffers[0].length));
  }
  return out->bytes.length > before ? ath_pieces_end(out) : ATH_OK;
}

static ath_status apply(const void *data, const ath_pieces *in, ath_pieces *out) {
  const ctc *self = data;
  ath_buffer buffers[2] = {ath_buffer_make(in->bytes.maximum),
                           ath_buffer_make(in->bytes.maximum)};
  ath_status status = ATH_OK;
  for (size_t i = 0; i < in->count && status == ATH_OK; i++)
    if (i == 0 || !equal(ath_piece(in, i - 1), ath_piece(in, i)))
      status = put(self, ath_piece(in, i), buffers, out);
  ath_buffer_free(&buffers[0]);
  ath_buffer_free(&buffers[1]);
  return status;
}

const ath_decoder_kind ath_decoder_ctc = {{"CTC", read, write}, apply};
