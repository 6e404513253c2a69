/* strip.c: up to so many of one character taken from the ends of each piece.
 *
 * {"type": "Strip", "content": " ", "start": 1, "stop": 0} */
#include <string.h>

#include "tokenizers/decoders/kinds.h"
#include "tokenizers/decoders/pieces.h"

typedef struct strip {
  ath_string content;
  int64_t start, stop;
} strip;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "content", "start", "stop", NULL};
  ath_json_check_keys(json, known);
  strip *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json content = ath_json_member(json, "content");
  ATH_TRY(ath_string_read(json, "content", arena, &self->content));
  if (self->content.length == 0 ||
      self->content.length != ath_character_length(self->content.bytes[0]))
    return ath_json_fail(&content, ATH_INVALID, "expected one character, found \"%.40s\"",
                         self->content.bytes);
  ath_json start = ath_json_member(json, "start"), stop = ath_json_member(json, "stop");
  ATH_TRY(ath_json_integer(&start, 0, INT64_MAX, &self->start));
  ATH_TRY(ath_json_integer(&stop, 0, INT64_MAX, &self->stop));
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const strip *self = data;
  ath_json_put_string(out, "content", self->content.bytes, self->content.length);
  ath_json_put_integer(out, "start", self->start);
  ath_json_put_integer(out, "stop", self->stop);
}

/* Where both ends take the same characters, which the reference gives up on, nothing is left. */
static ath_status apply(const void *data, const ath_pieces *in, ath_pieces *out) {
  const strip *self = data;
  const ath_string content = self->content;
  for (size_t i = 0; i < in->count; i++) {
    ath_string piece = ath_piece(in, i);
    size_t from = 0, to = piece.length;
    for (int64_t n = 0; n < self->start && to - from >= content.length &&
         memcmp(piece.bytes + from, content.bytes, content.length) == 0; n++)
      from += content.length;
    for (int64_t n = 0; n < self->stop && to - from >= content.length &&
         memcmp(piece.bytes + to - content.length, content.bytes, content.length) == 0; n++)
      to -= content.length;
    assert(from <= to);
    ATH_TRY(ath_pieces_add(out, piece.bytes + from, to - from));
  }
  return ATH_OK;
}

const ath_decoder_kind ath_decoder_strip = {{"Strip", read, write}, apply};
