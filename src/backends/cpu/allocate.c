/* allocate.c: offsets for storages whose times of use are known. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/plan.h"

enum { ALIGNMENT = 64 };

static bool meet(const ath_cpu_storage *a, const ath_cpu_storage *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* Largest first; among equals the earlier in memory, which are in order of use, so that the result
 * does not depend on the sort. */
static int by_size(const void *left, const void *right) {
  const ath_cpu_storage *a = *(ath_cpu_storage *const *)left, *b = *(ath_cpu_storage *const *)right;
  if (a->size != b->size) return a->size < b->size ? 1 : -1;
  return a < b ? -1 : a > b;
}

/* The offset of the smallest gap that holds `wanted` between those it must not overlap, or behind
 * all of them. `placed` is in order of offsets. */
static size_t smallest_gap(ath_cpu_storage *const *placed, size_t count,
                           const ath_cpu_storage *wanted, bool reuse) {
  size_t end = 0, best = SIZE_MAX, best_size = SIZE_MAX;
  for (size_t i = 0; i < count; i++) {
    const ath_cpu_storage *other = placed[i];
    if (reuse && !meet(other, wanted)) continue;
    if (other->offset >= end + wanted->size && other->offset - end < best_size) {
      best = end;
      best_size = other->offset - end;
    }
    if (other->offset + other->size > end) end = other->offset + other->size;
  }
  return best != SIZE_MAX ? best : end;
}

/* Keeps the order of offsets, which smallest_gap walks along. */
static void insert(ath_cpu_storage **placed, size_t count, ath_cpu_storage *storage) {
  size_t at = count;
  while (at > 0 && placed[at - 1]->offset > storage->offset) at--;
  memmove(placed + at + 1, placed + at, (count - at) * sizeof *placed);
  placed[at] = storage;
}

ath_status ath_cpu_allocate(ath_cpu_storage *storages, size_t count, bool reuse, size_t *total) {
  ath_cpu_storage **order = calloc(2 * count + 1, sizeof *order);
  if (order == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to plan %zu storages", count);
  ath_cpu_storage **placed = order + count;
  for (size_t i = 0; i < count; i++) {
    assert(storages[i].first <= storages[i].last);
    storages[i].size = (storages[i].size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    order[i] = &storages[i];
  }
  qsort(order, count, sizeof *order, by_size);
  *total = 0;
  for (size_t i = 0; i < count; i++) {
    order[i]->offset = smallest_gap(placed, i, order[i], reuse);
    assert(order[i]->offset % ALIGNMENT == 0);
    size_t end = order[i]->offset + order[i]->size;
    if (end > *total) *total = end;
    insert(placed, i, order[i]);
  }
  free(order);
  return ATH_OK;
}
