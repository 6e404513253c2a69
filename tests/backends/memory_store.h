/* memory_store.h: a store in one process's memory, seen by as many ranks as are wanted. */
#ifndef ATHANOR_TESTS_MEMORY_STORE_H
#define ATHANOR_TESTS_MEMORY_STORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "backends/processes.h"

enum { ENTRIES_MAX = 1024, VIEWS_MAX = 8 };

typedef struct memory_entry {
  void *key, *value;
  size_t key_size, value_size;
} memory_entry;

static struct {
  memory_entry entries[ENTRIES_MAX];
  size_t count;
  pthread_mutex_t lock;
} shared_memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline void *copy_bytes(const void *bytes, size_t size) {
  return memcpy(malloc(size + 1), bytes, size);
}

static inline ath_status memory_put(ath_store *self, const void *key, size_t key_size,
                                    const void *value, size_t value_size) {
  (void)self;
  pthread_mutex_lock(&shared_memory.lock);
  bool room = shared_memory.count < ENTRIES_MAX;
  if (room)
    shared_memory.entries[shared_memory.count++] =
        (memory_entry){copy_bytes(key, key_size), copy_bytes(value, value_size), key_size,
                       value_size};
  pthread_mutex_unlock(&shared_memory.lock);
  return room ? ATH_OK : ath_fail(ATH_NO_MEMORY, "the test's store is full");
}

static inline ath_status memory_try_get(ath_store *self, const void *key, size_t key_size,
                                        ath_buffer *out) {
  ath_status status = ATH_NOT_FOUND;
  (void)self;
  pthread_mutex_lock(&shared_memory.lock);
  for (size_t i = 0; i < shared_memory.count && status == ATH_NOT_FOUND; i++) {
    const memory_entry *e = &shared_memory.entries[i];
    if (e->key_size == key_size && memcmp(e->key, key, key_size) == 0)
      status = ath_buffer_append(out, e->value, e->value_size);
  }
  pthread_mutex_unlock(&shared_memory.lock);
  return status == ATH_NOT_FOUND ? ath_fail(ATH_NOT_FOUND, "no such key") : status;
}

static const ath_store_table memory_table = {.put = memory_put, .try_get = memory_try_get};

static inline ath_store memory_view(int rank, int size) {
  return (ath_store){.table = &memory_table, .rank = rank, .size = size};
}

static inline void memory_clear(void) {
  for (size_t i = 0; i < shared_memory.count; i++) {
    free(shared_memory.entries[i].key);
    free(shared_memory.entries[i].value);
  }
  shared_memory.count = 0;
}

#endif
