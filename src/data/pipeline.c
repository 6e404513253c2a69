/* pipeline.c: threads that take whatever step of a row of blocks is due.
 *
 *     number of a block:   written ≤ … < taken ≤ … < read
 *                           being written │ worked at, or waiting for their turn │ read, not taken
 */
#include "data/pipeline.h"

#include <assert.h>
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/outcome.h"

typedef struct slot {
  void *block;
  bool worked;
  ath_outcome outcome; /* of reading and working */
} slot;

typedef struct run {
  const ath_pipeline *steps;
  slot *slots;
  size_t count;
  pthread_mutex_t lock;
  pthread_cond_t change;
  uint64_t read, taken, written; /* how many blocks are; the block's number of the next step */
  bool reading, writing;
  bool ended; /* the last block has been read */
  bool over;  /* … or has been written, or a step has failed */
  ath_outcome outcome;
} run;

static slot *slot_of(run *self, uint64_t number) { return &self->slots[number % self->count]; }

/* Each of the three is called with the lock held, and lets go of it while the step takes place. */

static void write_next(run *self) {
  slot *next = slot_of(self, self->written);
  self->writing = true;
  pthread_mutex_unlock(&self->lock);
  ath_status status = ath_outcome_return(&next->outcome);
  if (status == ATH_OK) status = self->steps->write(self->steps->context, next->block);
  ath_outcome_keep(&self->outcome, status);
  pthread_mutex_lock(&self->lock);
  self->writing = next->worked = false;
  self->written++;
  self->over = status != ATH_OK || (self->ended && self->written == self->read);
}

static void read_next(run *self) {
  slot *next = slot_of(self, self->read);
  bool ended = false;
  assert(!next->worked && !self->ended);
  self->reading = true;
  pthread_mutex_unlock(&self->lock);
  ath_status status = self->steps->read(self->steps->context, next->block, &ended);
  ath_outcome_keep(&next->outcome, status);
  pthread_mutex_lock(&self->lock);
  self->reading = false;
  self->read++;
  self->ended = ended || status != ATH_OK;
}

static void work_at_next(run *self, int thread) {
  slot *next = slot_of(self, self->taken++);
  pthread_mutex_unlock(&self->lock);
  if (next->outcome.status == ATH_OK)
    ath_outcome_keep(&next->outcome,
                     self->steps->work(self->steps->context, next->block, thread));
  pthread_mutex_lock(&self->lock);
  next->worked = true;
}

/* Reading comes before working, so that there is always something to be worked at. */
static void take_steps(run *self, int thread) {
  pthread_mutex_lock(&self->lock);
  while (!self->over) {
    assert(self->written <= self->taken && self->taken <= self->read);
    if (!self->writing && self->written < self->taken && slot_of(self, self->written)->worked)
      write_next(self);
    else if (!self->reading && !self->ended && self->read - self->written < self->count)
      read_next(self);
    else if (self->taken < self->read)
      work_at_next(self, thread);
    else {
      pthread_cond_wait(&self->change, &self->lock);
      continue;
    }
    pthread_cond_broadcast(&self->change);
  }
  pthread_mutex_unlock(&self->lock);
}

ath_status ath_pipeline_run(const ath_pipeline *steps, void *const *blocks, size_t count,
                            int threads) {
  assert(count >= 1 && threads >= 1);
  run self = {.steps = steps, .count = count, .slots = calloc(count, sizeof *self.slots)};
  if (self.slots == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu blocks", count);
  for (size_t i = 0; i < count; i++) self.slots[i].block = blocks[i];
  pthread_mutex_init(&self.lock, NULL);
  pthread_cond_init(&self.change, NULL);
#pragma omp parallel num_threads(threads)
  take_steps(&self, omp_get_thread_num());
  pthread_cond_destroy(&self.change);
  pthread_mutex_destroy(&self.lock);
  free(self.slots);
  return ath_outcome_return(&self.outcome);
}
