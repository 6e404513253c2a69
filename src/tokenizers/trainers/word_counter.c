/* word_counter.c: word → recent → late → tables. */
#include "tokenizers/trainers/word_counter.h"

#include <string.h>

static ath_word_table *table_of(ath_word_counter *self, uint64_t hash) {
  return &self->tables[hash >> (64 - ATH_WORD_TABLE_BITS)];
}

/* Adds a short word that waited, if there is one, and leaves its place free. */
static ath_status add_late(ath_word_counter *self, ath_word_slot *late) {
  if (late->count == 0) return ATH_OK;
  char word[ATH_WORD_SHORT];
  ath_table_key key = ath_table_key_again(late, word);
  ATH_TRY(ath_word_table_add(table_of(self, key.hash), &key, late->count));
  late->count = 0;
  return ATH_OK;
}

/* Lets a recent word wait for its slot. */
static ath_status make_late(ath_word_counter *self, const ath_word_slot *slot) {
  char word[ATH_WORD_SHORT];
  ath_table_key key = ath_table_key_again(slot, word);
  ath_word_table_fetch(table_of(self, key.hash), key.hash);
  ath_word_slot *late = &self->late[self->next_late++ % ATH_LATE_WORDS];
  ATH_TRY(add_late(self, late));
  *late = *slot;
  return ATH_OK;
}

ath_status ath_word_counter_add(ath_word_counter *self, const char *word, size_t length) {
  ath_table_key key = ath_table_key_of(word, length);
  if (length > ATH_WORD_SHORT) return ath_word_table_add(table_of(self, key.hash), &key, 1);
  ath_word_slot *recent = &self->recent[key.hash % ATH_RECENT_WORDS];
  if (recent->count > 0 && recent->bytes[0] == key.bytes[0] &&
      recent->bytes[1] == key.bytes[1] && recent->length == key.length) {
    recent->count++;
    return ATH_OK;
  }
  if (recent->count > 0) ATH_TRY(make_late(self, recent));
  *recent = (ath_word_slot){.bytes = {key.bytes[0], key.bytes[1]}, .length = key.length,
                            .count = 1};
  return ATH_OK;
}

ath_status ath_word_counter_flush(ath_word_counter *self) {
  for (size_t i = 0; i < ATH_RECENT_WORDS; i++) {
    if (self->recent[i].count == 0) continue;
    ATH_TRY(make_late(self, &self->recent[i]));
    self->recent[i].count = 0;
  }
  for (size_t i = 0; i < ATH_LATE_WORDS; i++) ATH_TRY(add_late(self, &self->late[i]));
  return ATH_OK;
}

void ath_word_counter_free(ath_word_counter *self) {
  for (size_t t = 0; t < ATH_WORD_TABLES; t++) ath_word_table_free(&self->tables[t]);
}
