/* pattern.c: finding strings and regular expressions. */
#include "tokenizers/pattern.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "tokenizers/pipeline.h"

/* --- tokenizer.json ------------------------------------------------------------------------ */

static ath_status read_text(const ath_json *json, ath_arena *arena, ath_pattern *out) {
  const char *bytes;
  ATH_TRY(ath_json_string(json, &bytes, &out->length));
  out->text = ath_arena_string_n(arena, bytes, out->length);
  return out->text != NULL ? ATH_OK : ATH_NO_MEMORY;
}

static ath_status read_regex(const ath_json *json, ath_arena *arena, ath_pattern *out) {
  ATH_TRY(read_text(json, arena, out));
  out->is_regex = true;
  out->scanner = ath_scanner_find(out->text, out->length);
  if (out->scanner != NULL) return ATH_OK;
  ath_status status = ath_regex_compile(out->text, out->length, arena, &out->regex);
  return status == ATH_OK ? ATH_OK : ath_json_fail(json, status, "%s", ath_error_text());
}

ath_status ath_pattern_read(const ath_json *owner, ath_arena *arena, ath_pattern *out) {
  *out = (ath_pattern){0};
  ath_json pattern = ath_json_member(owner, "pattern");
  if (json_is_string(pattern.value)) return read_text(&pattern, arena, out);
  ATH_TRY(ath_json_object(&pattern));
  ath_json regex = ath_json_member(&pattern, "Regex");
  if (regex.value != NULL) return read_regex(&regex, arena, out);
  ath_json string = ath_json_member(&pattern, "String");
  return read_text(&string, arena, out);
}

void ath_pattern_write(const ath_pattern *self, ath_json_writer *out) {
  ath_json_open(out, "pattern", '{');
  ath_json_put_string(out, self->is_regex ? "Regex" : "String", self->text, self->length);
  ath_json_close(out, '}');
}

/* --- finding ------------------------------------------------------------------------------- */

/* What a regular expression may take: far more than any that is meant for this, far less than one
 * that goes over the rest of the text at every byte. */
static const double SECONDS = 10, SECONDS_PER_BYTE = 2e-5;
enum { SEARCHES_BETWEEN_LOOKS = 8 }; /* at the clock, which short texts need not */

ath_finder ath_finder_begin(const ath_pattern *pattern, const char *bytes, size_t length) {
  return (ath_finder){.pattern = pattern, .bytes = bytes, .length = length};
}

/* The string's first byte is rare as a rule, so memchr gets on fastest; where it is not, memmem
 * bounds the time. */
static const char *find_string(const ath_pattern *self, const char *from, const char *end) {
  enum { CANDIDATES = 16 };
  for (int i = 0; i < CANDIDATES; i++) {
    from = memchr(from, self->text[0], (size_t)(end - from));
    if (from == NULL || (size_t)(end - from) < self->length) return NULL;
    if (memcmp(from, self->text, self->length) == 0) return from;
    from++;
  }
  return memmem(from, (size_t)(end - from), self->text, self->length);
}

static bool next_string(ath_finder *self, ath_match *out) {
  const ath_pattern *pattern = self->pattern;
  const char *match = self->bytes + self->at;
  if (pattern->length > 0) match = find_string(pattern, match, self->bytes + self->length);
  if (match == NULL) return false;
  out->start = (size_t)(match - self->bytes);
  out->end = out->start + pattern->length;
  return true;
}

static bool next_scanned(ath_finder *self, ath_match *out) {
  const ath_scanner *scanner = self->pattern->scanner;
  out->start = self->at;
  out->end = scanner->scan(scanner, self->bytes, self->length, &out->start);
  assert(out->end == 0 || (out->end > out->start && out->end <= self->length));
  return out->end > 0;
}

static ath_status check_time(ath_finder *self) {
  if (++self->searches % SEARCHES_BETWEEN_LOOKS != 0) return ATH_OK;
  double now = seconds_now();
  if (self->deadline == 0)
    self->deadline = now + SECONDS + SECONDS_PER_BYTE * (double)self->length;
  if (now <= self->deadline) return ATH_OK;
  return ath_fail(ATH_INVALID, "the tokenizer's regular expression takes too long: byte %zu of %zu "
                  "is all it came to; it goes back and forth in the text", self->at, self->length);
}

static ath_status next_regex(ath_finder *self, bool *found, ath_match *out) {
  ATH_TRY(check_time(self));
  return ath_regex_search(self->pattern->regex, self->bytes, self->length, self->at, found, out);
}

static ath_status find_next(ath_finder *self, bool *found, ath_match *out) {
  *found = false;
  if (self->at > self->length) return ATH_OK;
  if (self->pattern->regex != NULL) return next_regex(self, found, out);
  *found = self->pattern->scanner != NULL ? next_scanned(self, out) : next_string(self, out);
  return ATH_OK;
}

ath_status ath_finder_next(ath_finder *self, bool *found, ath_match *out) {
  ATH_TRY(find_next(self, found, out));
  if (*found && out->start == out->end && self->matched && out->end == self->at) {
    size_t step = self->at < self->length ? ath_character_length(self->bytes[self->at]) : 1;
    self->at += step;
    self->matched = false;
    ATH_TRY(find_next(self, found, out));
  }
  if (*found) {
    self->at = out->end;
    self->matched = true;
  }
  return ATH_OK;
}
