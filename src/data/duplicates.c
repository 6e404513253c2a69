/* duplicates.c: lines with equal keys, found with tables of bounded size.
 *
 * A pass takes one band (of exact duplicates there is but one) and a part of its keys, as large as
 * the memory, and goes through all lines in order; the first line of each key gets into a table. */
#include "data/duplicates.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "base/outcome.h"

#define KEY_PLACE UINT64_C(0xcbbb9d5dc1059ed8) /* of the square root of 23 */
enum { CAPACITY_MIN = 1 << 12 };

typedef struct entry {
  uint64_t key;
  uint64_t line; /* + 1; 0: free */
} entry;

typedef struct search {
  const ath_rows *rows;
  ath_deduplicate kind;
  double similarity;
  uint8_t *choices;
  uint64_t capacity, parts; /* of the tables; of the keys */
  bool forgets;             /* the rows are more than the memory */
} search;

typedef struct place {
  const ath_piece *piece;
  uint64_t document; /* in it */
} place;

static place find_line(const ath_rows *rows, uint64_t line) {
  size_t low = 0, high = rows->count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (rows->first[middle] <= line) low = middle;
    else high = middle;
  }
  assert(line >= rows->first[low] && line < rows->first[low + 1]);
  return (place){&rows->pieces[low], line - rows->first[low]};
}

static uint64_t key_of(const search *self, const place *at, int band) {
  if (self->kind == ATH_DEDUPLICATE_EXACT) return ath_piece_hash(at->piece, at->document).high;
  return ath_piece_key(at->piece, at->document, band);
}

/* Equal keys only make it likely. */
static bool are_alike(const search *self, const place *a, const place *b) {
  if (self->kind == ATH_DEDUPLICATE_EXACT)
    return ath_piece_hash(a->piece, a->document).low == ath_piece_hash(b->piece, b->document).low;
  return ath_sketch_similarity(ath_piece_firsts(a->piece, a->document),
                               ath_piece_firsts(b->piece, b->document)) >= self->similarity;
}

/* Other threads, at other bands, may mark the same line: with the same byte. */
static void mark(const search *self, uint64_t line) {
  __atomic_store_n(&self->choices[line], ATH_CHOICE_DUPLICATE, __ATOMIC_RELAXED);
}

/* The entry of the key, or a free one. */
static entry *find_entry(const search *self, entry *table, uint64_t key, uint64_t hash) {
  uint64_t at = hash & (self->capacity - 1);
  while (table[at].line != 0 && table[at].key != key) at = (at + 1) & (self->capacity - 1);
  return &table[at];
}

static ath_status take_line(const search *self, entry *table, uint64_t *used, uint64_t key,
                            uint64_t hash, const place *at, uint64_t line) {
  entry *found = find_entry(self, table, key, hash);
  if (found->line != 0) {
    place first = find_line(self->rows, found->line - 1);
    if (are_alike(self, at, &first)) mark(self, line);
    return ATH_OK;
  }
  if (++*used > self->capacity / 8 * 7)
    return ath_fail(ATH_NO_MEMORY, "too many different lines for the memory that finding "
                    "duplicates may use; raise --deduplicate-memory");
  *found = (entry){key, line + 1};
  return ATH_OK;
}

static ath_status pass(const search *self, entry *table, int band, uint64_t part) {
  const ath_rows *rows = self->rows;
  uint64_t used = 0;
  memset(table, 0, self->capacity * sizeof *table);
  for (size_t p = 0; p < rows->count; p++) {
    place at = {&rows->pieces[p], 0};
    for (; at.document < at.piece->documents; at.document++) {
      ath_text_hash text = ath_piece_hash(at.piece, at.document);
      if (ath_text_hash_is_empty(&text) || ath_piece_tokens(at.piece, at.document) == 0) continue;
      uint64_t key = key_of(self, &at, band);
      uint64_t hash = ath_mix(key ^ KEY_PLACE, KEY_PLACE + (uint64_t)band);
      if ((hash >> 40) % self->parts != part) continue;
      ATH_TRY(take_line(self, table, &used, key, hash, &at, rows->first[p] + at.document));
    }
    if (self->forgets) ath_piece_forget(at.piece);
  }
  return ATH_OK;
}

static ath_status search_band(const search *self, int band) {
  entry *table = malloc(self->capacity * sizeof *table);
  if (table == NULL)
    return ath_fail(ATH_NO_MEMORY, "no memory for a table of lines; lower --deduplicate-memory");
  ath_status status = ATH_OK;
  for (uint64_t part = 0; part < self->parts && status == ATH_OK; part++)
    status = pass(self, table, band, part);
  free(table);
  return status;
}

static uint64_t bytes_of_rows(const ath_rows *rows) {
  uint64_t bytes = 0;
  for (size_t p = 0; p < rows->count; p++) bytes += rows->pieces[p].rows.size;
  return bytes;
}

/* The largest power of two that fits; no larger than what leaves half of it free in one part. */
static void size_tables(search *self, uint64_t memory, uint64_t lines) {
  self->capacity = CAPACITY_MIN;
  while (self->capacity * 2 * sizeof(entry) <= memory && self->capacity < 2 * lines)
    self->capacity *= 2;
  self->parts = lines / (self->capacity / 2) + 1;
}

ath_status ath_duplicates_mark(const ath_rows *rows, ath_deduplicate kind, double similarity,
                               uint64_t memory, int threads, uint8_t *choices) {
  search self = {.rows = rows, .kind = kind, .similarity = similarity, .choices = choices,
                 .forgets = bytes_of_rows(rows) > memory};
  int bands = kind == ATH_DEDUPLICATE_EXACT ? 1 : ATH_BANDS;
  assert(kind != ATH_DEDUPLICATE_NONE && threads >= 1);
  if (threads > bands) threads = bands;
  size_tables(&self, memory / (uint64_t)threads, rows->first[rows->count]);
  ath_outcome outcomes[ATH_BANDS];
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int band = 0; band < bands; band++)
    ath_outcome_keep(&outcomes[band], search_band(&self, band));
  for (int band = 0; band < bands; band++) ATH_TRY(ath_outcome_return(&outcomes[band]));
  return ATH_OK;
}
