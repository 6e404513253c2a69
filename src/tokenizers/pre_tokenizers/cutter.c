/* cutter.c: the behaviours of a pattern's matches. */
#include "tokenizers/pre_tokenizers/cutter.h"

#include <string.h>

#include "tokenizers/characters.h"

static const char *const names[ATH_BEHAVIOR_COUNT] = {
  "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous",
};

ath_status ath_behavior_read(const ath_json *json, ath_behavior *out) {
  const char *name;
  size_t length;
  ATH_TRY(ath_json_string(json, &name, &length));
  int b = 0;
  while (b < ATH_BEHAVIOR_COUNT && strcmp(name, names[b]) != 0) b++;
  if (b == ATH_BEHAVIOR_COUNT)
    return ath_json_fail(json, ATH_INVALID, "\"%.40s\" is not one of Removed, Isolated, "
                         "MergedWithPrevious, MergedWithNext, Contiguous", name);
  *out = (ath_behavior)b;
  return ATH_OK;
}

void ath_behavior_write(ath_behavior self, const char *key, ath_json_writer *out) {
  assert(self >= 0 && self < ATH_BEHAVIOR_COUNT);
  ath_json_put_text(out, key, names[self]);
}

ath_cutter ath_cutter_begin(ath_run *run, const ath_text *text, ath_behavior behavior,
                            ath_sink next) {
  assert(text->length > 0);
  return (ath_cutter){.run = run, .text = text, .next = next, .behavior = behavior};
}

static ath_status give(ath_cutter *self, size_t from, size_t to) {
  ath_text word = ath_text_slice(self->text, from, to);
  return self->next.take(self->next.context, self->run, &word);
}

/* Hands over the word that could have grown. */
static ath_status close(ath_cutter *self) {
  if (self->start == self->end) return ATH_OK;
  size_t from = self->start;
  self->start = self->end;
  return give(self, from, self->end);
}

/* Whether a part joins the word before it. Two matches never merge, but where all of a kind do. */
static bool joins(const ath_cutter *self, bool match) {
  if (self->start == self->end) return false;
  switch (self->behavior) {
    case ATH_MERGED_WITH_PREVIOUS: return match && !self->matched;
    case ATH_MERGED_WITH_NEXT: return !match && self->matched;
    case ATH_CONTIGUOUS: return match == self->matched;
    default: return false;
  }
}

/* Whether a part may still be joined by the one after it. */
static bool waits(const ath_cutter *self, bool match) {
  switch (self->behavior) {
    case ATH_MERGED_WITH_PREVIOUS: return !match;
    case ATH_MERGED_WITH_NEXT: return match;
    case ATH_CONTIGUOUS: return true;
    default: return false;
  }
}

ath_status ath_cutter_add(ath_cutter *self, size_t from, size_t to, bool match) {
  assert(from <= to && to <= self->text->length);
  if (from == to || (match && self->behavior == ATH_REMOVED)) return ATH_OK;
  if (joins(self, match)) {
    assert(self->end == from);
    self->end = to;
    return self->behavior == ATH_CONTIGUOUS ? ATH_OK : close(self);
  }
  ATH_TRY(close(self));
  if (!waits(self, match)) return give(self, from, to);
  self->start = from;
  self->end = to;
  self->matched = match;
  return ATH_OK;
}

ath_status ath_cutter_end(ath_cutter *self) { return close(self); }

/* Letters of ASCII match nothing that characters are cut at, and need no look-up. */
static bool is_match(bool (*matches)(uint32_t character), const char *bytes, size_t at) {
  uint8_t letter = (uint8_t)((bytes[at] | 0x20) - 'a');
  return (letter > 'z' - 'a' || (uint8_t)bytes[at] >= 0x80) && matches(ath_character_at(bytes, at));
}

ath_status ath_cut_at(bool (*matches)(uint32_t character), ath_behavior behavior, ath_run *run,
                      const ath_text *text, ath_sink next) {
  ath_cutter cutter = ath_cutter_begin(run, text, behavior, next);
  size_t from = 0;
  for (size_t at = 0; at < text->length;) {
    size_t length = ath_character_length(text->bytes[at]);
    if (is_match(matches, text->bytes, at)) {
      ATH_TRY(ath_cutter_add(&cutter, from, at, false));
      ATH_TRY(ath_cutter_add(&cutter, at, at + length, true));
      from = at + length;
    }
    at += length;
  }
  ATH_TRY(ath_cutter_add(&cutter, from, text->length, false));
  return ath_cutter_end(&cutter);
}

bool ath_needs_no_origins(const void *data) {
  (void)data;
  return false;
}
