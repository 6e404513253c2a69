/* word_table.c: open addressing with linear probing. Nothing is removed, so a free slot proves that
 * a word is not there. Most words are found with one line of the processor's cache. */
#include "tokenizers/trainers/word_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/mix.h"

enum { FIRST_SIZE = 64 };

void ath_word_table_free(ath_word_table *self) {
  free(self->slots);
  ath_buffer_free(&self->text);
  *self = (ath_word_table){0};
}

static const uint64_t first_key = UINT64_C(0x9E3779B97F4A7C15);
static const uint64_t second_key = UINT64_C(0xD1B54A32D192ED03);

/* All bytes of a word of at most sixteen: two reads, which may overlap. */
static void read_short(const char *word, size_t length, uint64_t out[2]) {
  if (length >= 8) {
    memcpy(&out[0], word, 8);
    memcpy(&out[1], word + length - 8, 8);
  } else if (length >= 4) {
    uint32_t a, b;
    memcpy(&a, word, 4);
    memcpy(&b, word + length - 4, 4);
    out[0] = a;
    out[1] = b;
  } else {
    out[0] = (uint8_t)word[0];
    out[1] = (uint64_t)(uint8_t)word[length / 2] << 8 | (uint8_t)word[length - 1];
  }
}

/* The way back. */
static void write_short(char *word, size_t length, const uint64_t in[2]) {
  if (length >= 8) {
    memcpy(word, &in[0], 8);
    memcpy(word + length - 8, &in[1], 8);
  } else if (length >= 4) {
    uint32_t a = (uint32_t)in[0], b = (uint32_t)in[1];
    memcpy(word, &a, 4);
    memcpy(word + length - 4, &b, 4);
  } else {
    word[0] = (char)in[0];
    word[length / 2] = (char)(in[1] >> 8);
    word[length - 1] = (char)in[1];
  }
}

static uint64_t hash_of(const uint64_t bytes[2], size_t length) {
  return ath_mix(bytes[0] ^ length * first_key, bytes[1] ^ second_key);
}

static uint64_t hash_long(const char *word, size_t length) {
  uint64_t hash = length * first_key, two[2];
  for (; length > sizeof two; word += sizeof two, length -= sizeof two) {
    memcpy(two, word, sizeof two);
    hash = ath_mix(two[0] ^ hash, two[1] ^ second_key);
  }
  read_short(word, length, two);
  return ath_mix(two[0] ^ hash, two[1] ^ second_key);
}

ath_table_key ath_table_key_of(const char *word, size_t length) {
  assert(length > 0 && length <= UINT32_MAX);
  ath_table_key key = {.word = word, .length = (uint32_t)length};
  if (length <= ATH_WORD_SHORT) {
    read_short(word, length, key.bytes);
  } else {
    key.bytes[0] = hash_long(word, length);
    memcpy(&key.bytes[1], word + length - 8, 8);
  }
  key.hash = hash_of(key.bytes, length);
  return key;
}

ath_table_key ath_table_key_again(const ath_word_slot *slot, char word[ATH_WORD_SHORT]) {
  assert(slot->length <= ATH_WORD_SHORT);
  write_short(word, slot->length, slot->bytes);
  return (ath_table_key){.word = word, .length = slot->length,
                        .bytes = {slot->bytes[0], slot->bytes[1]},
                        .hash = hash_of(slot->bytes, slot->length)};
}

/* The slot that has the word, or the free one that would take it. */
static ath_word_slot *find(const ath_word_table *self, const ath_table_key *key) {
  size_t mask = self->size - 1;
  for (size_t i = key->hash & mask;; i = (i + 1) & mask) {
    ath_word_slot *slot = &self->slots[i];
    if (slot->count == 0) return slot;
    if (slot->bytes[0] == key->bytes[0] && slot->bytes[1] == key->bytes[1] &&
        slot->length == key->length &&
        (key->length <= ATH_WORD_SHORT ||
         memcmp(self->text.bytes + slot->at, key->word, key->length) == 0))
      return slot;
  }
}

static ath_status grow(ath_word_table *self) {
  ath_word_table old = *self;
  size_t size = old.size > 0 ? old.size * 2 : FIRST_SIZE;
  ath_word_slot *slots = ath_memory_alloc(size * sizeof *slots);
  if (slots == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu distinct words", size / 2);
  memset(slots, 0, size * sizeof *slots);
  self->slots = slots;
  self->size = size;
  for (size_t i = 0; i < old.size; i++) {
    const ath_word_slot *slot = &old.slots[i];
    if (slot->count == 0) continue;
    ath_table_key key = ath_table_key_of(self->text.bytes + slot->at, slot->length);
    *find(self, &key) = *slot;
  }
  free(old.slots);
  if (self->text.maximum == 0) self->text = ath_buffer_make(UINT32_MAX);
  return ATH_OK;
}

ath_status ath_word_table_add(ath_word_table *self, const ath_table_key *key, uint64_t count) {
  assert(count > 0);
  if (self->used * 3 >= self->size * 2) ATH_TRY(grow(self));
  ath_word_slot *slot = find(self, key);
  if (slot->count == 0) {
    size_t at = self->text.length;
    ATH_TRY(ath_buffer_append(&self->text, key->word, key->length));
    *slot = (ath_word_slot){.bytes = {key->bytes[0], key->bytes[1]}, .at = (uint32_t)at,
                            .length = key->length};
    self->used++;
  }
  slot->count += count;
  return ATH_OK;
}
