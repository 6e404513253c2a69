/* pipeline.h: blocks that are read one after another, worked at by many threads, and written in the
 * order in which they were read.
 *
 * No thread has a role: each takes whatever step is due, writing before reading before working, so
 * that none waits while there is something to do. Reading and writing are each done by one thread
 * at a time. What is written does not depend on the number of threads. */
#ifndef ATHANOR_DATA_PIPELINE_H
#define ATHANOR_DATA_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "athanor/status.h"

typedef struct ath_pipeline {
  /* Fills the block; *ended says that it is the last, which may be an empty one. */
  ath_status (*read)(void *context, void *block, bool *ended);
  /* `thread` is below the number of threads: for memory that each has for itself. */
  ath_status (*work)(void *context, void *block, int thread);
  ath_status (*write)(void *context, void *block);
  void *context;
} ath_pipeline;

/* How many blocks keep so many threads busy. One thread needs but one. */
static inline size_t ath_pipeline_blocks(int threads) {
  return threads > 1 ? 2 * (size_t)threads : 1;
}

/* Uses the blocks in turn until the last is written, or until a step fails: then the failure is
 * that of the first block that has one, and all blocks before it have been written. */
ath_status ath_pipeline_run(const ath_pipeline *steps, void *const *blocks, size_t count,
                            int threads) ATH_MUST_CHECK;

#endif
