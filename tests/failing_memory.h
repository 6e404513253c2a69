/* failing_memory.h: lets the n-th allocation fail, so that every path for it is walked. Only for
 * tests with "out_of_memory" in their name: these are linked with --wrap for these functions.
 * Allocations inside shared libraries go on as usual. */
#ifndef ATHANOR_TESTS_FAILING_MEMORY_H
#define ATHANOR_TESTS_FAILING_MEMORY_H

#include "testing.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static long allocations_until_failure = -1; /* −1: none fails */

static int allocation_fails(void) {
  if (allocations_until_failure < 0) return 0;
  return allocations_until_failure-- == 0;
}

void *__wrap_malloc(size_t size) { return allocation_fails() ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t count, size_t size) {
  return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
  return allocation_fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return allocation_fails() ? NULL : __real_aligned_alloc(alignment, size);
}

/* Calls with the 1st, 2nd, … allocation failing until none is left to fail: each time the call
 * reports ATH_NO_MEMORY, and the last time it succeeds. Gives how many allocations there are. */
static long fail_each_allocation(ath_status (*call)(void *context), void *context) {
  for (long n = 0; n < 100000; n++) {
    allocations_until_failure = n;
    ath_status status = call(context);
    int all_done = allocations_until_failure >= 0;
    allocations_until_failure = -1;
    if (all_done) {
      if (status != ATH_OK) fail_msg("with all memory: %s", ath_error_text());
      return n;
    }
    if (status != ATH_NO_MEMORY)
      fail_msg("allocation %ld failed: %s (%s), not ATH_NO_MEMORY", n, ath_status_name(status),
               ath_error_text());
  }
  fail_msg("more than 100000 allocations");
  return 0;
}

#endif
