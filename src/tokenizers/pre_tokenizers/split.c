/* split.c: text cut at the matches of a pattern.
 *
 * {"type": "Split", "pattern": {"Regex": "\\d+"}, "behavior": "Isolated", "invert": false}
 *
 * `invert` takes what lies between the matches for matches, and those for what lies between. */
#include "tokenizers/pattern.h"
#include "tokenizers/pre_tokenizers/cutter.h"
#include "tokenizers/pre_tokenizers/kinds.h"

typedef struct split_data {
  ath_pattern pattern;
  ath_behavior behavior;
  bool invert;
} split_data;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "pattern", "behavior", "invert", NULL};
  ath_json_check_keys(json, known);
  split_data *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ATH_TRY(ath_pattern_read(json, arena, &self->pattern));
  ath_json behavior = ath_json_member(json, "behavior");
  ath_json invert = ath_json_member(json, "invert");
  ATH_TRY(ath_behavior_read(&behavior, &self->behavior));
  if (!ath_json_absent(&invert)) ATH_TRY(ath_json_flag(&invert, &self->invert));
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const split_data *self = data;
  ath_pattern_write(&self->pattern, out);
  ath_behavior_write(self->behavior, "behavior", out);
  ath_json_put_flag(out, "invert", self->invert);
}

static ath_status put(ath_words *words, size_t from, size_t to, ath_run *run, ath_sink next) {
  if (from == to) return ATH_OK;
  words->places[words->count++] = (ath_origin){(uint32_t)from, (uint32_t)to};
  if (words->count < ATH_WORDS_MAX) return ATH_OK;
  ATH_TRY(ath_sink_take_words(next, run, words));
  words->count = 0;
  return ATH_OK;
}

/* Matches that a scanner finds, which are never empty, and what lies between them, each a word. */
static ath_status split_at_once(const ath_scanner *scanner, ath_run *run, const ath_text *text,
                                ath_sink next) {
  ath_words words;
  words.text = text;
  words.count = 0;
  for (size_t from = 0, start, end; from < text->length; from = end) {
    start = from;
    end = scanner->scan(scanner, text->bytes, text->length, &start);
    if (end == 0) end = start = text->length;
    assert(start >= from && end <= text->length);
    ATH_TRY(put(&words, from, start, run, next));
    ATH_TRY(put(&words, start, end, run, next));
  }
  return words.count > 0 ? ath_sink_take_words(next, run, &words) : ATH_OK;
}

/* An empty match is no word, but nothing grows across it. */
static ath_status split(const void *data, ath_run *run, const ath_text *text, ath_sink next) {
  const split_data *self = data;
  assert(text->length > 0);
  const ath_scanner *scanner = self->pattern.scanner;
  if (scanner != NULL && self->behavior == ATH_ISOLATED && next.take_words != NULL)
    return split_at_once(scanner, run, text, next);
  ath_cutter cutter = ath_cutter_begin(run, text, self->behavior, next);
  ath_finder finder = ath_finder_begin(&self->pattern, text->bytes, text->length);
  size_t from = 0;
  for (;;) {
    ath_match match;
    bool found;
    ATH_TRY(ath_finder_next(&finder, &found, &match));
    if (!found) break;
    assert(match.start >= from && match.end <= text->length);
    ATH_TRY(ath_cutter_add(&cutter, from, match.start, self->invert));
    if (match.start == match.end) ATH_TRY(ath_cutter_end(&cutter));
    else ATH_TRY(ath_cutter_add(&cutter, match.start, match.end, !self->invert));
    from = match.end;
  }
  ATH_TRY(ath_cutter_add(&cutter, from, text->length, self->invert));
  return ath_cutter_end(&cutter);
}

const ath_pre_tokenizer_kind ath_pre_tokenizer_split = {
    {"Split", read, write}, split, ath_needs_no_origins, NULL};
