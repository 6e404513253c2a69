/* search.h: the largest batch that fits. */
#ifndef ATHANOR_PLAN_SEARCH_H
#define ATHANOR_PLAN_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "athanor/status.h"

/* Asks `probe` whether batches fit, until the largest is known to a step of 8, or of 1 below 16; at
 * most 10 times, so that it may be a little less than the largest in the end. `batch` is known to
 * fit or not; `guess` is near the answer. A batch that does not fit is refused by the compiler at
 * once, one that fits takes it a minute: the first probe is put just above the guess. *largest is 0
 * where not even one fits. */
ath_status ath_search_largest(ath_status (*probe)(void *user, int64_t batch, bool *fits),
                              void *user, int64_t batch, bool fits, int64_t guess,
                              int64_t *largest) ATH_MUST_CHECK;

#endif
