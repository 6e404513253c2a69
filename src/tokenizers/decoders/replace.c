/* replace.c: each match of a pattern in each piece replaced.
 *
 * {"type": "Replace", "pattern": {"String": "▁"}, "content": " "} */
#include "tokenizers/decoders/kinds.h"
#include "tokenizers/decoders/pieces.h"
#include "tokenizers/pattern.h"

typedef struct replace {
  ath_pattern pattern;
  ath_string content;
} replace;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "pattern", "content", NULL};
  ath_json_check_keys(json, known);
  replace *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ATH_TRY(ath_pattern_read(json, arena, &self->pattern));
  ATH_TRY(ath_string_read(json, "content", arena, &self->content));
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const replace *self = data;
  ath_pattern_write(&self->pattern, out);
  ath_json_put_string(out, "content", self->content.bytes, self->content.length);
}

static ath_status replace_in(const replace *self, ath_string piece, ath_buffer *out) {
  ath_finder finder = ath_finder_begin(&self->pattern, piece.bytes, piece.length);
  for (size_t from = 0;;) {
    ath_match match;
    bool found;
    ATH_TRY(ath_finder_next(&finder, &found, &match));
    if (!found) return ath_buffer_append(out, piece.bytes + from, piece.length - from);
    ATH_TRY(ath_buffer_append(out, piece.bytes + from, match.start - from));
    ATH_TRY(ath_buffer_append(out, self->content.bytes, self->content.length));
    from = match.end;
  }
}

/* In an empty piece not even the empty match is one. */
static ath_status apply(const void *data, const ath_pieces *in, ath_pieces *out) {
  for (size_t i = 0; i < in->count; i++) {
    ath_string piece = ath_piece(in, i);
    if (piece.length > 0) ATH_TRY(replace_in(data, piece, &out->bytes));
    ATH_TRY(ath_pieces_end(out));
  }
  return ATH_OK;
}

const ath_decoder_kind ath_decoder_replace = {{"Replace", read, write}, apply};
