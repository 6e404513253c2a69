/* pattern.h: what a tokenizer.json looks for in a text: a string as it stands, or a regular
 * expression.
 *
 * {"String": "ab"}    {"Regex": "\\s+"} */
#ifndef ATHANOR_TOKENIZERS_PATTERN_H
#define ATHANOR_TOKENIZERS_PATTERN_H

#include "tokenizers/json.h"
#include "tokenizers/regex.h"
#include "tokenizers/scanners.h"

typedef struct ath_pattern {
  const char *text;
  size_t length;
  bool is_regex;
  const ath_scanner *scanner; /* for a regular expression that is known; */
  const ath_regex *regex;     /* for any other */
} ath_pattern;

/* Reads the member "pattern"; a bare string is taken as one, as some old files have it. */
ath_status ath_pattern_read(const ath_json *owner, ath_arena *arena, ath_pattern *out)
    ATH_MUST_CHECK;
void ath_pattern_write(const ath_pattern *self, ath_json_writer *out);

/* Goes through the matches in a text from left to right. They do not overlap, and an empty one
 * does not follow right after another match. */
typedef struct ath_finder {
  const ath_pattern *pattern;
  const char *bytes;
  size_t length;
  size_t at;       /* where the next search begins; past the text: nowhere */
  bool matched;    /* whether a match ended at `at` */
  double deadline; /* 0: not known yet */
  size_t searches;
} ath_finder;

ath_finder ath_finder_begin(const ath_pattern *pattern, const char *bytes, size_t length);
/* The next match; *found is false after the last one. ATH_INVALID for a regular expression that
 * takes more time than any sensible one does. */
ath_status ath_finder_next(ath_finder *self, bool *found, ath_match *out) ATH_MUST_CHECK;

#endif
