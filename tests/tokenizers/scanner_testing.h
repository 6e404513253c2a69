/* scanner_testing.h: a scanner's matches beside those that Oniguruma finds by the same pattern. */
#ifndef ATHANOR_SCANNER_TESTING_H
#define ATHANOR_SCANNER_TESTING_H

#include "testing.h"

#include "base/arena.h"
#include "tokenizers/pattern.h"

/* Every known expression, twice: as it is known, and for Oniguruma alone. */
typedef struct both_ways {
  ath_arena *arena;
  size_t count;
  ath_pattern scanned[32], compiled[32];
} both_ways;

static inline void open_both_ways(both_ways *self) {
  assert_ok(ath_arena_create((size_t)64 << 20, &self->arena));
  const ath_scanner *scanners = ath_scanners(&self->count);
  assert_in_range(self->count, 1, 32);
  for (size_t i = 0; i < self->count; i++) {
    const char *text = scanners[i].pattern;
    ath_pattern plain = {.text = text, .length = strlen(text), .is_regex = true};
    self->scanned[i] = self->compiled[i] = plain;
    self->scanned[i].scanner = ath_scanner_find(text, strlen(text));
    assert_ptr_equal(self->scanned[i].scanner, &scanners[i]);
    assert_ok(ath_regex_compile(text, strlen(text), self->arena, &self->compiled[i].regex));
  }
}

static inline void close_both_ways(both_ways *self) { ath_arena_destroy(self->arena); }

/* Fails, showing the place, where the two differ; gives the number of matches. */
static inline size_t assert_same_matches(const both_ways *self, size_t which, const char *text,
                                         size_t length) {
  ath_finder one = ath_finder_begin(&self->scanned[which], text, length);
  ath_finder two = ath_finder_begin(&self->compiled[which], text, length);
  for (size_t count = 0;; count++) {
    bool found, expected;
    ath_match match = {0, 0}, other = {0, 0};
    assert_ok(ath_finder_next(&one, &found, &match));
    assert_ok(ath_finder_next(&two, &expected, &other));
    if (found != expected || (found && (match.start != other.start || match.end != other.end)))
      fail_msg("%s: [%zu, %zu), expected [%zu, %zu) in \"%.*s\"", self->scanned[which].text,
               match.start, match.end, other.start, other.end, 100,
               text + (other.start < match.start ? other.start : match.start));
    if (!found) return count;
  }
}

#endif
