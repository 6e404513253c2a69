/* events.h: TensorBoard's event files: TFRecords of tensorflow.Event messages (tensorflow/core/
 * util/event.proto). The first event is the file version "brain.Event:2".
 *
 * Example
 *
 *     ath_status log_loss(const char *folder, float loss) {
 *       ath_events *events = NULL;
 *       ATH_TRY(ath_events_create(folder, 0, &events));
 *       ath_status status = ath_events_scalar(events, 1, "train/loss", loss);
 *       ath_status closed = ath_events_close(events);
 *       return status != ATH_OK ? status : closed;
 *     }
 */
#ifndef ATHANOR_EVENTS_H
#define ATHANOR_EVENTS_H

#include <stdint.h>

#include "athanor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One open file. It belongs to one thread at a time. Failures name the file: ATH_DENIED,
 * ATH_NO_SPACE, ATH_IO; ATH_INVALID where a file is in the folder's place. */
typedef struct ath_events ath_events;

/* Starts a new file "events.out.tfevents.<seconds>.<host>.<pid>.<n>" in a folder, which is made;
 * it sorts behind the files already there. `resume_step` is how many steps are done (0 for a new
 * run): a SessionLog START event makes TensorBoard drop what an interrupted run wrote at later
 * steps. A scalar of step s describes the s-th step, counted from 1. */
ath_status ath_events_create(const char *folder, int64_t resume_step, ath_events **out)
    ATH_MUST_CHECK;
/* Adds one scalar, at the current time; NaN and infinity are kept. `tag` ("train/loss") has 1 to
 * 65,000 bytes. The scalar is in the file when the call returns, so a killed process loses
 * nothing; every few seconds a call flushes to disk too. After a failure the file ends with the
 * last whole event, and the next call may succeed. */
ath_status ath_events_scalar(ath_events *self, int64_t step, const char *tag, float value)
    ATH_MUST_CHECK;
/* Flushes to disk. */
ath_status ath_events_flush(ath_events *self) ATH_MUST_CHECK;
/* Flushes and destroys, whether it succeeds or not; NULL is allowed. */
ath_status ath_events_close(ath_events *self) ATH_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
