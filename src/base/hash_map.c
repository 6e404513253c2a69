/* hash_map.c: open addressing with linear probing; keys live in one growing run of bytes.
 *
 * At most half of the slots are taken, so that a search soon meets an empty one and always ends.
 * Nothing is ever removed, so that an empty slot proves that a key is not there. The hash is kept:
 * growing does not hash again, and hardly ever are two different keys compared. */
#include "base/hash_map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

typedef struct slot {
  uint64_t hash; /* 0 marks an empty slot */
  size_t at;     /* where the key begins in `keys` */
  uint32_t length;
  int32_t value;
} slot;

struct ath_hash_map {
  slot *slots;
  size_t size; /* a power of two */
  size_t count, maximum;
  ath_buffer keys;
};

uint64_t ath_hash_bytes(const void *bytes, size_t length) {
  const unsigned char *p = bytes;
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ p[i]) * 0x100000001b3u;
  hash ^= hash >> 32;
  return hash * 0x9E3779B97F4A7C15u;
}

ath_status ath_hash_map_create(size_t maximum, ath_hash_map **out) {
  ath_hash_map *self = calloc(1, sizeof *self);
  slot *slots = calloc(16, sizeof *slots);
  if (self == NULL || slots == NULL) {
    free(self);
    free(slots);
    return ath_fail(ATH_NO_MEMORY, "no memory for a hash map");
  }
  self->slots = slots;
  self->size = 16;
  self->maximum = maximum;
  self->keys = ath_buffer_make((size_t)1 << 40);
  *out = self;
  return ATH_OK;
}

void ath_hash_map_destroy(ath_hash_map *self) {
  if (self == NULL) return;
  ath_buffer_free(&self->keys);
  free(self->slots);
  free(self);
}

/* The slot that holds the key, or the empty one where it belongs. `hash` is never 0. */
static slot *find(const ath_hash_map *self, const char *key, size_t length, uint64_t hash) {
  size_t mask = self->size - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    slot *s = &self->slots[i];
    if (s->hash == 0) return s;
    if (s->hash == hash && s->length == length &&
        memcmp(self->keys.bytes + s->at, key, length) == 0)
      return s;
  }
}

static uint64_t hash_of(const char *key, size_t length) {
  uint64_t hash = ath_hash_bytes(key, length);
  return hash == 0 ? 1 : hash;
}

static ath_status grow(ath_hash_map *self) {
  slot *old = self->slots;
  size_t old_size = self->size;
  slot *slots = calloc(old_size * 2, sizeof *slots);
  if (slots == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu keys", old_size);
  self->slots = slots;
  self->size = old_size * 2;
  for (size_t i = 0; i < old_size; i++) {
    if (old[i].hash == 0) continue;
    *find(self, self->keys.bytes + old[i].at, old[i].length, old[i].hash) = old[i];
  }
  free(old);
  return ATH_OK;
}

ath_status ath_hash_map_set(ath_hash_map *self, const char *key, size_t length, int32_t value) {
  assert(length <= UINT32_MAX);
  if (self->count * 2 >= self->size) ATH_TRY(grow(self));
  uint64_t hash = hash_of(key, length);
  slot *s = find(self, key, length, hash);
  if (s->hash == 0) {
    if (self->count == self->maximum)
      return ath_fail(ATH_NO_MEMORY, "more than %zu different keys", self->maximum);
    size_t at = self->keys.length;
    ATH_TRY(ath_buffer_append(&self->keys, key, length));
    *s = (slot){.hash = hash, .at = at, .length = (uint32_t)length};
    self->count++;
  }
  s->value = value;
  return ATH_OK;
}

bool ath_hash_map_get(const ath_hash_map *self, const char *key, size_t length, int32_t *value) {
  slot *s = find(self, key, length, hash_of(key, length));
  if (s->hash == 0) return false;
  *value = s->value;
  return true;
}

size_t ath_hash_map_count(const ath_hash_map *self) { return self->count; }
