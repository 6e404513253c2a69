/* gathering.h: processes that a launcher started, and that wait for one another. A process alone is
 * a gathering of one, in which nothing is waited for. */
#ifndef ATHANOR_DATA_GATHERING_H
#define ATHANOR_DATA_GATHERING_H

#include <stdbool.h>

#include "backends/processes.h"

typedef struct ath_gathering {
  ath_store *store; /* NULL: one process */
  int rank, size;
  int meetings;     /* so far */
} ath_gathering;

/* Joins the others, if `launched`. */
ath_status ath_gathering_open(bool launched, ath_gathering *out) ATH_MUST_CHECK;
void ath_gathering_close(ath_gathering *self);

/* Waits until all have come here. A failure that one brings becomes that of all: its own for who
 * has one, for the others that of the first process that has. */
ath_status ath_gathering_meet(ath_gathering *self, ath_status status) ATH_MUST_CHECK;

#endif
