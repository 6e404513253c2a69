/* pair_queue.c: a heap in an array; entry i has its children at 4i + 1 … 4i + 4, side by side in
 * memory. */
#include "tokenizers/trainers/pair_queue.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/resize.h"

enum { CHILDREN = 4 };

void ath_pair_queue_free(ath_pair_queue *self) {
  free(self->entries);
  *self = (ath_pair_queue){0};
}

static bool goes_before(const ath_pair_entry *a, const ath_pair_entry *b) {
  return a->count != b->count ? a->count > b->count : a->pair < b->pair;
}

/* Moves an entry from place `at` down to where all its children come after it. */
static void sift_down(ath_pair_queue *self, size_t at) {
  assert(at < self->count);
  ath_pair_entry entry = self->entries[at];
  for (size_t child; (child = CHILDREN * at + 1) < self->count; at = child) {
    size_t end = child + CHILDREN < self->count ? child + CHILDREN : self->count;
    for (size_t other = child + 1; other < end; other++)
      if (goes_before(&self->entries[other], &self->entries[child])) child = other;
    if (!goes_before(&self->entries[child], &entry)) break;
    self->entries[at] = self->entries[child];
  }
  self->entries[at] = entry;
}

ath_status ath_pair_queue_push(ath_pair_queue *self, ath_pair_entry entry) {
  if (self->count == self->capacity) {
    size_t capacity = self->capacity + self->capacity / 2 + 1024;
    if (!ath_resize(&self->entries, capacity * sizeof *self->entries))
      return ath_fail(ATH_NO_MEMORY, "no memory for %zu pairs", capacity);
    self->capacity = capacity;
  }
  size_t at = self->count++;
  for (size_t parent; at > 0; at = parent) {
    parent = (at - 1) / CHILDREN;
    if (!goes_before(&entry, &self->entries[parent])) break;
    self->entries[at] = self->entries[parent];
  }
  self->entries[at] = entry;
  return ATH_OK;
}

ath_pair_entry ath_pair_queue_pop(ath_pair_queue *self) {
  assert(self->count > 0);
  ath_pair_entry first = self->entries[0];
  self->entries[0] = self->entries[--self->count];
  if (self->count > 0) sift_down(self, 0);
  return first;
}

void ath_pair_queue_recount(ath_pair_queue *self, int64_t count) {
  assert(self->count > 0);
  self->entries[0].count = count;
  sift_down(self, 0);
}
