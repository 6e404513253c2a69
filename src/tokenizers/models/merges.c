/* merges.c: a hash table of pairs, and merging with a scan (short rows) or a heap (long ones). */
#include "tokenizers/models/merges.h"

#include <string.h>

#include "base/random.h"

/* --- the table ------------------------------------------------------------------------------ */

ath_status ath_merges_init(ath_merges *self, ath_arena *arena, size_t count) {
  assert(count <= ATH_MERGES_MAX);
  int bits = 4;
  while ((size_t)1 << bits < count * 2) bits++;
  size_t slots = (size_t)1 << bits;
  *self = (ath_merges){.capacity = (uint32_t)count, .shift = 64 - bits, .growing = true};
  self->items = ath_arena_alloc(arena, count * sizeof *self->items);
  self->slots = ath_arena_alloc(arena, slots * sizeof *self->slots);
  self->hints = ath_arena_alloc(arena, slots * 4 / 8);
  bool made = self->items != NULL && self->slots != NULL && self->hints != NULL;
  return made ? ATH_OK : ATH_NO_MEMORY;
}

static size_t slot_of(const ath_merges *self, ath_merge merge) {
  return (size_t)(ath_merges_hash(ath_merges_key(merge.left, merge.right)) >> self->shift);
}

void ath_merges_add(ath_merges *self, ath_merge merge) {
  assert(self->count < self->capacity);
  assert(merge.left >= 0 && merge.left < ATH_MERGE_IDS_MAX);
  assert(merge.right >= 0 && merge.right < ATH_MERGE_IDS_MAX);
  uint64_t key = ath_merges_key(merge.left, merge.right);
  uint64_t hint = ath_merges_hash(key) >> (self->shift - 2);
  size_t mask = ((size_t)1 << (64 - self->shift)) - 1, at = slot_of(self, merge);
  while (self->slots[at] != 0 && self->slots[at] >> 24 != key) at = (at + 1) & mask;
  self->items[self->count++] = merge;
  self->slots[at] = key << 24 | self->count;
  self->hints[hint >> 6] |= UINT64_C(1) << (hint & 63);
  if (merge.id == merge.left || merge.id == merge.right) self->growing = false;
}

/* The table is larger than the fast caches, so a merge's place in it is fetched ahead. */
void ath_merges_add_list(ath_merges *self, const ath_merge *list, size_t count) {
  enum { AHEAD = 16 };
  for (size_t i = 0; i < count; i++) {
    if (i + AHEAD < count)
      __builtin_prefetch(&self->slots[slot_of(self, list[i + AHEAD])], 1);
    ath_merges_add(self, list[i]);
  }
}

/* --- short rows ----------------------------------------------------------------------------- */

/* Where the least rank is, the leftmost of several. */
static size_t least(const uint32_t *ranks, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; i++)
    if (ranks[i] < ranks[best]) best = i;
  return best;
}

size_t ath_merges_apply_short(const ath_merges *self, ath_word_piece *symbols, size_t count) {
  assert(count <= ATH_MERGE_SHORT && self->growing);
  uint32_t ranks[ATH_MERGE_SHORT]; /* of the pair that begins at each symbol */
  for (size_t i = 0; i + 1 < count; i++)
    ranks[i] = ath_merges_rank(self, symbols[i].id, symbols[i + 1].id);
  while (count > 1) {
    size_t at = least(ranks, count - 1);
    if (ranks[at] == ATH_NO_MERGE) break;
    symbols[at] = (ath_word_piece){self->items[ranks[at]].id, symbols[at + 1].end};
    count--;
    for (size_t i = at + 1; i < count; i++) {
      symbols[i] = symbols[i + 1];
      ranks[i - 1] = ranks[i];
    }
    if (at > 0) ranks[at - 1] = ath_merges_rank(self, symbols[at - 1].id, symbols[at].id);
    if (at + 1 < count) ranks[at] = ath_merges_rank(self, symbols[at].id, symbols[at + 1].id);
  }
  return count;
}

/* --- long rows ------------------------------------------------------------------------------ */

#define NOWHERE UINT32_MAX
typedef struct link { /* beside each symbol */
  uint32_t previous, next;
  uint32_t rank; /* of the pair with the next one, as it is now */
} link;

/* A pair that could be merged when it was put in: its rank, and below it the left one's place, so
 * that the least number is merged first. */
typedef struct heap {
  uint64_t *items;
  size_t count;
} heap;

static void heap_push(heap *self, uint64_t item) {
  size_t at = self->count++;
  for (; at > 0 && self->items[(at - 1) / 2] > item; at = (at - 1) / 2)
    self->items[at] = self->items[(at - 1) / 2];
  self->items[at] = item;
}

