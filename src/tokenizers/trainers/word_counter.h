/* word_counter.h: one thread's count of words, in tables by the words' hashes. */
#ifndef ATHANOR_TOKENIZERS_WORD_COUNTER_H
#define ATHANOR_TOKENIZERS_WORD_COUNTER_H

#include "tokenizers/trainers/word_table.h"

enum {
  ATH_WORD_TABLES = 16, /* so many threads at most can add tables at once */
  ATH_WORD_TABLE_BITS = 4,
  ATH_RECENT_WORDS = 1 << 13, /* a quarter of a megabyte: they stay in the second cache */
  ATH_LATE_WORDS = 16,
};

/* Text repeats few words most of the time. The recent ones are counted in a small place of their
 * own; one that has to leave it waits some while its slot is fetched, for the tables are large.
 * Start with zeros. */
typedef struct ath_word_counter {
  ath_word_table tables[ATH_WORD_TABLES];
  ath_word_slot recent[ATH_RECENT_WORDS]; /* of at most ATH_WORD_SHORT bytes; `at` is not in use */
  ath_word_slot late[ATH_LATE_WORDS];
  size_t next_late;
} ath_word_counter;

ath_status ath_word_counter_add(ath_word_counter *self, const char *word, size_t length)
    ATH_MUST_CHECK;
/* Brings into the tables all that was added. */
ath_status ath_word_counter_flush(ath_word_counter *self) ATH_MUST_CHECK;
void ath_word_counter_free(ath_word_counter *self);

#endif
