/* store_contract.h: what every store of processes.h must do, as one process of several sees it:
 * each calls store_contract with its own view of the store, at about the same time. */
#ifndef ATHANOR_TESTS_STORE_CONTRACT_H
#define ATHANOR_TESTS_STORE_CONTRACT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/processes.h"
#include "base/clock.h"

enum { LARGE = 200000, LONG_TIME = 20000, THREADS = 4, KEYS = 6 };

/* Failures are counted, not told by cmocka, which knows one thread and one process. */
#define EXPECT(condition)                                                                   \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      fprintf(stderr, "process %d, line %d: %s (%s)\n", store->rank, __LINE__, #condition,  \
              ath_error_text());                                                            \
      failures++;                                                                           \
    }                                                                                       \
  } while (0)

/* A value of any bytes that depends on who put it, with NULs in it. */
static inline void fill_value(char *value, size_t size, int rank) {
  for (size_t i = 0; i < size; i++) value[i] = (char)((i * 31 + (size_t)rank * 7) % 251);
}

static inline bool is_value(const ath_buffer *found, size_t size, int rank) {
  if (found->length != size) return false;
  for (size_t i = 0; i < size; i++)
    if (found->bytes[i] != (char)((i * 31 + (size_t)rank * 7) % 251)) return false;
  return true;
}

static inline int values_of_any_size_reach_the_others(ath_store *store) {
  static const size_t sizes[] = {0, 1, 1000, LARGE};
  int failures = 0;
  char *value = malloc(LARGE);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char key[] = {'k', '\0', (char)i, (char)store->rank};
    fill_value(value, sizes[i], store->rank);
    EXPECT(ath_store_put(store, key, sizeof key, value, sizes[i]) == ATH_OK);
    memset(value, 0, LARGE); /* it was copied */
  }
  for (int rank = 0; rank < store->size; rank++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      char key[] = {'k', '\0', (char)i, (char)rank};
      ath_buffer found = ath_buffer_make(LARGE + 1);
      EXPECT(ath_store_get(store, key, sizeof key, LONG_TIME, &found) == ATH_OK);
      EXPECT(is_value(&found, sizes[i], rank));
      ath_buffer_free(&found);
    }
  free(value);
  return failures;
}

static inline int an_absent_key_is_told_at_once_or_in_time(ath_store *store) {
  int failures = 0;
  ath_buffer found = ath_buffer_make(16);
  double start = seconds_now();
  EXPECT(ath_store_try_get(store, "absent", 6, &found) == ATH_NOT_FOUND);
  EXPECT(seconds_now() - start < 5);
  start = seconds_now();
  EXPECT(ath_store_get(store, "absent", 6, 300, &found) == ATH_NOT_FOUND);
  double waited = seconds_now() - start;
  EXPECT(waited >= 0.3 && waited < 10);
  EXPECT(found.length == 0);
  ath_buffer_free(&found);
  return failures;
}

/* The value is put after the others have begun to wait, and after they have seen its owner's. */
static inline int a_late_value_ends_the_waiting(ath_store *store) {
  int failures = 0;
  ath_buffer found = ath_buffer_make(16);
  if (store->rank == 0) {
    usleep(400000);
    EXPECT(ath_store_put(store, "late", 4, "now", 3) == ATH_OK);
  }
  EXPECT(ath_store_get(store, "late", 4, LONG_TIME, &found) == ATH_OK);
  EXPECT(found.length == 3 && memcmp(found.bytes, "now", 3) == 0);
  ath_buffer_free(&found);
  return failures;
}

static inline int sizes_out_of_range_are_refused(ath_store *store) {
  int failures = 0;
  char *large = calloc(1, ATH_STORE_VALUE_MAX + 1);
  EXPECT(ath_store_put(store, "", 0, "x", 1) == ATH_INVALID);
  EXPECT(ath_store_put(store, large, ATH_STORE_KEY_MAX + 1, "x", 1) == ATH_INVALID);
  EXPECT(ath_store_put(store, "large", 5, large, ATH_STORE_VALUE_MAX + 1) == ATH_INVALID);
  free(large);
  return failures;
}

typedef struct caller {
  ath_store *store;
  int number, failures;
} caller;

/* Puts its keys and waits for those of the same thread of every process. */
static inline void *call_store(void *context) {
  caller *self = context;
  ath_store *store = self->store;
  int failures = 0;
  for (int k = 0; k < KEYS; k++) {
    int key[] = {-1, store->rank, self->number, k};
    EXPECT(ath_store_put(store, key, sizeof key, key, sizeof key) == ATH_OK);
  }
  for (int rank = 0; rank < store->size; rank++)
    for (int k = 0; k < KEYS; k++) {
      int key[] = {-1, rank, self->number, k};
      ath_buffer found = ath_buffer_make(64);
      EXPECT(ath_store_get(store, key, sizeof key, LONG_TIME, &found) == ATH_OK);
      EXPECT(found.length == sizeof key && memcmp(found.bytes, key, sizeof key) == 0);
      ath_buffer_free(&found);
    }
  self->failures = failures;
  return NULL;
}

static inline int several_threads_may_call(ath_store *store) {
  pthread_t threads[THREADS];
  caller callers[THREADS];
  int failures = 0;
  for (int i = 0; i < THREADS; i++) {
    callers[i] = (caller){store, i, 0};
    EXPECT(pthread_create(&threads[i], NULL, call_store, &callers[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    failures += callers[i].failures;
  }
  return failures;
}

/* The number of what went wrong. Says how far it came, for the case that it comes no further. */
static inline int store_contract(ath_store *store) {
  static int (*const parts[])(ath_store *) = {
    values_of_any_size_reach_the_others, an_absent_key_is_told_at_once_or_in_time,
    a_late_value_ends_the_waiting,       sizes_out_of_range_are_refused,
    several_threads_may_call,
  };
  int failures = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    failures += parts[i](store);
    fprintf(stderr, "process %d: part %zu of the contract, %d failures\n", store->rank, i + 1,
            failures);
  }
  return failures;
}

#endif
