/* word_table.h: distinct words and how often each was met. */
#ifndef ATHANOR_TOKENIZERS_WORD_TABLE_H
#define ATHANOR_TOKENIZERS_WORD_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"
#include "base/buffer.h"

/* A word and its hash, found out once. Of up to sixteen bytes the key, with the length, is the
 * word itself: comparing it needs no look at the text. */
typedef struct ath_table_key {
  const char *word;
  uint32_t length;
  uint64_t bytes[2]; /* of a longer word: its hash, and its last eight bytes */
  uint64_t hash;     /* the low bits choose the slot; the high ones are left to who spreads words
                      * over tables */
} ath_table_key;

enum { ATH_WORD_SHORT = 16 };

ath_table_key ath_table_key_of(const char *word, size_t length);

typedef struct ath_word_slot {
  uint64_t bytes[2]; /* as in the key */
  uint64_t count;    /* 0: free */
  uint32_t at, length; /* the word is text[at, at + length) */
} ath_word_slot;

/* Open addressing; a third of the slots are free at least. Start with {0}. */
typedef struct ath_word_table {
  ath_word_slot *slots;
  size_t size, used; /* `size` is 0 or a power of two */
  ath_buffer text;   /* the words one after another */
} ath_word_table;

/* The key of a short word that a slot has, which is written out as well. */
ath_table_key ath_table_key_again(const ath_word_slot *slot, char word[ATH_WORD_SHORT]);

void ath_word_table_free(ath_word_table *self);

/* Brings the memory of a word nearer that is soon added. */
static inline void ath_word_table_fetch(const ath_word_table *self, uint64_t hash) {
  if (self->size > 0) __builtin_prefetch(&self->slots[hash & (self->size - 1)], 1);
}

/* Adds `count` to a word's, which may be new. */
ath_status ath_word_table_add(ath_word_table *self, const ath_table_key *key, uint64_t count)
    ATH_MUST_CHECK;

#endif
