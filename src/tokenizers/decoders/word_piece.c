/* word_piece.c: pieces that continue a word joined to it, a space before all others.
 *
 * {"type": "WordPiece", "prefix": "##", "cleanup": true} */
#include <string.h>

#include "tokenizers/decoders/kinds.h"
#include "tokenizers/decoders/pieces.h"

typedef struct word_piece {
  ath_string prefix;
  bool clean_up;
} word_piece;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "prefix", "cleanup", NULL};
  ath_json_check_keys(json, known);
  word_piece *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json clean_up = ath_json_member(json, "cleanup");
  ATH_TRY(ath_string_read(json, "prefix", arena, &self->prefix));
  ATH_TRY(ath_json_required_flag(&clean_up, &self->clean_up));
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const word_piece *self = data;
  ath_json_put_string(out, "prefix", self->prefix.bytes, self->prefix.length);
  ath_json_put_flag(out, "cleanup", self->clean_up);
}

/* Appends a piece as it stands in the text. */
static ath_status put(const word_piece *self, ath_string piece, bool first, ath_buffer *out) {
  bool continues = piece.length >= self->prefix.length &&
                   memcmp(piece.bytes, self->prefix.bytes, self->prefix.length) == 0;
  if (!first && !continues) ATH_TRY(ath_buffer_byte(out, ' '));
  size_t from = !first && continues ? self->prefix.length : 0;
  return ath_buffer_append(out, piece.bytes + from, piece.length - from);
}

static ath_status apply(const void *data, const ath_pieces *in, ath_pieces *out) {
  const word_piece *self = data;
  ath_buffer word = ath_buffer_make(in->bytes.maximum);
  ath_status status = ATH_OK;
  for (size_t i = 0; i < in->count && status == ATH_OK; i++) {
    ath_buffer_clear(&word);
    status = put(self, ath_piece(in, i), i == 0, self->clean_up ? &word : &out->bytes);
    if (status == ATH_OK && self->clean_up)
      status = ath_clean_up((ath_string){word.length > 0 ? word.bytes : "", word.length},
                            &out->bytes);
    if (status == ATH_OK) status = ath_pieces_end(out);
  }
  ath_buffer_free(&word);
  return status;
}

const ath_decoder_kind ath_decoder_word_piece = {{"WordPiece", read, write}, apply};
