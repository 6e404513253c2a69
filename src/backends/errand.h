/* errand.h: calls that may never come back, made by a thread of their own, one after the other.
 *
 * The caller waits for its call's end, but not longer than it says. A call that is over time keeps
 * the thread, and what it works on, for ever; those behind it fail at once. */
#ifndef ATHANOR_BACKENDS_ERRAND_H
#define ATHANOR_BACKENDS_ERRAND_H

#include <stdbool.h>

#include "athanor/status.h"

typedef struct ath_runner ath_runner;

ath_status ath_runner_create(ath_runner **out) ATH_MUST_CHECK;
/* Ends the thread, unless a call has kept it: then thread and runner are left to that call. */
void ath_runner_destroy(ath_runner *self);

/* Has the thread call `errand`. Callers may be several, and take their turns. False when the time
 * is up, that for the turn or that for the call: then `context` may still be in use, for ever. */
bool ath_runner_call(ath_runner *self, void (*errand)(void *context), void *context,
                     double seconds) ATH_MUST_CHECK;

#endif
