/* trie.h: byte strings to numbers, walked a byte at a time: which keys begin at this place? */
#ifndef ATHANOR_TOKENIZERS_TRIE_H
#define ATHANOR_TOKENIZERS_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"
#include "base/arena.h"

/* A double array: the child of node n for byte b is node base[n] ^ b, if its parent is n.
 * Node 0 is the root. */
typedef struct ath_trie_node {
  uint32_t base;
  uint32_t parent;
  int32_t value; /* of the key that ends here; −1: none does */
} ath_trie_node;

typedef struct ath_trie {
  const ath_trie_node *nodes;
  size_t size; /* a multiple of 256, so that base ^ byte stays inside */
} ath_trie;

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

/* Moves *node to its child for this byte; false, leaving it, when there is none. */
static inline bool ath_trie_step(const ath_trie *self, uint32_t *node, uint8_t byte) {
  uint32_t child = self->nodes[*node].base ^ byte;
  if (self->nodes[child].parent != *node) return false;
  *node = child;
  return true;
}

#endif
