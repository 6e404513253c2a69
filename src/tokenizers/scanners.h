/* scanners.h: the regular expressions that most tokenizers cut text with, found by hand-made code
 * instead of a regex engine. Each gives exactly the matches of its expression, found one after
 * another from left to right; tests hold them against Oniguruma. */
#ifndef ATHANOR_TOKENIZERS_SCANNERS_H
#define ATHANOR_TOKENIZERS_SCANNERS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ath_scanner ath_scanner;

/* Where the match after byte `at` lies: moves *at to its start and gives its end, which is after
 * its start; 0 when there is none. `at` is 0 or the end of the match before. */
typedef size_t ath_scan(const ath_scanner *self, const char *bytes, size_t length, size_t *at);

struct ath_scanner {
  const char *pattern;
  ath_scan *scan;
  int digits;       /* most numbers in a match; 0: any */
  int contractions; /* enum contractions of scanners.c */
};

/* The scanner of an expression, spelt exactly like one of those known; NULL if it is none. */
const ath_scanner *ath_scanner_find(const char *pattern, size_t length);

/* All of them, for tests; *count is set. */
const ath_scanner *ath_scanners(size_t *count);

/* The end of the match of GPT-2's pattern at byte `at`, which is in the text: every character is
 * in a match. */
size_t ath_scan_gpt2(const char *bytes, size_t length, size_t at);
/* The end of the first match of a text that is this one with a space put in front; 0 when that
 * match is the space alone. */
size_t ath_scan_gpt2_spaced(const char *bytes, size_t length);

#endif
