/* trie.h: byte strings to numbers, walked a byte at a time: which keys begin at this place? */
#ifndef ATHANOR_TOKENIZERS_TRIE_H
#define ATHANOR_TOKENIZERS_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"
#include "base/arena.h"

/* A double array of units: from the low end the 8 bits of the byte that leads to the node, one
 * that tells whether a key ends there, and 23 of its base. The child for byte b is unit base ^ b,
 * if that unit's byte is b: no two nodes have the same base. Node 0 is the root. A node takes four
 * bytes, so that a large vocabulary stays in the fast caches. */
enum { ATH_TRIE_BYTE = 0xFF, ATH_TRIE_ENDS = 0x100, ATH_TRIE_BASE_SHIFT = 9 };

typedef struct ath_trie {
  const uint32_t *units;
  const int32_t *values; /* of the nodes where a key ends */
  size_t size; /* a multiple of 256, so that base ^ byte stays inside */
} ath_trie;

/* A node, with its unit. */
typedef struct ath_trie_node {
  uint32_t index, unit;
} ath_trie_node;

typedef struct ath_trie_key {
  const char *bytes;
  size_t length; /* at least 1 */
  int32_t value; /* at least 0 */
} ath_trie_key;

/* Sorts keys by their bytes, as building wants them. */
ath_status ath_trie_sort(ath_trie_key *keys, size_t count) ATH_MUST_CHECK;
/* Builds a trie in the arena of sorted keys, no two of them equal. */
ath_status ath_trie_build(const ath_trie_key *keys, size_t count, ath_arena *arena, ath_trie *out)
    ATH_MUST_CHECK;

static inline ath_trie_node ath_trie_root(const ath_trie *self) {
  return (ath_trie_node){0, self->units[0]};
}

/* Moves *node to its child for this byte; false, leaving it, when there is none. */
static inline bool ath_trie_step(const ath_trie *self, ath_trie_node *node, uint8_t byte) {
  uint32_t child = node->unit >> ATH_TRIE_BASE_SHIFT ^ byte, unit = self->units[child];
  if ((unit & ATH_TRIE_BYTE) != byte) return false;
  *node = (ath_trie_node){child, unit};
  return true;
}

/* The value of the key that ends at the node; −1 when none does. */
static inline int32_t ath_trie_value(const ath_trie *self, ath_trie_node node) {
  return node.unit & ATH_TRIE_ENDS ? self->values[node.index] : -1;
}

#endif
