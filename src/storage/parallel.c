/* parallel.c: several jobs at once. */
#include "storage/parallel.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/outcome.h"
#include "storage/transfer.h"

typedef struct jobs {
  pthread_mutex_t lock;
  size_t next, count;
  ath_status (*job)(void *context, size_t index);
  void *context;
  ath_transfer *transfer; /* of who asked for the jobs */
  ath_outcome outcome;
} jobs;

static bool take(jobs *self, size_t *index) {
  pthread_mutex_lock(&self->lock);
  bool more = self->next < self->count && self->outcome.status == ATH_OK;
  if (more) *index = self->next++;
  pthread_mutex_unlock(&self->lock);
  return more;
}

static void *work(void *context) {
  jobs *self = context;
  size_t index;
  ath_transfer_attend(self->transfer);
  while (take(self, &index)) {
    ath_status status = self->job(self->context, index);
    if (status == ATH_OK) continue;
    pthread_mutex_lock(&self->lock);
    if (self->outcome.status == ATH_OK) ath_outcome_keep(&self->outcome, status);
    pthread_mutex_unlock(&self->lock);
  }
  return NULL;
}

ath_status ath_parallel(size_t count, int threads, ath_status (*job)(void *context, size_t index),
                        void *context) {
  jobs self = {.lock = PTHREAD_MUTEX_INITIALIZER, .count = count, .job = job, .context = context,
               .transfer = ath_transfer_attended()};
  pthread_t others[ATH_PARALLEL_MAX];
  int started = 0;
  if ((size_t)threads > count) threads = (int)count;
  if (threads > ATH_PARALLEL_MAX) threads = ATH_PARALLEL_MAX;
  while (started < threads - 1 && pthread_create(&others[started], NULL, work, &self) == 0)
    started++;
  work(&self); /* also where no thread could be started */
  for (int i = 0; i < started; i++) pthread_join(others[i], NULL);
  pthread_mutex_destroy(&self.lock);
  return ath_outcome_return(&self.outcome);
}
