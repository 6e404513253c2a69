/* pair_table.c: a hash table that forgets, when it would grow, what is not there any more. */
#include "tokenizers/trainers/pair_table.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

enum { BITS_MIN = 12, BITS_MAX = 40 };

void ath_pair_table_free(ath_pair_table *self) {
  free(self->slots);
  *self = (ath_pair_table){0};
}

/* The slot that has the pair, or the free one that would take it. */
static ath_pair_slot *place_of(const ath_pair_table *self, uint64_t pair) {
  size_t mask = ((size_t)1 << self->bits) - 1, at = ath_pair_place(self, pair);
  while (self->slots[at].pair != pair && self->slots[at].pair != ATH_NO_PAIR)
    at = (at + 1) & mask;
  return &self->slots[at];
}

ath_pair_slot *ath_pair_table_find(const ath_pair_table *self, uint64_t pair) {
  if (self->slots == NULL) return NULL;
  ath_pair_slot *slot = place_of(self, pair);
  return slot->pair == pair ? slot : NULL;
}

static size_t size_of(const ath_pair_table *self) {
  return self->slots != NULL ? (size_t)1 << self->bits : 0;
}

/* Moves the pairs that are there to another table, larger if these would fill half of it. */
static ath_status rebuild(ath_pair_table *self) {
  ath_pair_table old = *self;
  size_t live = 0;
  for (size_t i = 0; i < size_of(&old); i++)
    live += old.slots[i].pair != ATH_NO_PAIR && old.slots[i].count != 0;
  int bits = old.slots != NULL ? old.bits : BITS_MIN;
  if (live * 2 >= (size_t)1 << bits) bits++;
  size_t size = (size_t)1 << bits;
  ath_pair_slot *slots = bits <= BITS_MAX ? ath_memory_alloc(size * sizeof *slots) : NULL;
  if (slots == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu pairs", live);
  for (size_t i = 0; i < size; i++) slots[i] = (ath_pair_slot){.pair = ATH_NO_PAIR};
  *self = (ath_pair_table){.slots = slots, .used = live, .bits = bits};
  for (size_t i = 0; i < size_of(&old); i++)
    if (old.slots[i].pair != ATH_NO_PAIR && old.slots[i].count != 0)
      *place_of(self, old.slots[i].pair) = old.slots[i];
  free(old.slots);
  return ATH_OK;
}

ath_status ath_pair_table_add(ath_pair_table *self, uint64_t pair, ath_pair_slot **out) {
  assert(pair != ATH_NO_PAIR);
  if (self->used * 3 >= size_of(self) * 2) ATH_TRY(rebuild(self));
  ath_pair_slot *slot = place_of(self, pair);
  if (slot->pair == ATH_NO_PAIR) {
    *slot = (ath_pair_slot){.pair = pair};
    self->used++;
  }
  *out = slot;
  return ATH_OK;
}
