/* word_count.h: the distinct words of a corpus with their counts: all that a trainer has to see
 * of it. A word is what a tokenizer's normaliser and pre-tokeniser hand to the model. */
#ifndef ATHANOR_TOKENIZERS_WORD_COUNT_H
#define ATHANOR_TOKENIZERS_WORD_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/tokenizer.h"

/* Bytes of distinct words that a list may hold at most (20 MB of English Wikipedia have 4 MB of
 * them). */
enum { ATH_WORD_TEXT_MAX = 256 << 20 };

typedef struct ath_word_list {
  char *text;       /* the words one after another, each closed by a NUL, and another NUL at the
                     * end; no word holds a NUL */
  uint32_t *starts; /* count + 1 of them: word w is text[starts[w]] up to text[starts[w + 1] − 1] */
  uint64_t *counts;
  size_t count;
  uint64_t total;   /* the sum of the counts */
} ath_word_list;

void ath_word_list_free(ath_word_list *self);

typedef struct ath_word_limits {
  size_t max_word_length; /* code points; longer words are cut there */
  size_t text_maximum;    /* bytes of distinct words; beyond it the rarest words are forgotten,
                           * which the log says. At most ATH_WORD_TEXT_MAX */
  int threads;
  const ath_reading *reading; /* how the files are read; NULL: {0} of documents.h */
} ath_word_limits;

/* Counts the words of files, a document at a time, in memory that does not grow with them. The
 * words come in no particular order, but which they are and their counts do not depend on the
 * number of threads. Lines that hold a NUL are skipped and logged. Fills the parts of `report` that
 * counting knows. ATH_INVALID names file, line and byte of what is not UTF-8. */
ath_status ath_word_count_files(const char *const *paths, size_t path_count,
                                const ath_tokenizer *cutter, const ath_word_limits *limits,
                                ath_word_list *out, ath_training_report *report) ATH_MUST_CHECK;
/* The same, but ATH_INVALID when there is no word at all. */
ath_status ath_word_count_some(const char *const *paths, size_t path_count,
                               const ath_tokenizer *cutter, const ath_word_limits *limits,
                               ath_word_list *out, ath_training_report *report) ATH_MUST_CHECK;

#endif
