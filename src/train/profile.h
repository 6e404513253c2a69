/* profile.h: which steps of a run are recorded for TensorBoard's profile tab, and where that goes:
 *
 *     output_dir/runs/plugins/profile/2026_11_30_17_05_09/HOST.xplane.pb
 *
 * beside the run's events, where TensorBoard (with its plugin tensorboard-plugin-profile) looks. */
#ifndef ATHANOR_TRAIN_PROFILE_H
#define ATHANOR_TRAIN_PROFILE_H

#include "athanor/train.h"

/* Steps are counted from 1, as in TensorBoard; both ends are recorded. */
typedef struct ath_run_profile {
  int64_t first, last; /* 0: no step */
  bool recording;
} ath_run_profile;

/* Reads "10:13", or "10" for one step; ATH_USAGE for any other text. */
ath_status ath_profile_steps_parse(const char *text, int64_t *first, int64_t *last)
    ATH_MUST_CHECK;
bool ath_profile_is_wanted(const ath_train_options *options);

/* Settles the steps of a run that has done `done` of `total`: those of profile_steps, or three
 * after the first five. None where they are behind it; ATH_USAGE where they are beyond its end. */
ath_status ath_profile_plan(const ath_train_options *options, int64_t done, int64_t total,
                            ath_run_profile *out) ATH_MUST_CHECK;
/* Whether all steps up to `done` must be over before the next is given to the device. */
bool ath_profile_is_border(const ath_run_profile *self, int64_t done);

/* Start the recording, or end it and write the file, if that is due after `done` steps; `over`: end
 * it in any case. Nothing must be running. Where the plugin fails the run goes on without. */
void ath_profile_start(ath_run_profile *self, ath_backend *backend, int64_t done);
void ath_profile_finish(ath_run_profile *self, ath_backend *backend, int64_t done, bool over,
                        const char *output_dir);

#endif