static uint64_t heap_pop(heap *self) {
  assert(self->count > 0);
  uint64_t first = self->items[0], last = self->items[--self->count];
  size_t at = 0;
  for (size_t child = 1; child < self->count; child = 2 * at + 1) {
    if (child + 1 < self->count && self->items[child + 1] < self->items[child]) child++;
    if (self->items[child] >= last) break;
    self->items[at] = self->items[child];
    at = child;
  }
  self->items[at] = last;
  return first;
}

/* The row as it is being merged. Each merge makes two pairs and takes two symbols away, so that
 * the heap never holds more than three times the symbols. */
typedef struct row {
  const ath_merges *merges;
  ath_word_piece *symbols; /* id −1: merged into the one before */
  link *links;
  heap heap;
  uint64_t *passed; /* pairs that dropout has passed over in this step */
  size_t passed_count;
} row;

static void put_pair(row *self, uint32_t at) {
  link *l = &self->links[at];
  l->rank = ATH_NO_MERGE;
  if (l->next == NOWHERE) return;
  l->rank = ath_merges_rank(self->merges, self->symbols[at].id, self->symbols[l->next].id);
  if (l->rank != ATH_NO_MERGE) heap_push(&self->heap, (uint64_t)l->rank << 32 | at);
}

static ath_status open_row(row *self, const ath_merges *merges, ath_run *run,
                           ath_word_piece *symbols, size_t count) {
  size_t each = sizeof *self->links + 3 * sizeof *self->heap.items + sizeof *self->passed * 3;
  assert(count < NOWHERE);
  char *memory = ath_run_scratch(run, ATH_SCRATCH_LATTICE, (count + 1) * each);
  if (memory == NULL) return ATH_NO_MEMORY;
  *self = (row){.merges = merges, .symbols = symbols};
  self->heap.items = (uint64_t *)(void *)memory;
  self->passed = self->heap.items + 3 * (count + 1);
  self->links = (link *)(void *)(self->passed + 3 * (count + 1));
  for (uint32_t i = 0; i < count; i++)
    self->links[i] = (link){i > 0 ? i - 1 : NOWHERE, i + 1 < count ? i + 1 : NOWHERE, 0};
  for (uint32_t i = 0; i < count; i++) put_pair(self, i);
  return ATH_OK;
}

/* Whether a pair from the heap is still there. The reference takes another pair in its place that
 * makes the same token, which only merges can bring about that make a token longer by nothing. */
static bool is_current(const row *self, uint64_t item) {
  uint32_t at = (uint32_t)item, rank = (uint32_t)(item >> 32), now = self->links[at].rank;
  if (self->symbols[at].id < 0 || now == ATH_NO_MERGE) return false;
  return now == rank || self->merges->items[now].id == self->merges->items[rank].id;
}

static void merge_at(row *self, uint64_t item) {
  uint32_t at = (uint32_t)item;
  link *l = &self->links[at];
  uint32_t gone = l->next;
  assert(gone != NOWHERE && self->symbols[gone].id >= 0);
  self->symbols[at].id = self->merges->items[item >> 32].id;
  self->symbols[at].end = self->symbols[gone].end;
  self->symbols[gone].id = -1;
  l->next = self->links[gone].next;
  if (l->next != NOWHERE) self->links[l->next].previous = at;
  if (l->previous != NOWHERE) put_pair(self, l->previous);
  put_pair(self, at);
}

static size_t close_row(const row *self, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (self->symbols[i].id >= 0) self->symbols[kept++] = self->symbols[i];
  return kept;
}

ath_status ath_merges_apply(const ath_merges *self, ath_run *run, ath_word_piece *symbols,
                            size_t *count) {
  row r;
  ATH_TRY(open_row(&r, self, run, symbols, *count));
  while (r.heap.count > 0) {
    uint64_t item = heap_pop(&r.heap);
    if (is_current(&r, item)) merge_at(&r, item);
  }
  *count = close_row(&r, *count);
  return ATH_OK;
}

ath_status ath_merges_apply_some(const ath_merges *self, ath_run *run, double dropout,
                                 uint64_t place, ath_word_piece *symbols, size_t *count) {
  row r;
  ATH_TRY(open_row(&r, self, run, symbols, *count));
  for (uint32_t draw = 0; r.heap.count > 0; draw++) {
    uint64_t item = heap_pop(&r.heap);
    if (!is_current(&r, item)) continue;
    uint32_t bits[4];
    ath_random(0, ATH_RANDOM_MERGES, 0, place, draw, bits);
    if ((double)ath_uniform(bits[0]) < dropout) {
      r.passed[r.passed_count++] = item;
      continue;
    }
    while (r.passed_count > 0) heap_push(&r.heap, r.passed[--r.passed_count]);
    merge_at(&r, item);
  }
  *count = close_row(&r, *count);
  return ATH_OK;
}
