/* replace.c: the normaliser that replaces each occurrence of a literal string, from left to
 * right, without overlap.
 *
 * {"type": "Replace", "pattern": {"String": "``"}, "content": "\""} */
#include <string.h>

#include "tokenizers/normalizers/kinds.h"
#include "tokenizers/normalizers/rewrite.h"

typedef struct replace {
  const char *pattern, *content;
  size_t pattern_length, content_length;
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
  ath_json string = ath_json_member(&pattern, "String");
  ath_json content = ath_json_member(json, "content");
  replace *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ATH_TRY(ath_json_string(&string, &self->pattern, &self->pattern_length));
  ATH_TRY(ath_json_string(&content, &self->content, &self->content_length));
  if (self->pattern_length == 0)
    return ath_json_fail(&string, ATH_INVALID, "the pattern is empty");
  self->pattern = ath_arena_string_n(arena, self->pattern, self->pattern_length);
  self->content = ath_arena_string_n(arena, self->content, self->content_length);
  if (self->pattern == NULL || self->content == NULL) return ATH_NO_MEMORY;
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const replace *self = data;
  ath_json_open(out, "pattern", '{');
  ath_json_put_string(out, "String", self->pattern, self->pattern_length);
  ath_json_close(out, '}');
  ath_json_put_string(out, "content", self->content, self->content_length);
}

/* Most texts hold no match, and cost no more than this search. The pattern's first byte is rare as
 * a rule, so memchr gets on fastest; where it is not, memmem bounds the time. */
static const char *find(const replace *self, const char *from, const char *end) {
  enum { CANDIDATES = 16 };
  for (int i = 0; i < CANDIDATES; i++) {
    from = memchr(from, self->pattern[0], (size_t)(end - from));
    if (from == NULL || (size_t)(end - from) < self->pattern_length) return NULL;
    if (memcmp(from, self->pattern, self->pattern_length) == 0) return from;
    from++;
  }
  return memmem(from, (size_t)(end - from), self->pattern, self->pattern_length);
}

/* The content takes the place of the match's last character, as the reference has it: "``a"
 * becomes `"a` whose quote came from the second back-tick. */
static ath_status apply(const void *data, ath_run *run, ath_text *text) {
  const replace *self = data;
  assert(text->bytes != NULL && self->pattern_length > 0);
  const char *bytes = text->bytes, *end = bytes + text->length;
  ath_rewrite out = ath_rewrite_begin(run, text);
  for (const char *match = bytes; (match = find(self, match, end)) != NULL;) {
    size_t at = (size_t)(match - bytes), after = at + self->pattern_length;
    assert(after <= text->length);
    ATH_TRY(ath_rewrite_put(&out, at, after, self->content, self->content_length,
                            ath_text_origin(text, after - 1)));
    match += self->pattern_length;
  }
  return ath_rewrite_end(&out, text);
}

const ath_normalizer_kind ath_normalizer_replace = {{"Replace", read, write}, apply};
