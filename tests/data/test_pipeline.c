/* test_pipeline.c: blocks are written in the order in which they were read, each once, whatever
 * steps take long and whichever fail. */
#include "testing.h"

#include <unistd.h>

#include "data/pipeline.h"

enum { BLOCKS = 200, THREADS_MAX = 4, NEVER = BLOCKS + 1 };

/* Numbers 0 … BLOCKS − 1; working doubles them and writing sums them up. */
typedef struct job {
  int read, written;
  int fails_read, fails_work, fails_write; /* the block in which a step fails */
  int busy_reading, busy_writing;
  uint64_t seed;
} job;

typedef struct number {
  int value, doubled;
} number;

/* Up to a fifth of a millisecond, so that steps overtake one another. */
static void dawdle(uint64_t seed, int block) {
  uint64_t x = (seed + (uint64_t)block) * UINT64_C(0x9E3779B97F4A7C15);
  if ((x >> 60) < 8) usleep((useconds_t)(x >> 32) % 200);
}

static ath_status read_number(void *context, void *block, bool *ended) {
  job *self = context;
  assert_int_equal(__atomic_fetch_add(&self->busy_reading, 1, __ATOMIC_SEQ_CST), 0);
  number *out = block;
  *out = (number){.value = self->read++};
  dawdle(self->seed, out->value);
  *ended = self->read == BLOCKS;
  __atomic_fetch_sub(&self->busy_reading, 1, __ATOMIC_SEQ_CST);
  return out->value == self->fails_read ? ath_fail(ATH_IO, "reading %d", out->value) : ATH_OK;
}

static ath_status double_number(void *context, void *block, int thread) {
  const job *self = context;
  number *n = block;
  assert_true(thread >= 0 && thread < THREADS_MAX);
  dawdle(~self->seed, n->value);
  n->doubled = 2 * n->value;
  return n->value == self->fails_work ? ath_fail(ATH_INVALID, "working at %d", n->value) : ATH_OK;
}

static ath_status write_number(void *context, void *block) {
  job *self = context;
  const number *n = block;
  assert_int_equal(__atomic_fetch_add(&self->busy_writing, 1, __ATOMIC_SEQ_CST), 0);
  assert_int_equal(n->value, self->written);
  assert_int_equal(n->doubled, 2 * self->written);
  __atomic_fetch_sub(&self->busy_writing, 1, __ATOMIC_SEQ_CST);
  if (n->value == self->fails_write) return ath_fail(ATH_NO_SPACE, "writing %d", n->value);
  self->written++;
  return ATH_OK;
}

static ath_status run(job *self, int threads) {
  number numbers[2 * THREADS_MAX];
  void *blocks[2 * THREADS_MAX];
  for (int i = 0; i < 2 * THREADS_MAX; i++) blocks[i] = &numbers[i];
  const ath_pipeline steps = {read_number, double_number, write_number, self};
  return ath_pipeline_run(&steps, blocks, ath_pipeline_blocks(threads), threads);
}

static void blocks_are_written_in_order(void **state) {
  (void)state;
  for (int threads = 1; threads <= THREADS_MAX; threads++) {
    job self = {.fails_read = NEVER, .fails_work = NEVER, .fails_write = NEVER,
                .seed = (uint64_t)threads};
    assert_ok(run(&self, threads));
    assert_int_equal(self.written, BLOCKS);
  }
}

/* Later ones may have failed before: the first in order counts, and those before it are there. */
static void the_first_block_that_fails_gives_the_failure(void **state) {
  (void)state;
  for (int threads = 1; threads <= THREADS_MAX; threads++) {
    job reading = {.fails_read = 40, .fails_work = 41, .fails_write = NEVER};
    assert_fails(run(&reading, threads), ATH_IO, "reading 40");
    assert_int_equal(reading.written, 40);
    job working = {.fails_read = 40, .fails_work = 39, .fails_write = NEVER};
    assert_fails(run(&working, threads), ATH_INVALID, "working at 39");
    assert_int_equal(working.written, 39);
    job writing = {.fails_read = 40, .fails_work = 39, .fails_write = 38};
    assert_fails(run(&writing, threads), ATH_NO_SPACE, "writing 38");
    assert_int_equal(writing.written, 38);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(blocks_are_written_in_order),
    cmocka_unit_test(the_first_block_that_fails_gives_the_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
