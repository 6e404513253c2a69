/* transfer.c: what several threads have moved so far. */
#include "hub/transfer.h"

#include <stdio.h>

#include "base/log.h"

void ath_hub_transfer_init(ath_hub_transfer *self, const char *verb, const char *id, bool quiet) {
  *self = (ath_hub_transfer){.quiet = quiet};
  pthread_mutex_init(&self->lock, NULL);
  snprintf(self->task, sizeof self->task, "%s %s", verb, id);
}

/* Under the lock: the sink of reports serves one thread at a time. */
static void tell(const ath_hub_transfer *self, bool finished) {
  if (self->quiet || self->total == 0) return;
  ath_log_progress(&(ath_progress){.task = self->task, .done = self->done, .total = self->total,
                                   .unit = "bytes", .finished = finished});
}

void ath_hub_transfer_add(ath_hub_transfer *self, int64_t bytes) {
  pthread_mutex_lock(&self->lock);
  self->done += (uint64_t)bytes; /* wraps round for a negative number, as it should */
  tell(self, false);
  pthread_mutex_unlock(&self->lock);
}

void ath_hub_transfer_finish(ath_hub_transfer *self) {
  tell(self, true);
  pthread_mutex_destroy(&self->lock);
}
