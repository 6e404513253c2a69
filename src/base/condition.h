/* condition.h: waiting for another thread, up to a time of clock.h's. */
#ifndef ATHANOR_BASE_CONDITION_H
#define ATHANOR_BASE_CONDITION_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

/* A condition whose times are those of seconds_now; pthread_cond_destroy ends it. */
static inline void ath_condition_init(pthread_cond_t *out) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(out, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

/* Waits for a signal, with the lock held as for pthread_cond_wait, but not past `end`: then
 * false. */
static inline bool ath_condition_wait(pthread_cond_t *self, pthread_mutex_t *lock, double end) {
  time_t whole = (time_t)end;
  struct timespec at = {.tv_sec = whole, .tv_nsec = (long)(1e9 * (end - (double)whole))};
  return pthread_cond_timedwait(self, lock, &at) != ETIMEDOUT;
}

#endif
