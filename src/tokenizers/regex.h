/* regex.h: regular expressions by Oniguruma, in its own syntax on UTF-8, which is what the
 * reference library uses. Letters, numbers, marks and Han are those of Unicode 16 whatever the
 * installed version knows; its other properties, \w, \d and the cases are as old as it is.
 *
 * The library is loaded when the first expression is compiled: most tokenizers need none. */
#ifndef ATHANOR_TOKENIZERS_REGEX_H
#define ATHANOR_TOKENIZERS_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "athanor/status.h"
#include "base/arena.h"

typedef struct ath_regex ath_regex;

typedef struct ath_match { /* bytes [start, end), which begins and ends between characters */
  size_t start, end;
} ath_match;

/* Compiles an expression, well-formed UTF-8; it lives as long as the arena. ATH_INVALID, with
 * Oniguruma's message, for one that has no meaning or more than 63 groups; ATH_UNSUPPORTED where
 * the library is missing. Any thread may call, and use what it gives. */
ath_status ath_regex_compile(const char *pattern, size_t length, ath_arena *arena,
                             const ath_regex **out) ATH_MUST_CHECK;

/* Finds the first match at or after byte `from`; looking back may see the bytes before. ATH_INVALID
 * when the expression backtracks without bound on this text. */
ath_status ath_regex_search(const ath_regex *self, const char *bytes, size_t length, size_t from,
                            bool *found, ath_match *out) ATH_MUST_CHECK;

#endif
