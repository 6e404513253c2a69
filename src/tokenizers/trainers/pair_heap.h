/* pair_heap.h: pairs of neighbouring symbols in the order in which a BPE trainer merges them. */
#ifndef ATHANOR_TOKENIZERS_PAIR_HEAP_H
#define ATHANOR_TOKENIZERS_PAIR_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

/* A pair that may be merged, and the words that it was found in. */
typedef struct ath_pair_entry {
  uint64_t pair;   /* left id · 2³² + right id */
  int64_t count;   /* as it was when the entry was made or last looked at */
  uint32_t *words; /* ascending when first filled; owned by who holds the entry */
  uint32_t word_count, capacity;
} ath_pair_entry;

/* Adds a word, unless it is the one added last. */
ath_status ath_pair_entry_add(ath_pair_entry *self, uint32_t word) ATH_MUST_CHECK;

/* A list of entries; in use as a heap, the first is the next to be merged: the most frequent, and
 * of equally frequent ones the one of the least ids. */
typedef struct ath_pair_heap {
  ath_pair_entry *entries;
  size_t count, capacity;
} ath_pair_heap;

void ath_pair_heap_free(ath_pair_heap *self); /* with the words of its entries */
/* Puts an entry behind the others, in no order. */
ath_status ath_pair_heap_append(ath_pair_heap *self, ath_pair_entry entry) ATH_MUST_CHECK;
ath_status ath_pair_heap_push(ath_pair_heap *self, ath_pair_entry entry) ATH_MUST_CHECK;
ath_pair_entry ath_pair_heap_pop(ath_pair_heap *self);
/* Gives the first entry another count, and the place that is then due to it. */
void ath_pair_heap_recount(ath_pair_heap *self, int64_t count);

#endif
