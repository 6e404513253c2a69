/* pair_heap.c: a binary heap in an array; entry i has its children at 2i + 1 and 2i + 2. */
#include "tokenizers/trainers/pair_heap.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

ath_status ath_pair_entry_add(ath_pair_entry *self, uint32_t word) {
  if (self->word_count > 0 && self->words[self->word_count - 1] == word) return ATH_OK;
  if (self->word_count == self->capacity) {
    size_t wish = self->capacity == 0 ? 2 : (size_t)self->capacity * 2;
    uint32_t *more = wish <= UINT32_MAX ? realloc(self->words, wish * sizeof *more) : NULL;
    if (more == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu words of a pair", wish);
    self->words = more;
    self->capacity = (uint32_t)wish;
  }
  self->words[self->word_count++] = word;
  return ATH_OK;
}

void ath_pair_heap_free(ath_pair_heap *self) {
  for (size_t i = 0; i < self->count; i++) free(self->entries[i].words);
  free(self->entries);
  *self = (ath_pair_heap){0};
}

ath_status ath_pair_heap_append(ath_pair_heap *self, ath_pair_entry entry) {
  if (self->count == self->capacity) {
    size_t wish = self->capacity == 0 ? 1024 : self->capacity * 2;
    ath_pair_entry *more = realloc(self->entries, wish * sizeof *more);
    if (more == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu pairs", wish);
    self->entries = more;
    self->capacity = wish;
  }
  self->entries[self->count++] = entry;
  return ATH_OK;
}

static bool goes_before(const ath_pair_entry *a, const ath_pair_entry *b) {
  return a->count != b->count ? a->count > b->count : a->pair < b->pair;
}

/* Moves an entry from place `at` down to where both its children come after it. */
static void sift_down(ath_pair_heap *self, size_t at) {
  assert(at < self->count);
  ath_pair_entry entry = self->entries[at];
  for (size_t child; (child = 2 * at + 1) < self->count; at = child) {
    if (child + 1 < self->count &&
        goes_before(&self->entries[child + 1], &self->entries[child]))
      child++;
    if (!goes_before(&self->entries[child], &entry)) break;
    self->entries[at] = self->entries[child];
  }
  self->entries[at] = entry;
}

ath_status ath_pair_heap_push(ath_pair_heap *self, ath_pair_entry entry) {
  ATH_TRY(ath_pair_heap_append(self, entry));
  size_t at = self->count - 1;
  for (; at > 0 && goes_before(&entry, &self->entries[(at - 1) / 2]); at = (at - 1) / 2)
    self->entries[at] = self->entries[(at - 1) / 2];
  self->entries[at] = entry;
  return ATH_OK;
}

ath_pair_entry ath_pair_heap_pop(ath_pair_heap *self) {
  assert(self->count > 0);
  ath_pair_entry first = self->entries[0];
  self->entries[0] = self->entries[--self->count];
  if (self->count > 0) sift_down(self, 0);
  return first;
}

void ath_pair_heap_recount(ath_pair_heap *self, int64_t count) {
  assert(self->count > 0);
  self->entries[0].count = count;
  sift_down(self, 0);
}
