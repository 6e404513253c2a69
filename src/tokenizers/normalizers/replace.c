/* replace.c: the normaliser that replaces each match of a pattern, from left to right.
 *
 * {"type": "Replace", "pattern": {"String": "``"}, "content": "\""} */
#include <string.h>

#include "tokenizers/normalizers/kinds.h"
#include "tokenizers/normalizers/rewrite.h"
#include "tokenizers/pattern.h"

typedef struct replace {
  ath_pattern pattern;
  const char *content;
  size_t content_length;
} replace;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "pattern", "content", NULL};
  ath_json_check_keys(json, known);
  ath_json content = ath_json_member(json, "content");
  replace *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ATH_TRY(ath_pattern_read(json, arena, &self->pattern));
  ATH_TRY(ath_json_string(&content, &self->content, &self->content_length));
  self->content = ath_arena_string_n(arena, self->content, self->content_length);
  if (self->content == NULL) return ATH_NO_MEMORY;
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const replace *self = data;
  ath_pattern_write(&self->pattern, out);
  ath_json_put_string(out, "content", self->content, self->content_length);
}

/* The content takes the place of the match's last character, as the reference has it: "``a"
 * becomes `"a` whose quote came from the second back-tick. Where the match is empty, that is the
 * character before it; the text's beginning comes from nowhere. */
static ath_origin origin_of(const ath_run *run, const ath_text *text, const ath_match *match) {
  if (!run->track || match->end == 0) return (ath_origin){0, 0};
  return ath_text_origin(text, match->end - 1);
}

/* Most texts hold no match, and cost no more than the search. */
static ath_status apply(const void *data, ath_run *run, ath_text *text) {
  const replace *self = data;
  assert(text->bytes != NULL);
  if (text->length == 0) return ATH_OK;
  ath_rewrite out = ath_rewrite_begin(run, text);
  ath_finder finder = ath_finder_begin(&self->pattern, text->bytes, text->length);
  for (;;) {
    ath_match match;
    bool found;
    ATH_TRY(ath_finder_next(&finder, &found, &match));
    if (!found) return ath_rewrite_end(&out, text);
    assert(match.end <= text->length);
    ATH_TRY(ath_rewrite_put(&out, match.start, match.end, self->content, self->content_length,
                            origin_of(run, text, &match)));
  }
}

/* A string that does not hold the character is found on one side of it or the other. */
static ath_keeping keeps(const void *data, uint8_t character) {
  const replace *self = data;
  if (self->pattern.is_regex || self->pattern.length == 0) return ATH_KEEPS_NOTHING;
  bool holds = memchr(self->pattern.text, character, self->pattern.length) != NULL;
  return holds ? ATH_KEEPS_NOTHING : ATH_KEEPS_APART;
}

const ath_normalizer_kind ath_normalizer_replace = {{"Replace", read, write}, apply, keeps, NULL};
