/* pair_table.h: how often each pair of neighbouring symbols stands in a corpus. */
#ifndef ATHANOR_TOKENIZERS_PAIR_TABLE_H
#define ATHANOR_TOKENIZERS_PAIR_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

#define ATH_NO_PAIR UINT64_MAX

typedef struct ath_pair_slot {
  uint64_t pair; /* ATH_NO_PAIR: free */
  int64_t count;
} ath_pair_slot;

/* Open addressing; a third of the slots are free at least. Start with {0}. */
typedef struct ath_pair_table {
  ath_pair_slot *slots;
  size_t used;
  int bits;
} ath_pair_table;

void ath_pair_table_free(ath_pair_table *self);

static inline size_t ath_pair_place(const ath_pair_table *self, uint64_t pair) {
  return (size_t)(pair * UINT64_C(0x9E3779B97F4A7C15) >> (64 - self->bits));
}

/* Brings the memory of a pair nearer that is soon looked up. */
static inline void ath_pair_table_fetch(const ath_pair_table *self, uint64_t pair) {
  __builtin_prefetch(&self->slots[ath_pair_place(self, pair)], 1);
}

/* The slot of a pair, or NULL; valid until the next ath_pair_table_add. */
ath_pair_slot *ath_pair_table_find(const ath_pair_table *self, uint64_t pair);
/* The same, but makes a slot with the count 0 if there is none. Slots whose count is 0 may vanish
 * at the next call. */
ath_status ath_pair_table_add(ath_pair_table *self, uint64_t pair, ath_pair_slot **out)
    ATH_MUST_CHECK;

#endif
