/* state_json.h: training/state.json of a checkpoint. */
#ifndef ATHANOR_TRAIN_STATE_JSON_H
#define ATHANOR_TRAIN_STATE_JSON_H

#include "train/run.h"

/* Writes the run's position and every setting and size that decides its result. */
ath_status ath_state_json_write(const ath_run *run, const char *path) ATH_MUST_CHECK;
/* What all processes of a run must have in common, as a JSON object: the same text wherever it is
 * the same. The caller frees it. */
ath_status ath_state_json_describe(const ath_run *run, char **out) ATH_MUST_CHECK;
/* ATH_MISMATCH naming where the description of the process differs from ours. */
ath_status ath_state_json_differ(const char *theirs, const char *ours, int process)
    ATH_MUST_CHECK;

/* Reads the position, after holding the settings and sizes against the run's: ATH_MISMATCH names
 * each that differs, with both values. */
ath_status ath_state_json_read(const ath_run *run, const char *path, ath_run_position *out)
    ATH_MUST_CHECK;

#endif
