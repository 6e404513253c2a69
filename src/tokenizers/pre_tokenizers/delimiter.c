/* delimiter.c: text cut at one character, which is dropped.
 *
 * {"type": "CharDelimiterSplit", "delimiter": ","} */
#include <string.h>

#include "tokenizers/pre_tokenizers/cutter.h"
#include "tokenizers/pre_tokenizers/kinds.h"

typedef struct delimiter {
  char bytes[5];
  size_t length;
} delimiter;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "delimiter", NULL};
  ath_json_check_keys(json, known);
  delimiter *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json member = ath_json_member(json, "delimiter");
  const char *bytes;
  ATH_TRY(ath_json_string(&member, &bytes, &self->length));
  if (self->length == 0 || self->length != ath_character_length(bytes[0]))
    return ath_json_fail(&member, ATH_INVALID, "expected one character, found \"%.40s\"", bytes);
  memcpy(self->bytes, bytes, self->length);
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const delimiter *self = data;
  ath_json_put_string(out, "delimiter", self->bytes, self->length);
}

static ath_status split(const void *data, ath_run *run, const ath_text *text, ath_sink next) {
  const delimiter *self = data;
  for (size_t from = 0; from < text->length;) {
    const char *found = memmem(text->bytes + from, text->length - from, self->bytes, self->length);
    size_t to = found != NULL ? (size_t)(found - text->bytes) : text->length;
    ath_text word = ath_text_slice(text, from, to);
    if (from < to) ATH_TRY(next.take(next.context, run, &word));
    from = to + self->length;
  }
  return ATH_OK;
}

const ath_pre_tokenizer_kind ath_pre_tokenizer_delimiter = {
    {"CharDelimiterSplit", read, write}, split, ath_needs_no_origins, NULL};
