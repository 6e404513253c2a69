/* clock.h: seconds that only go forward. */
#ifndef ATHANOR_BASE_CLOCK_H
#define ATHANOR_BASE_CLOCK_H

#include <time.h>

static inline double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
