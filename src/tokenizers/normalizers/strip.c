/* strip.c: white space taken from the ends of a text.
 *
 * {"type": "Strip", "strip_left": true, "strip_right": true} */
#include "tokenizers/characters.h"
#include "tokenizers/normalizers/kinds.h"

typedef struct strip {
  bool left, right;
} strip;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "strip_left", "strip_right", NULL};
  ath_json_check_keys(json, known);
  strip *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json left = ath_json_member(json, "strip_left");
  ath_json right = ath_json_member(json, "strip_right");
  ATH_TRY(ath_json_required_flag(&left, &self->left));
  ATH_TRY(ath_json_required_flag(&right, &self->right));
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const strip *self = data;
  ath_json_put_flag(out, "strip_left", self->left);
  ath_json_put_flag(out, "strip_right", self->right);
}

static ath_status apply(const void *data, ath_run *run, ath_text *text) {
  (void)run;
  const strip *self = data;
  size_t from = 0, to = text->length;
  while (self->left && from < to && ath_is_white_space(ath_character_at(text->bytes, from)))
    from += ath_character_length(text->bytes[from]);
  while (self->right && to > from && ath_is_white_space(ath_character_before(text->bytes, to)))
    do to--;
    while (((uint8_t)text->bytes[to] & 0xC0) == 0x80);
  assert(from <= to);
  if (from > 0 || to < text->length) *text = ath_text_slice(text, from, to);
  return ATH_OK;
}

const ath_normalizer_kind ath_normalizer_strip = {{"Strip", read, write}, apply, NULL, NULL};
