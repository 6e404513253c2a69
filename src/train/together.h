/* together.h: a run by several processes, and a run by one as the case in which there is nothing to
 * agree on. */
#ifndef ATHANOR_TRAIN_TOGETHER_H
#define ATHANOR_TRAIN_TOGETHER_H

#include "train/run.h"

/* Opens the device if the run may be one of several processes: then it has a store, where a
 * launcher started them, and knows its place. */
ath_status ath_run_join(ath_run *self) ATH_MUST_CHECK;
/* Of each batch what this process has to read. */
ath_share ath_run_share(const ath_run *self);

/* ATH_MISMATCH, with the settings that differ, in all processes, if one was started otherwise. */
ath_status ath_run_compare(ath_run *self) ATH_MUST_CHECK;

/* Process 0's value for all; when its status is a failure, the others fail too. */
ath_status ath_run_agree(ath_run *self, ath_status status, int64_t *value) ATH_MUST_CHECK;
ath_status ath_run_agree_number(ath_run *self, double *value) ATH_MUST_CHECK;

/* Tells the others of the step that was just started, and hears of the step that is read: tokens of
 * all, whether any was asked to stop, how long the first one took so far. */
ath_status ath_run_tell_step(ath_run *self, const ath_run_flight *flight) ATH_MUST_CHECK;
ath_status ath_run_hear_step(ath_run *self, ath_run_flight *flight) ATH_MUST_CHECK;

/* The run's end, good or bad, as this process returns it. A failure that not all came to by
 * themselves ends all of them. */
ath_status ath_run_part(ath_run *self, ath_status status) ATH_MUST_CHECK;

#endif
