/* merge_rows.c: many short rows of symbols merged side by side.
 *
 * To merge one row is to wait for the memory: which pair is next depends on the ranks of those that
 * the last merge made, and these lie anywhere in a large table. While one row waits, the others
 * take their step. */
#include "tokenizers/models/merges.h"

#define NO_PAIR UINT32_MAX
enum { PLACE_BITS = 5, NOWHERE = ATH_MERGE_ROW };
static_assert(ATH_MERGE_ROW == 1 << PLACE_BITS, "a place fits its bits");
static_assert(ATH_MERGES_MAX < UINT32_MAX >> PLACE_BITS, "a rank and a place fit 32 bits");

/* The neighbours among the symbols that are left. */
static uint32_t after(const ath_merge_row *self, uint32_t at) {
  uint32_t others = self->left >> at >> 1;
  return others != 0 ? at + 1 + (uint32_t)__builtin_ctz(others) : NOWHERE;
}

static uint32_t before(const ath_merge_row *self, uint32_t at) {
  uint32_t others = self->left & ((UINT32_C(1) << at) - 1);
  return others != 0 ? 31 - (uint32_t)__builtin_clz(others) : NOWHERE;
}

static uint32_t pair_of(uint32_t rank, uint32_t at) {
  return rank != ATH_NO_MERGE ? rank << PLACE_BITS | at : NO_PAIR;
}

/* The pairs of a word's first symbols are few, and near. */
static void begin(const ath_merges *merges, ath_merge_row *self) {
  uint32_t last = self->count - 1;
  assert(self->count > 1 && self->count <= ATH_MERGE_ROW);
  self->left = UINT32_MAX >> (ATH_MERGE_ROW - self->count);
  for (uint32_t at = 0; at < last; at++) {
    const ath_word_piece *pair = &self->symbols[at];
    self->pairs[at] = pair_of(ath_merges_rank(merges, pair[0].id, pair[1].id), at);
  }
  self->pairs[last] = NO_PAIR;
}

/* Asks the memory for the rank of a pair that may have one. */
static void want_pair(const ath_merges *merges, ath_merge_row *self, uint32_t at) {
  uint32_t next = after(self, at);
  self->pairs[at] = NO_PAIR;
  if (next == NOWHERE) return;
  if (ath_merges_prefetch(merges, self->symbols[at].id, self->symbols[next].id))
    self->wanted[self->wanted_count++] = (uint8_t)at;
}

/* Merges the pair of least rank, the leftmost of several; false when there is none. */
static bool merge_least(const ath_merges *merges, ath_merge_row *self) {
  uint32_t best = NO_PAIR;
  for (uint32_t i = 0; i < self->count; i++)
    best = self->pairs[i] < best ? self->pairs[i] : best;
  if (best == NO_PAIR) return false;
  uint32_t at = best & (ATH_MERGE_ROW - 1), gone = after(self, at);
  assert(gone != NOWHERE);
  self->symbols[at].id = merges->items[best >> PLACE_BITS].id;
  self->symbols[at].end = self->symbols[gone].end;
  self->pairs[gone] = NO_PAIR;
  self->left &= ~(UINT32_C(1) << gone);
  self->wanted_count = 0;
  want_pair(merges, self, at);
  if (before(self, at) != NOWHERE) want_pair(merges, self, before(self, at));
  return true;
}

static void rank_wanted(const ath_merges *merges, ath_merge_row *self) {
  for (uint32_t i = 0; i < self->wanted_count; i++) {
    uint32_t at = self->wanted[i], next = after(self, at);
    uint32_t rank = ath_merges_rank(merges, self->symbols[at].id, self->symbols[next].id);
    self->pairs[at] = pair_of(rank, at);
  }
}

static void finish(ath_merge_row *self) {
  uint32_t kept = 0;
  for (uint32_t left = self->left; left != 0; left &= left - 1)
    self->symbols[kept++] = self->symbols[__builtin_ctz(left)];
  self->count = kept;
}

void ath_merges_apply_rows(const ath_merges *self, ath_merge_row *rows, size_t count) {
  ath_merge_row *busy[ATH_WORDS_MAX];
  size_t left = 0, kept;
  assert(count <= ATH_WORDS_MAX && self->growing);
  for (size_t i = 0; i < count; i++)
    if (rows[i].count > 1) begin(self, busy[left++] = &rows[i]);
  for (; left > 0; left = kept) {
    kept = 0;
    for (size_t i = 0; i < left; i++)
      if (merge_least(self, busy[i])) busy[kept++] = busy[i];
    for (size_t i = 0; i < kept; i++) rank_wanted(self, busy[i]);
  }
  for (size_t i = 0; i < count; i++)
    if (rows[i].count > 1) finish(&rows[i]);
}
