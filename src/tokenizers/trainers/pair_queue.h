/* pair_queue.h: pairs of neighbouring symbols in the order in which a BPE trainer merges them. */
#ifndef ATHANOR_TOKENIZERS_PAIR_QUEUE_H
#define ATHANOR_TOKENIZERS_PAIR_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

/* A pair that may be merged, and the words that it was found in. */
typedef struct ath_pair_entry {
  uint64_t pair;  /* left id · 2³² + right id */
  int64_t count;  /* as it was when the entry was made or last looked at */
  uint32_t *words;
  uint32_t word_count;
  uint32_t last;  /* the word noted last, while they are being found */
} ath_pair_entry;

/* The first entry is the next to be merged: the most frequent pair, and of equally frequent ones
 * that of the least ids. Start with {0}. */
typedef struct ath_pair_queue {
  ath_pair_entry *entries;
  size_t count, capacity;
} ath_pair_queue;

void ath_pair_queue_free(ath_pair_queue *self);
ath_status ath_pair_queue_push(ath_pair_queue *self, ath_pair_entry entry) ATH_MUST_CHECK;
ath_pair_entry ath_pair_queue_pop(ath_pair_queue *self);
/* Gives the first entry another count, and the place that is then due to it. */
void ath_pair_queue_recount(ath_pair_queue *self, int64_t count);

#endif
