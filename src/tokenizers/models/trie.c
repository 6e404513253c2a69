/* trie.c: building a double array (Aoe 1989) from sorted keys, depth first. */
#include "tokenizers/models/trie.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/resize.h"

enum {
  BLOCK = 256,
  NODES_MAX = 1 << (32 - ATH_TRIE_BASE_SHIFT),
  TRIES = 256, /* free places tried for a node's children before a new block is begun */
};
#define TAKEN UINT32_MAX

/* Bases that no node with children has: childless nodes have the first, and the byte of a place in
 * the first block that is free is such that only the second leads there. */
enum { CHILDLESS = 0, UNUSED = 1 };

/* Free places form a ring through place 0, which is the root and never free. */
typedef struct builder {
  uint32_t *units;
  int32_t *values;
  uint32_t *next, *previous; /* of a place that is taken: TAKEN */
  bool *is_base;
  size_t size;
} builder;

/* The keys [low, high) share their first `depth` bytes, which lead to `node`. */
typedef struct task {
  size_t low, high, depth;
  uint32_t node;
} task;

typedef struct task_stack {
  task *items;
  size_t count, capacity;
} task_stack;

static int compare(const void *a, const void *b) {
  const ath_trie_key *x = a, *y = b;
  size_t shorter = x->length < y->length ? x->length : y->length;
  int order = memcmp(x->bytes, y->bytes, shorter);
  if (order != 0) return order;
  return (x->length > y->length) - (x->length < y->length);
}

static ath_status no_memory(void) { return ath_fail(ATH_NO_MEMORY, "no memory for the trie"); }

/* Appends 256 free places, and puts them at the ring's end. */
static ath_status add_block(builder *self) {
  assert(self->size % BLOCK == 0);
  size_t size = self->size + BLOCK;
  if (size > NODES_MAX) return ath_fail(ATH_INVALID, "the vocabulary is too large for a trie");
  if ((self->size & (self->size - 1)) == 0) { /* grows at powers of two, to twice that */
    size_t room = self->size == 0 ? BLOCK : self->size * 2;
    if (!ath_resize(&self->units, room * sizeof *self->units) ||
        !ath_resize(&self->values, room * sizeof *self->values) ||
        !ath_resize(&self->next, room * sizeof *self->next) ||
        !ath_resize(&self->previous, room * sizeof *self->previous) ||
        !ath_resize(&self->is_base, room * sizeof *self->is_base))
      return no_memory();
  }
  if (self->size == 0) self->next[0] = self->previous[0] = 0;
  for (uint32_t i = (uint32_t)self->size; i < size; i++) {
    self->units[i] = CHILDLESS << ATH_TRIE_BASE_SHIFT;
    self->values[i] = -1;
    self->is_base[i] = i == CHILDLESS || i == UNUSED;
    if (i == 0) continue;
    self->previous[i] = self->previous[0];
    self->next[i] = 0;
    self->next[self->previous[0]] = i;
    self->previous[0] = i;
  }
  self->size = size;
  return ATH_OK;
}

static bool is_free(const builder *self, uint32_t place) {
  assert(place < self->size);
  return place != 0 && self->next[place] != TAKEN;
}

/* Whether no node has this base, and every label's place under it is free. */
static bool fits(const builder *self, uint32_t base, const uint8_t *labels, size_t count) {
  if (self->is_base[base]) return false;
  for (size_t i = 0; i < count; i++)
    if (!is_free(self, base ^ labels[i])) return false;
  return true;
}

/* Finds a base where every label's place is free. A child's place is base ^ label, so it lies in
 * the base's own block of 256, and a base in a new block always fits. */
static ath_status find_base(builder *self, const uint8_t *labels, size_t count, uint32_t *base) {
  assert(count > 0);
  uint32_t place = self->next[0];
  for (int tries = 0; place != 0 && tries < TRIES; tries++, place = self->next[place]) {
    *base = place ^ labels[0];
    if (fits(self, *base, labels, count)) return ATH_OK;
  }
  *base = (uint32_t)self->size;
  return add_block(self);
}

/* Makes a free place the child for that byte. */
static void take(builder *self, uint32_t place, uint8_t label) {
  assert(is_free(self, place));
  self->next[self->previous[place]] = self->next[place];
  self->previous[self->next[place]] = self->previous[place];
  self->next[place] = TAKEN;
  self->units[place] |= label;
}

static ath_status push(task_stack *self, task item) {
  if (self->count == self->capacity) {
    size_t capacity = self->capacity == 0 ? 256 : self->capacity * 2;
    if (!ath_resize(&self->items, capacity * sizeof *self->items)) return no_memory();
    self->capacity = capacity;
  }
  self->items[self->count++] = item;
  return ATH_OK;
}

