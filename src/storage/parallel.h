/* parallel.h: several jobs at once that wait for disks and the network more than they compute. */
#ifndef ATHANOR_STORAGE_PARALLEL_H
#define ATHANOR_STORAGE_PARALLEL_H

#include <stddef.h>

#include "athanor/status.h"

enum { ATH_PARALLEL_MAX = 16 };

/* Calls job(context, 0), …, job(context, count − 1) from up to `threads` threads, this one
 * included. After a failure no further job begins; the first one's is returned. */
ath_status ath_parallel(size_t count, int threads, ath_status (*job)(void *context, size_t index),
                        void *context) ATH_MUST_CHECK;

#endif
