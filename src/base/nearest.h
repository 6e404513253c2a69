/* nearest.h: "did you mean …?" */
#ifndef ATHANOR_BASE_NEAREST_H
#define ATHANOR_BASE_NEAREST_H

#include <stddef.h>

/* The candidate closest to `word` by edit distance (Levenshtein 1966, with neighbouring letters
 * swapped as one edit); NULL when none is close enough to be a likely slip. */
const char *ath_nearest(const char *word, const char *const *candidates, size_t count);

#endif
