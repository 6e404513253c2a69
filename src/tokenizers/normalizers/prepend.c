/* prepend.c: a string put in front of every text that is not empty. It counts as coming from the
 * text's first character.
 *
 * {"type": "Prepend", "prepend": "▁"} */
#include "tokenizers/normalizers/kinds.h"
#include "tokenizers/normalizers/rewrite.h"

typedef struct prepend {
  const char *bytes;
  size_t length;
} prepend;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "prepend", NULL};
  ath_json_check_keys(json, known);
  prepend *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json string = ath_json_member(json, "prepend");
  ATH_TRY(ath_json_string(&string, &self->bytes, &self->length));
  self->bytes = ath_arena_string_n(arena, self->bytes, self->length);
  if (self->bytes == NULL) return ATH_NO_MEMORY;
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const prepend *self = data;
  ath_json_put_string(out, "prepend", self->bytes, self->length);
}

static ath_status apply(const void *data, ath_run *run, ath_text *text) {
  const prepend *self = data;
  if (text->length == 0 || self->length == 0) return ATH_OK;
  ath_rewrite out = ath_rewrite_begin(run, text);
  ATH_TRY(ath_rewrite_put(&out, 0, 0, self->bytes, self->length, ath_text_origin(text, 0)));
  return ath_rewrite_end(&out, text);
}

const ath_normalizer_kind ath_normalizer_prepend = {{"Prepend", read, write}, apply, NULL, NULL};