/* Places the children of one node, and leaves each as a task. */
static ath_status expand(builder *self, const ath_trie_key *keys, task t, task_stack *stack) {
  assert(t.low < t.high);
  if (keys[t.low].length == t.depth) { /* sorted: the key that ends here comes first */
    assert(t.low + 1 == t.high || keys[t.low + 1].length > t.depth);
    self->values[t.node] = keys[t.low].value;
    self->units[t.node] |= ATH_TRIE_ENDS;
    t.low++;
  }
  if (t.low == t.high) return ATH_OK;
  uint8_t labels[BLOCK];
  size_t begins[BLOCK + 1], count = 0;
  for (size_t i = t.low; i < t.high; i++) {
    uint8_t label = (uint8_t)keys[i].bytes[t.depth];
    if (count > 0 && labels[count - 1] == label) continue;
    labels[count] = label;
    begins[count++] = i;
  }
  begins[count] = t.high;
  uint32_t base;
  ATH_TRY(find_base(self, labels, count, &base));
  self->is_base[base] = true;
  self->units[t.node] |= base << ATH_TRIE_BASE_SHIFT;
  for (size_t i = 0; i < count; i++) {
    take(self, base ^ labels[i], labels[i]);
    ATH_TRY(push(stack, (task){begins[i], begins[i + 1], t.depth + 1, base ^ labels[i]}));
  }
  return ATH_OK;
}

/* A base in the block that no node has. There is one where a place is free, since every base has a
 * child in the block. */
static uint32_t unused_base(const builder *self, uint32_t block) {
  uint32_t base = block;
  if (block == 0) return UNUSED;
  while (self->is_base[base]) base++;
  assert(base < block + BLOCK);
  return base;
}

/* Gives the root and the places that stayed free bytes that lead there from no node. */
static void close_places(builder *self) {
  for (uint32_t block = 0; block < self->size; block += BLOCK) {
    uint32_t unused = UINT32_MAX;
    for (uint32_t place = block; place < block + BLOCK; place++) {
      if (place != 0 && !is_free(self, place)) continue;
      if (unused == UINT32_MAX) unused = unused_base(self, block);
      self->units[place] |= place ^ unused;
    }
  }
}

/* A stack of its own, since a key may be longer than the program's stack is deep. */
static ath_status build(builder *self, const ath_trie_key *keys, size_t count,
                        task_stack *stack) {
  ATH_TRY(add_block(self));
  if (count == 0) return ATH_OK;
  ATH_TRY(push(stack, (task){0, count, 0, 0}));
  while (stack->count > 0) ATH_TRY(expand(self, keys, stack->items[--stack->count], stack));
  return ATH_OK;
}

/* A key's first bytes as a number of the same order, zeros for those that are missing. */
typedef struct prefix {
  uint64_t bytes;
  size_t key;
} prefix;

static uint64_t prefix_of(const ath_trie_key *key) {
  uint64_t bytes = 0;
  memcpy(&bytes, key->bytes, key->length < sizeof bytes ? key->length : sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  bytes = __builtin_bswap64(bytes);
#endif
  return bytes;
}

/* One pass of a radix sort, by the byte that `shift` brings down. */
static void distribute(const prefix *in, prefix *out, size_t count, int shift) {
  size_t places[BLOCK] = {0}, sum = 0;
  for (size_t i = 0; i < count; i++) places[in[i].bytes >> shift & (BLOCK - 1)]++;
  for (size_t b = 0; b < BLOCK; b++) {
    size_t here = places[b];
    places[b] = sum;
    sum += here;
  }
  for (size_t i = 0; i < count; i++) out[places[in[i].bytes >> shift & (BLOCK - 1)]++] = in[i];
}

/* By the first eight bytes, and then those that share them by comparing. */
static void sort(ath_trie_key *keys, ath_trie_key *copy, prefix *in, prefix *out, size_t count) {
  memcpy(copy, keys, count * sizeof *keys);
  for (size_t i = 0; i < count; i++) in[i] = (prefix){prefix_of(&keys[i]), i};
  for (int shift = 0; shift < 64; shift += 16) {
    distribute(in, out, count, shift);
    distribute(out, in, count, shift + 8);
  }
  for (size_t i = 0; i < count; i++) keys[i] = copy[in[i].key];
  for (size_t from = 0, to; from < count; from = to) {
    for (to = from + 1; to < count && in[to].bytes == in[from].bytes;) to++;
    if (to > from + 1) qsort(keys + from, to - from, sizeof *keys, compare);
  }
}

ath_status ath_trie_sort(ath_trie_key *keys, size_t count) {
  if (count < 2) return ATH_OK;
  ath_trie_key *copy = malloc(count * sizeof *copy);
  prefix *prefixes = malloc(2 * count * sizeof *prefixes);
  bool made = copy != NULL && prefixes != NULL;
  if (made) sort(keys, copy, prefixes, prefixes + count, count);
  free(copy);
  free(prefixes);
  return made ? ATH_OK : no_memory();
}

static ath_status keep(builder *self, ath_arena *arena, ath_trie *out) {
  uint32_t *units = ath_arena_alloc(arena, self->size * sizeof *units);
  int32_t *values = ath_arena_alloc(arena, self->size * sizeof *values);
  if (units == NULL || values == NULL) return ATH_NO_MEMORY;
  memcpy(units, self->units, self->size * sizeof *units);
  memcpy(values, self->values, self->size * sizeof *values);
  *out = (ath_trie){units, values, self->size};
  return ATH_OK;
}

ath_status ath_trie_build(const ath_trie_key *keys, size_t count, ath_arena *arena,
                          ath_trie *out) {
  builder self = {0};
  task_stack stack = {0};
  ath_status status = build(&self, keys, count, &stack);
  if (status == ATH_OK) {
    close_places(&self);
    status = keep(&self, arena, out);
  }
  free(self.units);
  free(self.values);
  free(self.next);
  free(self.previous);
  free(self.is_base);
  free(stack.items);
  return status;
}
