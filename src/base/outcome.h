/* outcome.h: a status together with its text, to be kept.
 *
 * Texts of failures belong to a thread and last until its next one. An outcome carries a failure
 * to another thread, or past work that may fail as well. */
#ifndef ATHANOR_BASE_OUTCOME_H
#define ATHANOR_BASE_OUTCOME_H

#include "athanor/status.h"

enum { ATH_ERROR_TEXT_MAX = 1024 }; /* bytes of a failure's text, its NUL included */

typedef struct ath_outcome {
  ath_status status;
  char text[ATH_ERROR_TEXT_MAX]; /* of a failure; of a success it is not set */
} ath_outcome;

/* Keeps what a call of this thread has just returned. */
void ath_outcome_keep(ath_outcome *self, ath_status status);
/* Returns the status as if the call failed here and now: the text becomes this thread's. */
ath_status ath_outcome_return(const ath_outcome *self) ATH_MUST_CHECK;

#endif
