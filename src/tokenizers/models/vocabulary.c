/* vocabulary.c: a hash table of tokens with linear probing, and an array by id. */
#include "tokenizers/models/vocabulary.h"

#include <stdio.h>
#include <string.h>

/* --- hashing -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ hash >> 32;
}

/* Eight bytes at a time: most tokens take one or two steps. What is left, fewer than eight bytes,
 * is read as two numbers that may overlap. */
static uint32_t hash_of(const char *bytes, size_t length) {
  uint64_t hash = length, word = 0;
  for (; length >= sizeof word; length -= sizeof word, bytes += sizeof word) {
    memcpy(&word, bytes, sizeof word);
    hash = mix(hash, word);
  }
  word = 0;
  if (length >= 4) {
    uint32_t first, last;
    memcpy(&first, bytes, sizeof first);
    memcpy(&last, bytes + length - sizeof last, sizeof last);
    word = (uint64_t)last << 32 | first;
  } else if (length > 0) {
    word = (uint64_t)(uint8_t)bytes[0] << 16 | (uint64_t)(uint8_t)bytes[length / 2] << 8 |
           (uint8_t)bytes[length - 1];
  }
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

static bool add(ath_vocabulary *self, uint32_t hash, const char *bytes, size_t length, int32_t id,
                const ath_vocabulary_entry **other) {
  assert(self->count < self->capacity && id >= 0 && id < self->size && length <= UINT32_MAX);
  uint32_t taken = self->by_id[id];
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

bool ath_vocabulary_add(ath_vocabulary *self, const char *bytes, size_t length, int32_t id,
                        const ath_vocabulary_entry **other) {
  return add(self, hash_of(bytes, length), bytes, length, id, other);
}

/* --- looking up ----------------------------------------------------------------------------- */

static int32_t find(const ath_vocabulary *self, uint32_t hash, const char *bytes,
                    size_t length) {
  uint32_t entry = self->slots[find_slot(self, hash, bytes, length)].entry;
  return entry != 0 ? self->entries[entry - 1].id : -1;
}

/* From the hash to the slot, to the entry, to its bytes: three places in memory for each token, and
 * none of them is in a fast cache. All tokens go each step together. */
void ath_vocabulary_find_all(const ath_vocabulary *self, ath_vocabulary_query *queries,
                             size_t count) {
  const ath_vocabulary_slot *slots = self->slots;
  for (size_t i = 0; i < count; i++) {
    queries[i].hash = hash_of(queries[i].bytes, queries[i].length);
    __builtin_prefetch(&slots[queries[i].hash & self->mask]);
  }
  for (size_t i = 0; i < count; i++) {
    uint32_t entry = slots[queries[i].hash & self->mask].entry;
    if (entry > 0) __builtin_prefetch(&self->entries[entry - 1]);
  }
  for (size_t i = 0; i < count; i++) {
    uint32_t entry = slots[queries[i].hash & self->mask].entry;
    if (entry > 0) __builtin_prefetch(self->entries[entry - 1].bytes);
  }
  for (size_t i = 0; i < count; i++)
    queries[i].id = find(self, queries[i].hash, queries[i].bytes, queries[i].length);
}

int32_t ath_vocabulary_id(const ath_vocabulary *self, const char *bytes, size_t length) {
  return find(self, hash_of(bytes, length), bytes, length);
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

/* A token as it was read; its bytes lie behind those of the one before, each ended by a NUL. */
typedef struct row {
  uint32_t length;
  int32_t id;
} row;

typedef struct reading {
  ath_json_rows *rows;
  ath_buffer bytes, list; /* of rows */
  int32_t size;           /* one past the largest id */
} reading;

static ath_status read_rows(reading *self) {
  ath_json_slice token;
  int64_t id;
  for (bool more;;) {
    ATH_TRY(ath_json_rows_next(self->rows, &more, &token));
    if (!more) return ATH_OK;
    if (self->rows->count > ATH_VOCAB_SIZE_MAX)
      return ath_json_fail(self->rows->json, ATH_INVALID, "more than %d tokens",
                           ATH_VOCAB_SIZE_MAX);
    ATH_TRY(ath_json_slice_keep(token, &self->bytes));
    ATH_TRY(ath_json_rows_integer(self->rows, 0, ATH_VOCAB_SIZE_MAX - 1, &id));
    row r = {(uint32_t)token.length, (int32_t)id};
    ATH_TRY(ath_buffer_append(&self->list, &r, sizeof r));
    if (id >= self->size) self->size = (int32_t)id + 1;
  }
}

/* A token that is there already takes the new id, as in the reference; an id is no second token's,
 * where the reference would pick one at random. */
static ath_status insert(ath_vocabulary *self, const ath_json *json, uint32_t hash,
                         const char *bytes, row r) {
  const ath_vocabulary_entry *other;
  if (add(self, hash, bytes, r.length, r.id, &other)) return ATH_OK;
  const ath_json place = {.parent = json, .key = bytes};
  uint32_t number = (uint32_t)(other - self->entries) + 1;
  if (!is_token(other, bytes, r.length) || (self->by_id[r.id] != 0 && other->id != r.id))
    return ath_json_fail(&place, ATH_INVALID, "%d is the id of \"%.100s\" already", r.id,
                         self->entries[self->by_id[r.id] - 1].bytes);
  ath_json_warn(&place, "there twice; the last id is taken, as in the tokenizers library");
  self->by_id[other->id] = 0;
  self->by_id[r.id] = number;
  self->entries[number - 1].id = r.id;
  return ATH_OK;
}

/* The table is larger than the fast caches, so a token's place in it is fetched ahead. */
static ath_status insert_rows(ath_vocabulary *self, const ath_json *json, const char *bytes,
                              const row *rows, size_t count) {
  enum { AHEAD = 16 };
  uint32_t hashes[AHEAD];
  const char *next = bytes;
  for (size_t i = 0; i < count + AHEAD; i++) {
    if (i >= AHEAD) {
      row r = rows[i - AHEAD];
      ATH_TRY(insert(self, json, hashes[i % AHEAD], bytes, r));
      bytes += r.length + 1;
    }
    if (i >= count) continue;
    hashes[i % AHEAD] = hash_of(next, rows[i].length);
    __builtin_prefetch(&self->slots[hashes[i % AHEAD] & self->mask], 1);
    next += rows[i].length + 1;
  }
  return ATH_OK;
}

static ath_status read_all(reading *self, ath_arena *arena, ath_vocabulary *out) {
  ATH_TRY(read_rows(self));
  ATH_TRY(ath_vocabulary_init(out, arena, self->list.length / sizeof(row), self->size));
  char *bytes = ath_arena_string_n(arena, self->bytes.bytes, self->bytes.length);
  if (bytes == NULL) return ATH_NO_MEMORY;
  return insert_rows(out, self->rows->json, bytes, (const row *)(const void *)self->list.bytes,
                     self->list.length / sizeof(row));
}

ath_status ath_vocabulary_read_rows(ath_json_rows *rows, ath_arena *arena, ath_vocabulary *out) {
  size_t most = ath_json_rows_left(rows);
  reading self = {rows, ath_buffer_make(most), ath_buffer_make(most * sizeof(row)), 0};
  ath_status status = ath_buffer_reserve(&self.bytes, most);
  if (status == ATH_OK) status = read_all(&self, arena, out);
  ath_buffer_free(&self.bytes);
  ath_buffer_free(&self.list);
  return status;
}

ath_status ath_vocabulary_read(const ath_json *json, ath_arena *arena, ath_vocabulary *out) {
  ath_json_rows rows;
  ath_status status = ath_json_rows_open(json, '{', &rows);
  if (status == ATH_OK) status = ath_vocabulary_read_rows(&rows, arena, out);
  ath_json_rows_close(&rows);
  return status;
}

void ath_vocabulary_write(const ath_vocabulary *self, ath_json_writer *out) {
  ath_json_open(out, "vocab", '{');
  for (int32_t id = 0; id < self->size; id++) {
    const ath_vocabulary_entry *entry = ath_vocabulary_entry_of(self, id);
    if (entry != NULL) ath_json_put_member(out, entry->bytes, entry->length, id);
  }
  ath_json_close(out, '}');
}
