/* points.h: the batch sizes of a slice that were compiled, and those that are asked for. */
#ifndef ATHANOR_PLAN_POINTS_H
#define ATHANOR_PLAN_POINTS_H

#include "athanor/plan.h"

enum { ATH_BATCH_SIZES_MAX = 64 };
/* The run's own batch, those asked for, and what the search for the largest compiles. */
enum { ATH_POINTS_MAX = ATH_BATCH_SIZES_MAX + 32 };

/* Reads "8,16,32"; NULL is none. ATH_USAGE for other text, numbers out of range, or too many. */
ath_status ath_batch_sizes_parse(const char *text, int64_t out[ATH_BATCH_SIZES_MAX], int *count)
    ATH_MUST_CHECK;

/* NULL: this batch has not been compiled. */
const ath_plan_point *ath_points_find(const ath_plan_report *self, int64_t batch);
/* Adds a batch that is not there yet, in the order of the batches; there is room for
 * ATH_POINTS_MAX. */
void ath_points_add(ath_plan_report *self, ath_plan_point point);

#endif
