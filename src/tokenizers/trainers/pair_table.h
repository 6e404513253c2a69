/* pair_table.h: how often each pair of neighbouring symbols stands in a corpus. */
#ifndef ATHANOR_TOKENIZERS_PAIR_TABLE_H
#define ATHANOR_TOKENIZERS_PAIR_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

#define ATH_NO_PAIR UINT64_MAX

typedef struct ath_pair_slot {
  uint64_t pair;  /* ATH_NO_PAIR: free */
  int64_t count;
  size_t pending; /* number and 1 of the entry that collects the pair's new words; 0: none */
} ath_pair_slot;

/* Open addressing; half of the slots are free at least. Start with {0}. */
typedef struct ath_pair_table {
  ath_pair_slot *slots;
  size_t used;
  int bits;
} ath_pair_table;

void ath_pair_table_free(ath_pair_table *self);
/* The slot of a pair, which is made with count 0 if missing; valid until the next call. */
ath_status ath_pair_table_slot(ath_pair_table *self, uint64_t pair, ath_pair_slot **out)
    ATH_MUST_CHECK;

#endif
