/* arena.c: a chain of blocks, each filled from the front. */
#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, BLOCK_SIZE = 256 * 1024 }; /* 64: a cache line, and the widest vector */

typedef struct block {
  struct block *next;
  size_t used, size; /* of the bytes, which begin at the first aligned address behind this */
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

void ath_arena_destroy(ath_arena *self) {
  if (self == NULL) return;
  for (companion *c = self->companions; c != NULL; c = c->next) c->release(c->object);
  for (block *b = self->blocks; b != NULL;) {
    block *next = b->next;
    free(b);
    b = next;
  }
  free(self);
}

/* The new block becomes the one that is filled next, unless it is made for one large piece, which
 * would leave the rest of the present one unused. */
static block *add_block(ath_arena *self, size_t least) {
  size_t size = least > BLOCK_SIZE ? least : BLOCK_SIZE;
  block *b = calloc(1, sizeof(block) + ALIGNMENT + size); /* large ones cost no clearing */
  if (b == NULL) return NULL;
  b->size = size;
  block **before = self->blocks != NULL && least > BLOCK_SIZE ? &self->blocks->next : &self->blocks;
  b->next = *before;
  *before = b;
  return b;
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
