/* word_count.h: the distinct words of a corpus with their counts: all that a trainer has to see
 * of it. A word is what a tokenizer's normaliser and pre-tokeniser hand to the model. */
#ifndef ATHANOR_TOKENIZERS_WORD_COUNT_H
#define ATHANOR_TOKENIZERS_WORD_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/tokenizer.h"

/* Bytes of distinct words that a list may hold, so that training memory is bounded: some 50 bytes
 * are needed for each (20 MB of English Wikipedia have 4 MB of them). Beyond it the rarest words
 * are forgotten, which the log says. */
enum { ATH_WORD_TEXT_MAX = 64 << 20 };

typedef struct ath_word_list {
  char *text;       /* the words one after another, each closed by a NUL; no word holds a NUL */
  uint32_t *starts; /* count + 1 of them: word w is text[starts[w]] up to text[starts[w + 1] − 1] */
  uint64_t *counts;
  size_t count;
  uint64_t total;   /* the sum of the counts */
} ath_word_list;

void ath_word_list_free(ath_word_list *self);

/* Counts the words of text files, a line at a time, in memory that does not grow with them. Words
 * over `max_word_length` code points are cut there. Lines that hold a NUL are skipped and logged.
 * `text_maximum` is ATH_WORD_TEXT_MAX, or less in tests. Fills the parts of `report` that counting
 * knows. ATH_INVALID names file, line and byte of what is not UTF-8. */
ath_status ath_word_count_files(const char *const *paths, size_t path_count,
                                const ath_tokenizer *cutter, size_t max_word_length,
                                size_t text_maximum, ath_word_list *out,
                                ath_training_report *report) ATH_MUST_CHECK;
/* The same, but ATH_INVALID when there is no word at all. */
ath_status ath_word_count_some(const char *const *paths, size_t path_count,
                               const ath_tokenizer *cutter, size_t max_word_length,
                               ath_word_list *out, ath_training_report *report) ATH_MUST_CHECK;

#endif
