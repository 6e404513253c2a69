/* word_rows.h: the words that merges are looked for in, as rows of symbols one after another:
 *
 *     … | count, low half | count, high half | length | symbol | symbol | … |
 *
 * A row is known by the place of its first cell. All that a merge needs of a word is in one or two
 * lines of the processor's cache. */
#ifndef ATHANOR_TOKENIZERS_WORD_ROWS_H
#define ATHANOR_TOKENIZERS_WORD_ROWS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/status.h"
#include "base/memory.h"

enum { ATH_ROW_LENGTH = 2, ATH_ROW_SYMBOLS = 3 }; /* cells of a row */

typedef struct ath_word_rows {
  uint32_t *cells;
  size_t used, capacity;
  size_t symbols;  /* in all rows */
  uint64_t tokens; /* in the corpus: each row's symbols times its count */
} ath_word_rows;

/* Room for so many rows with so many symbols in all. */
static inline ath_status ath_word_rows_init(ath_word_rows *self, size_t rows, size_t symbols) {
  size_t capacity = rows * ATH_ROW_SYMBOLS + symbols;
  assert(capacity < UINT32_MAX);
  *self = (ath_word_rows){.cells = ath_memory_alloc((capacity + 1) * sizeof *self->cells),
                          .capacity = capacity};
  if (self->cells == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to train on %zu words", rows);
  return ATH_OK;
}

static inline void ath_word_rows_free(ath_word_rows *self) {
  free(self->cells);
  *self = (ath_word_rows){0};
}

static inline int64_t ath_row_count(const uint32_t *row) {
  int64_t count;
  memcpy(&count, row, sizeof count);
  return count;
}

/* The symbols of a row that ath_word_rows_close will end: the caller writes them. */
static inline uint32_t *ath_word_rows_open(const ath_word_rows *self) {
  return self->cells + self->used + ATH_ROW_SYMBOLS;
}

/* Keeps the row of a word that is `count` times in the corpus. */
static inline void ath_word_rows_close(ath_word_rows *self, uint64_t count, uint32_t length) {
  uint32_t *row = self->cells + self->used;
  self->tokens += count * length;
  if (length < 2) return; /* there is nothing to merge */
  memcpy(row, &count, sizeof count);
  row[ATH_ROW_LENGTH] = length;
  self->used += ATH_ROW_SYMBOLS + (size_t)length;
  self->symbols += length;
  assert(self->used <= self->capacity);
}

#endif
