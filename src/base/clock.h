/* clock.h: seconds that only go forward, and those that this process spent on processors. */
#ifndef ATHANOR_BASE_CLOCK_H
#define ATHANOR_BASE_CLOCK_H

#include <time.h>

static inline double seconds_of_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline double seconds_now(void) { return seconds_of_clock(CLOCK_MONOTONIC); }

/* Of all threads together. */
static inline double processor_seconds_now(void) {
  return seconds_of_clock(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
