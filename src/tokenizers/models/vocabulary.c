/* vocabulary.c: a hash table of tokens with linear probing, and an array by id. */
#include "tokenizers/models/vocabulary.h"

#include <stdio.h>
#include <string.h>

/* --- hashing -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ hash >> 32;
}

/* Eight bytes at a time: most tokens take one or two steps. */
static uint32_t hash_of(const char *bytes, size_t length) {
  uint64_t hash = length, word;
  for (; length >= sizeof word; length -= sizeof word, bytes += sizeof word) {
    memcpy(&word, bytes, sizeof word);
    hash = mix(hash, word);
  }
  word = 0;
  for (size_t i = 0; i < length; i++) word = word << 8 | (uint8_t)bytes[i];
  return (uint32_t)(mix(hash, word) >> 16);
}

static bool is_token(const ath_vocabulary_entry *entry, const char *bytes, size_t length) {
  return entry->length == length && memcmp(entry->bytes, bytes, length) == 0;
}

/* The slot of a token, or the free one where it belongs. */
static uint32_t find_slot(const ath_vocabulary *self, uint32_t hash, const char *bytes,
                          size_t length) {
  for (uint32_t at = hash & self->mask;; at = (at + 1) & self->mask) {
    const ath_vocabulary_slot *slot = &self->slots[at];
    if (slot->entry == 0) return at;
    if (slot->hash == hash && is_token(&self->entries[slot->entry - 1], bytes, length)) return at;
  }
}

/* --- building ------------------------------------------------------------------------------- */

ath_status ath_vocabulary_init(ath_vocabulary *self, ath_arena *arena, size_t count,
                               int32_t size) {
  assert(count <= ATH_VOCAB_SIZE_MAX && size >= 0 && size <= ATH_VOCAB_SIZE_MAX);
  uint32_t slots = 4;
  while (slots < count * 2) slots *= 2;
  *self = (ath_vocabulary){.arena = arena, .capacity = (uint32_t)count, .mask = slots - 1};
  self->entries = ath_arena_alloc(arena, count * sizeof *self->entries);
  self->slots = ath_arena_alloc(arena, slots * sizeof *self->slots);
  self->by_id = ath_arena_alloc(arena, (size_t)size * sizeof *self->by_id);
  bool made = self->entries != NULL && self->slots != NULL && self->by_id != NULL;
  self->size = size;
  return made ? ATH_OK : ATH_NO_MEMORY;
}

bool ath_vocabulary_add(ath_vocabulary *self, const char *bytes, size_t length, int32_t id,
                        const ath_vocabulary_entry **other) {
  assert(self->count < self->capacity && id >= 0 && id < self->size && length <= UINT32_MAX);
  uint32_t hash = hash_of(bytes, length), taken = self->by_id[id];
  ath_vocabulary_slot *slot = &self->slots[find_slot(self, hash, bytes, length)];
  if (slot->entry != 0 || taken != 0) {
    *other = &self->entries[(slot->entry != 0 ? slot->entry : taken) - 1];
    return false;
  }
  self->entries[self->count++] = (ath_vocabulary_entry){bytes, (uint32_t)length, id};
  *slot = (ath_vocabulary_slot){hash, self->count};
  self->by_id[id] = self->count;
  return true;
}

/* --- looking up ----------------------------------------------------------------------------- */

int32_t ath_vocabulary_id(const ath_vocabulary *self, const char *bytes, size_t length) {
  uint32_t entry = self->slots[find_slot(self, hash_of(bytes, length), bytes, length)].entry;
  return entry != 0 ? self->entries[entry - 1].id : -1;
}

const ath_vocabulary_entry *ath_vocabulary_entry_of(const ath_vocabulary *self, int32_t id) {
  if (id < 0 || id >= self->size || self->by_id[id] == 0) return NULL;
  const ath_vocabulary_entry *entry = &self->entries[self->by_id[id] - 1];
  assert(entry->id == id);
  return entry;
}

int32_t ath_vocabulary_kind_size(const void *data) { return ((const ath_vocabulary *)data)->size; }

int32_t ath_vocabulary_kind_id(const void *data, const char *token, size_t length) {
  return ath_vocabulary_id(data, token, length);
}

const char *ath_vocabulary_kind_token(const void *data, int32_t id, size_t *length) {
  const ath_vocabulary_entry *entry = ath_vocabulary_entry_of(data, id);
  if (entry == NULL) return NULL;
  *length = entry->length;
  return entry->bytes;
}

void ath_byte_tokens_find(int32_t (*id)(const void *, const char *, size_t), const void *data,
                          int32_t ids[256]) {
  for (unsigned byte = 0; byte < 256; byte++) {
    char name[8];
    int length = snprintf(name, sizeof name, "<0x%02X>", byte);
    ids[byte] = id(data, name, (size_t)length);
  }
}

/* --- tokenizer.json ------------------------------------------------------------------------- */

/* How many tokens there are, how many bytes they take, and the largest id. */
static ath_status survey(const ath_json *json, size_t *count, size_t *bytes, int32_t *size) {
  ATH_TRY(ath_json_object(json));
  *count = *bytes = 0;
  *size = 0;
  void *place = NULL;
  ath_json member;
  for (; ath_json_next(json, &place, &member); ++*count) {
    int64_t id;
    ATH_TRY(ath_json_integer(&member, 0, ATH_VOCAB_SIZE_MAX - 1, &id));
    if (id >= *size) *size = (int32_t)id + 1;
    *bytes += strlen(member.key) + 1;
  }
  if (*count > ATH_VOCAB_SIZE_MAX)
    return ath_json_fail(json, ATH_INVALID, "%zu tokens; at most %d are supported", *count,
                         ATH_VOCAB_SIZE_MAX);
  return ATH_OK;
}

ath_status ath_vocabulary_read(const ath_json *json, ath_arena *arena, ath_vocabulary *out) {
  size_t count, total;
  int32_t size;
  ATH_TRY(survey(json, &count, &total, &size));
  ATH_TRY(ath_vocabulary_init(out, arena, count, size));
  char *bytes = ath_arena_alloc(arena, total);
  if (bytes == NULL) return ATH_NO_MEMORY;
  void *place = NULL;
  ath_json member;
  while (ath_json_next(json, &place, &member)) {
    size_t length = strlen(member.key);
    memcpy(bytes, member.key, length + 1);
    int64_t id;
    ATH_TRY(ath_json_integer(&member, 0, size - 1, &id));
    const ath_vocabulary_entry *other;
    if (!ath_vocabulary_add(out, bytes, length, (int32_t)id, &other))
      return ath_json_fail(&member, ATH_INVALID, "%d is the id of \"%.100s\" already", other->id,
                           other->bytes);
    bytes += length + 1;
  }
  return ATH_OK;
}

void ath_vocabulary_write(const ath_vocabulary *self, ath_json_writer *out) {
  ath_json_open(out, "vocab", '{');
  for (int32_t id = 0; id < self->size; id++) {
    const ath_vocabulary_entry *entry = ath_vocabulary_entry_of(self, id);
    if (entry != NULL) ath_json_put_member(out, entry->bytes, entry->length, id);
  }
  ath_json_close(out, '}');
}
