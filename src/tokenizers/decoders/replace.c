/* replace.c: a string in each piece replaced.
 *
 * {"type": "Replace", "pattern": {"String": "▁"}, "content": " "} */
#include "tokenizers/decoders/kinds.h"
#include "tokenizers/decoders/pieces.h"

typedef struct replace {
  ath_string pattern, content;
} replace;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "pattern", "content", NULL};
  ath_json_check_keys(json, known);
  ath_json pattern = ath_json_member(json, "pattern");
  ATH_TRY(ath_json_object(&pattern));
  ath_json regex = ath_json_member(&pattern, "Regex");
  if (regex.value != NULL)
    return ath_json_fail(&regex, ATH_UNSUPPORTED,
                         "regular expressions are not supported yet (supported: String)");
  replace *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ATH_TRY(ath_string_read(&pattern, "String", arena, &self->pattern));
  ATH_TRY(ath_string_read(json, "content", arena, &self->content));
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const replace *self = data;
  ath_json_open(out, "pattern", '{');
  ath_json_put_string(out, "String", self->pattern.bytes, self->pattern.length);
  ath_json_close(out, '}');
  ath_json_put_string(out, "content", self->content.bytes, self->content.length);
}

static ath_status apply(const void *data, const ath_pieces *in, ath_pieces *out) {
  const replace *self = data;
  for (size_t i = 0; i < in->count; i++) {
    ATH_TRY(ath_replace_all(ath_piece(in, i), self->pattern, self->content, &out->bytes));
    ATH_TRY(ath_pieces_end(out));
  }
  return ATH_OK;
}

const ath_decoder_kind ath_decoder_replace = {{"Replace", read, write}, apply};
