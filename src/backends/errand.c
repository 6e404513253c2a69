/* errand.c: a thread for calls that may never come back. */
#include "backends/errand.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/condition.h"

struct ath_runner {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t change;
  bool taken; /* by a caller, until its call is over */
  bool stuck; /* a call is over time */
  bool ending;
  void (*errand)(void *context); /* NULL: there is nothing to do */
  void *context;
};

static void *run(void *argument) {
  ath_runner *self = argument;
  pthread_mutex_lock(&self->lock);
  for (;;) {
    while (self->errand == NULL && !self->ending) pthread_cond_wait(&self->change, &self->lock);
    if (self->errand == NULL) break;
    pthread_mutex_unlock(&self->lock);
    self->errand(self->context);
    pthread_mutex_lock(&self->lock);
    self->errand = NULL;
    pthread_cond_broadcast(&self->change);
  }
  pthread_mutex_unlock(&self->lock);
  return NULL;
}

static void free_runner(ath_runner *self) {
  pthread_cond_destroy(&self->change);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

ath_status ath_runner_create(ath_runner **out) {
  ath_runner *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a thread");
  pthread_mutex_init(&self->lock, NULL);
  ath_condition_init(&self->change);
  int error = pthread_create(&self->thread, NULL, run, self);
  if (error != 0) {
    free_runner(self);
    return ath_fail_errno(error, "cannot start a thread");
  }
  *out = self;
  return ATH_OK;
}

void ath_runner_destroy(ath_runner *self) {
  if (self == NULL) return;
  pthread_mutex_lock(&self->lock);
  bool stuck = self->stuck;
  self->ending = true;
  pthread_cond_broadcast(&self->change);
  pthread_mutex_unlock(&self->lock);
  if (stuck) {
    pthread_detach(self->thread);
    return;
  }
  pthread_join(self->thread, NULL);
  free_runner(self);
}

static bool wait_until(ath_runner *self, double end) {
  return ath_condition_wait(&self->change, &self->lock, end);
}

bool ath_runner_call(ath_runner *self, void (*errand)(void *context), void *context,
                     double seconds) {
  double end = seconds_now() + seconds;
  bool in_time = true;
  pthread_mutex_lock(&self->lock);
  while (self->taken && !self->stuck && in_time) in_time = wait_until(self, end);
  if (self->taken) {
    pthread_mutex_unlock(&self->lock);
    return false;
  }
  self->taken = true;
  self->errand = errand;
  self->context = context;
  pthread_cond_broadcast(&self->change);
  end = seconds_now() + seconds;
  in_time = true;
  while (self->errand != NULL && in_time) in_time = wait_until(self, end);
  bool done = self->errand == NULL;
  self->taken = self->stuck = !done;
  pthread_cond_broadcast(&self->change);
  pthread_mutex_unlock(&self->lock);
  return done;
}
