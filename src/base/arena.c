/* arena.c: a chain of blocks, each filled from the front. */
#include "base/arena.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
  ALIGNMENT = 64, /* a cache line, and the widest vector */
  BLOCK_SIZE = 256 * 1024,
  LARGE_FROM = 512 * 1024, /* a piece, or all before it, from which on blocks are large */
  LARGE_SIZE = 8 << 20,
};

/* Large ones are mapped: tables of that size are read at random, for which huge pages are far
 * faster, to fill and to read, and what nobody touches is no memory. */
typedef struct block {
  struct block *next;
  size_t used, size; /* of the bytes, which begin at the first aligned address behind this */
  bool mapped;
} block;

/* Something outside the arena that goes with it. */
typedef struct companion {
  struct companion *next;
  void (*release)(void *object);
  void *object;
} companion;

struct ath_arena {
  block *blocks;
  companion *companions;
  size_t limit, used;
};

ath_status ath_arena_create(size_t limit, ath_arena **out) {
  *out = calloc(1, sizeof **out);
  if (*out == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for an arena");
  (*out)->limit = limit;
  return ATH_OK;
}

/* The new block becomes the one that is filled next, unless it is made for one piece alone, which
 * would leave the rest of the present one unused. */
static block *add_block(ath_arena *self, size_t least) {
  bool mapped = least >= LARGE_FROM || self->used >= LARGE_FROM;
  size_t usual = mapped ? LARGE_SIZE : BLOCK_SIZE, size = least > usual ? least : usual;
  size_t bytes = sizeof(block) + ALIGNMENT + size;
  block *b = mapped ? ath_memory_map(bytes) : calloc(1, bytes);
  if (b == NULL) return NULL;
  block **before = self->blocks != NULL && least > usual ? &self->blocks->next : &self->blocks;
  *b = (block){.next = *before, .size = size, .mapped = mapped};
  *before = b;
  return b;
}

static void free_block(block *self) {
  if (self->mapped)
    ath_memory_unmap(self, sizeof *self + ALIGNMENT + self->size);
  else
    free(self);
}

void ath_arena_destroy(ath_arena *self) {
  if (self == NULL) return;
  for (companion *c = self->companions; c != NULL; c = c->next) c->release(c->object);
  for (block *b = self->blocks; b != NULL;) {
    block *next = b->next;
    free_block(b);
    b = next;
  }
  free(self);
}

static unsigned char *bytes_of(block *self) {
  uintptr_t behind = (uintptr_t)(self + 1);
  return (unsigned char *)(self + 1) + (ALIGNMENT - behind % ALIGNMENT) % ALIGNMENT;
}

/* The limit counts what was asked for, so that it means the same to whoever chose it; rounding adds
 * at most 63 bytes to each piece. */
void *ath_arena_alloc(ath_arena *self, size_t size) {
  assert(self != NULL);
  assert(self->used <= self->limit);
  /* Rounding up, a block's header and its alignment each add at most ALIGNMENT. */
  if (size > SIZE_MAX - 3 * ALIGNMENT || size > self->limit - self->used) {
    ath_fail(ATH_NO_MEMORY, "%zu more bytes would pass the limit of %zu bytes", size, self->limit);
    return NULL;
  }
  size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (rounded == 0) rounded = ALIGNMENT;
  block *b = self->blocks;
  if (b == NULL || b->size - b->used < rounded) b = add_block(self, rounded);
  if (b == NULL) {
    ath_fail(ATH_NO_MEMORY, "no memory for %zu bytes", size);
    return NULL;
  }
  void *memory = bytes_of(b) + b->used; /* never given out before, and so still zeroed */
  b->used += rounded;
  self->used += size;
  return memory;
}

ath_status ath_arena_on_destroy(ath_arena *self, void (*release)(void *object), void *object) {
  assert(release != NULL);
  companion *c = ath_arena_alloc(self, sizeof *c);
  if (c == NULL) return ATH_NO_MEMORY;
  *c = (companion){self->companions, release, object};
  self->companions = c;
  return ATH_OK;
}

char *ath_arena_string_n(ath_arena *self, const char *string, size_t length) {
  char *copy = ath_arena_alloc(self, length + 1);
  if (copy != NULL) memcpy(copy, string, length);
  return copy;
}

char *ath_arena_string(ath_arena *self, const char *string) {
  return ath_arena_string_n(self, string, strlen(string));
}
