/* merges.h: the merges of a BPE model, and the two ways to apply them to a row of symbols. */
#ifndef ATHANOR_TOKENIZERS_MERGES_H
#define ATHANOR_TOKENIZERS_MERGES_H

#include "tokenizers/models/word_cache.h"

enum {
  ATH_MERGE_ID_BITS = 20, /* so that two ids and a rank are one 64-bit number */
  ATH_MERGE_IDS_MAX = 1 << ATH_MERGE_ID_BITS,
  ATH_MERGES_MAX = (1 << 24) - 1,
  ATH_MERGE_SHORT = 64, /* symbols at most that are merged without a heap */
};
#define ATH_NO_MERGE UINT32_MAX

typedef struct ath_merge {
  int32_t left, right, id; /* what the two become */
} ath_merge;

typedef struct ath_merges {
  ath_merge *items; /* by rank: the lower is merged first */
  uint32_t count, capacity;
  uint64_t *slots; /* left, right, and in the lowest 24 bits the rank and 1; 0: free */
  int shift;       /* 64 less the table's bits */
  uint64_t *hints; /* four bits for each slot, by more bits of the hash; 0: no such pair */
  bool growing;    /* each merge makes a token that is neither of its parts */
} ath_merges;

ath_status ath_merges_init(ath_merges *self, ath_arena *arena, size_t count) ATH_MUST_CHECK;
/* Adds the merge of the next rank; ids are below ATH_MERGE_IDS_MAX. A pair that was there gets the
 * new rank. */
void ath_merges_add(ath_merges *self, ath_merge merge);
void ath_merges_add_list(ath_merges *self, const ath_merge *list, size_t count);

static inline uint64_t ath_merges_key(int32_t left, int32_t right) {
  return (uint64_t)(uint32_t)left << ATH_MERGE_ID_BITS | (uint32_t)right;
}

static inline uint64_t ath_merges_hash(uint64_t key) {
  return key * UINT64_C(0x9E3779B97F4A7C15);
}

/* Whether the hints allow for a pair of that hash: most pairs end here, in little memory. */
static inline bool ath_merges_may_have(const ath_merges *self, uint64_t hash) {
  uint64_t hint = hash >> (self->shift - 2);
  return (self->hints[hint >> 6] >> (hint & 63) & 1) != 0;
}

/* Asks the memory for what ath_merges_rank will read; false when the pair has no rank. */
static inline bool ath_merges_prefetch(const ath_merges *self, int32_t left, int32_t right) {
  uint64_t hash = ath_merges_hash(ath_merges_key(left, right));
  if (!ath_merges_may_have(self, hash)) return false;
  __builtin_prefetch(&self->slots[hash >> self->shift]);
  return true;
}

/* The rank of a pair, or ATH_NO_MERGE. */
static inline uint32_t ath_merges_rank(const ath_merges *self, int32_t left, int32_t right) {
  uint64_t key = ath_merges_key(left, right), hash = ath_merges_hash(key);
  if (!ath_merges_may_have(self, hash)) return ATH_NO_MERGE;
  size_t mask = ((size_t)1 << (64 - self->shift)) - 1;
  for (size_t at = (size_t)(hash >> self->shift);; at = (at + 1) & mask) {
    uint64_t slot = self->slots[at];
    if (slot == 0) return ATH_NO_MERGE;
    if (slot >> 24 == key) return (uint32_t)(slot & 0xFFFFFF) - 1;
  }
}

/* Merges a row of at most ATH_MERGE_SHORT symbols, in place, until no pair is left that merges: of
 * the pairs of least rank always the leftmost. Returns how many symbols remain. Only for merges
 * that are `growing`. */
size_t ath_merges_apply_short(const ath_merges *self, ath_word_piece *symbols, size_t count);

/* The same for many rows side by side (merge_rows.c). */
enum { ATH_MERGE_ROW = 32 };
typedef struct ath_merge_row {
  ath_word_piece symbols[ATH_MERGE_ROW];
  uint32_t pairs[ATH_MERGE_ROW]; /* rank and place of the pair that begins at each symbol */
  uint32_t left;                 /* a bit for each symbol that is not merged into one before it */
  uint32_t count;                /* of symbols; in the end of those that remain */
  uint32_t wanted_count;
  uint8_t wanted[2];             /* where pairs begin that the last merge made */
} ath_merge_row;
void ath_merges_apply_rows(const ath_merges *self, ath_merge_row *rows, size_t count);

/* The same for a row of any length and any merges, in O(n log n). */
ath_status ath_merges_apply(const ath_merges *self, ath_run *run, ath_word_piece *symbols,
                            size_t *count) ATH_MUST_CHECK;

/* BPE-dropout (Provilkov et al. 2020): at each step each pair is passed over with the chance
 * `dropout`. The draws depend on `place` alone. */
ath_status ath_merges_apply_some(const ath_merges *self, ath_run *run, double dropout,
                                 uint64_t place, ath_word_piece *symbols, size_t *count)
    ATH_MUST_CHECK;

#endif
