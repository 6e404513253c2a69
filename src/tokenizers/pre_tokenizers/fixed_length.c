/* fixed_length.c: text cut in words of so many characters, the last one shorter.
 *
 * {"type": "FixedLength", "length": 5} */
#include "tokenizers/pre_tokenizers/cutter.h"
#include "tokenizers/pre_tokenizers/kinds.h"

typedef struct fixed_length {
  int64_t length;
} fixed_length;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "length", NULL};
  ath_json_check_keys(json, known);
  fixed_length *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json length = ath_json_member(json, "length");
  self->length = 5;
  if (length.value != NULL) ATH_TRY(ath_json_integer(&length, 1, INT64_MAX, &self->length));
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  ath_json_put_integer(out, "length", ((const fixed_length *)data)->length);
}

static ath_status split(const void *data, ath_run *run, const ath_text *text, ath_sink next) {
  const fixed_length *self = data;
  assert(self->length > 0);
  for (size_t from = 0, at = 0; from < text->length; from = at) {
    for (int64_t i = 0; i < self->length && at < text->length; i++)
      at += ath_character_length(text->bytes[at]);
    ath_text word = ath_text_slice(text, from, at);
    ATH_TRY(next.take(next.context, run, &word));
  }
  return ATH_OK;
}

const ath_pre_tokenizer_kind ath_pre_tokenizer_fixed_length = {
    {"FixedLength", read, write}, split, ath_needs_no_origins, NULL};
