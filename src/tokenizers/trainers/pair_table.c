/* pair_table.c: a hash table that doubles and never forgets. */
#include "tokenizers/trainers/pair_table.h"

#include <assert.h>
#include <stdlib.h>

enum { BITS_MIN = 12, BITS_MAX = 40 };

void ath_pair_table_free(ath_pair_table *self) {
  free(self->slots);
  *self = (ath_pair_table){0};
}

/* The slot that has the pair, or the free one that would take it. */
static ath_pair_slot *find(const ath_pair_table *self, uint64_t pair) {
  size_t mask = ((size_t)1 << self->bits) - 1;
  size_t at = (size_t)(pair * UINT64_C(0x9E3779B97F4A7C15) >> (64 - self->bits));
  while (self->slots[at].pair != pair && self->slots[at].pair != ATH_NO_PAIR)
    at = (at + 1) & mask;
  return &self->slots[at];
}

static ath_status grow(ath_pair_table *self) {
  ath_pair_table old = *self;
  size_t old_size = old.slots != NULL ? (size_t)1 << old.bits : 0;
  int bits = old.slots != NULL ? old.bits + 1 : BITS_MIN;
  size_t size = (size_t)1 << bits;
  ath_pair_slot *slots = bits <= BITS_MAX ? malloc(size * sizeof *slots) : NULL;
  if (slots == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu pairs", size / 2);
  for (size_t i = 0; i < size; i++) slots[i] = (ath_pair_slot){.pair = ATH_NO_PAIR};
  self->slots = slots;
  self->bits = bits;
  for (size_t i = 0; i < old_size; i++)
    if (old.slots[i].pair != ATH_NO_PAIR) *find(self, old.slots[i].pair) = old.slots[i];
  free(old.slots);
  return ATH_OK;
}

ath_status ath_pair_table_slot(ath_pair_table *self, uint64_t pair, ath_pair_slot **out) {
  assert(pair != ATH_NO_PAIR);
  if (self->slots == NULL) ATH_TRY(grow(self));
  ath_pair_slot *slot = find(self, pair);
  if (slot->pair == ATH_NO_PAIR) {
    if (self->used >= (size_t)1 << (self->bits - 1)) {
      ATH_TRY(grow(self));
      slot = find(self, pair);
    }
    slot->pair = pair;
    self->used++;
  }
  *out = slot;
  return ATH_OK;
}
