/* transfer.c: what several threads have moved so far. */
#include "storage/transfer.h"

#include <stdio.h>

#include "base/log.h"

void ath_transfer_init(ath_transfer *self, const char *verb, const char *id, bool quiet) {
  *self = (ath_transfer){.quiet = quiet};
  pthread_mutex_init(&self->lock, NULL);
  snprintf(self->task, sizeof self->task, "%s %s", verb, id);
}

/* Under the lock: the sink of reports serves one thread at a time. */
static void tell(const ath_transfer *self, bool finished) {
  if (self->quiet || self->total == 0) return;
  ath_log_progress(&(ath_progress){.task = self->task, .total = self->total,
                                   .done = self->done < self->total ? self->done : self->total,
                                   .unit = "bytes", .finished = finished});
}

void ath_transfer_add(ath_transfer *self, int64_t bytes) {
  pthread_mutex_lock(&self->lock);
  self->done += (uint64_t)bytes; /* wraps round for a negative number, as it should */
  tell(self, false);
  pthread_mutex_unlock(&self->lock);
}

/* Copying is called from so far away that handing it down would touch all that is between. */
static _Thread_local ath_transfer *attended;

void ath_transfer_attend(ath_transfer *self) { attended = self; }

ath_transfer *ath_transfer_attended(void) { return attended; }

void ath_transfer_moved(uint64_t bytes) {
  if (attended != NULL && bytes > 0) ath_transfer_add(attended, (int64_t)bytes);
}

void ath_transfer_finish(ath_transfer *self, bool whole) {
  if (whole) tell(self, true);
  pthread_mutex_destroy(&self->lock);
}
