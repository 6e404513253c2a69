/* learn_merges.c: the most frequent pair is merged first, of equals that of the least ids: the
 * order that `tokenizers` has, found by experiment.
 *
 *     word  "low"×5       l o w      pairs: lo ×7, ow ×7, we ×2, er ×2
 *     word  "lower"×2     l o w e r  merge lo: lo w, lo w e r; pairs: low ×7, we ×2, er ×2
 *
 * A merge looks only at the words that have its pair. What it changes is first added up by
 * neighbour, since all pairs concerned have one symbol in common, and only then looked up. The
 * queue's entries are not kept up to date: one that comes first with an old count is put back with
 * the new one. */
#include "tokenizers/trainers/learn_merges.h"

#include <stdbool.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/resize.h"
#include "tokenizers/trainers/pair_queue.h"
#include "tokenizers/trainers/pair_table.h"

enum {
  PROGRESS_STEP = 1000, /* merges between two reports */
  AHEAD = 8,            /* words ahead that are fetched: they are far apart in memory */
};

/* What the merge under way does to pairs with the symbol that stands to its left, or right. */
typedef struct neighbour {
  int64_t lost, gained;
  uint32_t word_count, last; /* the words of the gained pair, and the one noted last */
  uint32_t *words;
} neighbour;

enum { LEFT, RIGHT };

typedef struct gain {
  uint32_t symbol;
  uint32_t side;
  uint32_t row;
} gain;

typedef struct learner {
  ath_word_rows *rows;
  ath_token_list *tokens;
  ath_merge_wish wish;
  ath_pair_table table;
  ath_pair_queue queue;
  /* The words of all entries, one after another. A word has fewer pairs than symbols at first, and
   * a merge, which takes one symbol away, makes two at most: so much room, of which what is not
   * used costs nothing, is enough for ever. */
  uint32_t *words;
  size_t words_used, words_capacity;
  /* Of the merge under way. */
  neighbour *neighbours[2]; /* by symbol */
  int32_t *touched[2];      /* the symbols of which that is not all zeros */
  size_t touched_count[2];
  gain *gains;
  size_t gain_count, gain_capacity;
} learner;

static void learner_free(learner *self) {
  ath_pair_table_free(&self->table);
  ath_pair_queue_free(&self->queue);
  free(self->words);
  for (int side = LEFT; side <= RIGHT; side++) {
    free(self->neighbours[side]);
    free(self->touched[side]);
  }
  free(self->gains);
}

static ath_status allocate(learner *self) {
  size_t symbols = (size_t)self->wish.vocab_size;
  self->words_capacity = 3 * self->rows->symbols;
  self->words = ath_memory_alloc((self->words_capacity + 1) * sizeof *self->words);
  bool made = self->words != NULL;
  for (int side = LEFT; side <= RIGHT; side++) {
    self->neighbours[side] = calloc(symbols, sizeof *self->neighbours[side]);
    self->touched[side] = malloc(symbols * sizeof *self->touched[side]);
    made = made && self->neighbours[side] != NULL && self->touched[side] != NULL;
  }
  if (!made) return ath_fail(ATH_NO_MEMORY, "no memory to learn merges of %zu symbols",
                             self->rows->symbols);
  return ATH_OK;
}

static uint64_t pair_of(uint32_t left, uint32_t right) { return (uint64_t)left << 32 | right; }

/* Room for the words of an entry. */
static uint32_t *take_words(learner *self, size_t count) {
  assert(count <= self->words_capacity - self->words_used);
  uint32_t *words = self->words + self->words_used;
  self->words_used += count;
  return words;
}

/* --- the first pairs ------------------------------------------------------------------------- */

/* The entries of the first pairs; in `numbers` a pair's count is the number of its entry and 1. */
typedef struct first_pairs {
  ath_pair_table numbers;
  ath_pair_entry *entries;
  size_t count, capacity;
} first_pairs;

static ath_status entry_of(first_pairs *self, uint64_t pair, ath_pair_entry **out) {
  ath_pair_slot *slot;
  ATH_TRY(ath_pair_table_add(&self->numbers, pair, &slot));
  if (slot->count == 0) {
    if (self->count == self->capacity) {
      size_t capacity = self->capacity * 2 + 1024;
      if (!ath_resize(&self->entries, capacity * sizeof *self->entries))
        return ath_fail(ATH_NO_MEMORY, "no memory for %zu pairs", capacity);
      self->capacity = capacity;
    }
    self->entries[self->count++] = (ath_pair_entry){.pair = pair};
    slot->count = (int64_t)self->count;
  }
  *out = &self->entries[slot->count - 1];
  return ATH_OK;
}

static size_t row_end(const ath_word_rows *rows, size_t row) {
  return row + ATH_ROW_SYMBOLS + rows->cells[row + ATH_ROW_LENGTH];
}

/* `word_count` is an upper bound at first: a word that has the pair twice counts twice. Rows are
 * gone through by their lengths only here and below, before merges shorten them. */
static ath_status count_first(first_pairs *self, const ath_word_rows *rows) {
  for (size_t row = 0, end; row < rows->used; row = end) {
    end = row_end(rows, row);
    int64_t count = ath_row_count(rows->cells + row);
    for (size_t at = row + ATH_ROW_SYMBOLS; at + 1 < end; at++) {
      ath_pair_entry *entry;
      ATH_TRY(entry_of(self, pair_of(rows->cells[at], rows->cells[at + 1]), &entry));
      entry->count += count;
      entry->word_count++;
    }
  }
  return ATH_OK;
}

static ath_status note_first(first_pairs *self, const ath_word_rows *rows) {
  for (size_t row = 0, end; row < rows->used; row = end) {
    end = row_end(rows, row);
    for (size_t at = row + ATH_ROW_SYMBOLS; at + 1 < end; at++) {
      ath_pair_entry *entry;
      ATH_TRY(entry_of(self, pair_of(rows->cells[at], rows->cells[at + 1]), &entry));
      if (entry->word_count > 0 && entry->last == row) continue;
      entry->last = (uint32_t)row;
      entry->words[entry->word_count++] = (uint32_t)row;
    }
  }
  return ATH_OK;
}

static ath_status find_first(learner *self, first_pairs *pairs) {
  ATH_TRY(count_first(pairs, self->rows));
  for (size_t i = 0; i < pairs->count; i++) {
    pairs->entries[i].words = take_words(self, pairs->entries[i].word_count);
    pairs->entries[i].word_count = 0;
  }
  ATH_TRY(note_first(pairs, self->rows));
  for (size_t i = 0; i < pairs->count; i++) {
    ath_pair_slot *slot;
    ATH_TRY(ath_pair_table_add(&self->table, pairs->entries[i].pair, &slot));
    slot->count = pairs->entries[i].count;
    ATH_TRY(ath_pair_queue_push(&self->queue, pairs->entries[i]));
  }
  return ATH_OK;
}

static ath_status start(learner *self) {
  ATH_TRY(allocate(self));
  first_pairs pairs = {.count = 0};
  ath_status status = find_first(self, &pairs);
  ath_pair_table_free(&pairs.numbers);
  free(pairs.entries);
  return status;
}

/* --- one merge ------------------------------------------------------------------------------- */

static neighbour *touch(learner *self, int side, uint32_t symbol) {
  neighbour *n = &self->neighbours[side][symbol];
  if ((n->lost | n->gained) == 0)
    self->touched[side][self->touched_count[side]++] = (int32_t)symbol;
  return n;
}

static void lose(learner *self, int side, uint32_t symbol, int64_t count) {
  touch(self, side, symbol)->lost += count;
}

/* The pair of what the merge makes with its neighbour; room was made for it. Made beside itself,
 * it has one pair, whichever of the two looks. */
static void win(learner *self, int side, uint32_t symbol, const ath_merge *merge, uint32_t row,
                int64_t count) {
  uint32_t limit = self->wish.max_token_length;
  const uint32_t *lengths = self->tokens->characters;
  if (limit > 0 && lengths[symbol] + lengths[merge->id] >= limit) return;
  if (symbol == (uint32_t)merge->id) side = LEFT;
  neighbour *n = touch(self, side, symbol);
  n->gained += count;
  if (n->word_count > 0 && n->last == row) return;
  n->word_count++;
  n->last = row;
  assert(self->gain_count < self->gain_capacity);
  self->gains[self->gain_count++] = (gain){symbol, (uint32_t)side, row};
}

static ath_status reserve_gains(learner *self, size_t extra) {
  if (self->gain_count + extra <= self->gain_capacity) return ATH_OK;
  size_t capacity = (self->gain_count + extra) * 2;
  if (!ath_resize(&self->gains, capacity * sizeof *self->gains))
    return ath_fail(ATH_NO_MEMORY, "no memory for %zu pairs", capacity);
  self->gain_capacity = capacity;
  return ATH_OK;
}

/* Most rows are in two lines of the cache. */
static void fetch_row(const ath_word_rows *rows, uint32_t row) {
  __builtin_prefetch(rows->cells + row, 1);
  __builtin_prefetch(rows->cells + row + 16, 1);
}

/* Merges a pair wherever it stands in a word, from left to right, and counts what that changes. A
 * pair that overlaps the one merged ("aa" in "aaa") loses, too; the merged pair itself does not:
 * its count is not looked at again, unless the same token comes about in another way. */
static ath_status merge_in_row(learner *self, const ath_merge *merge, uint32_t row) {
  uint32_t *cells = self->rows->cells + row, *symbols = cells + ATH_ROW_SYMBOLS;
  uint32_t length = cells[ATH_ROW_LENGTH], kept = 0;
  uint32_t left = (uint32_t)merge->left, right = (uint32_t)merge->right;
  int64_t count = ath_row_count(cells);
  ATH_TRY(reserve_gains(self, length));
  for (uint32_t at = 0; at < length; at++, kept++) {
    if (at + 1 == length || symbols[at] != left || symbols[at + 1] != right) {
      symbols[kept] = symbols[at];
      continue;
    }
    if (kept > 0) {
      lose(self, LEFT, symbols[kept - 1], count);
      win(self, LEFT, symbols[kept - 1], merge, row, count);
    }
    at++;
    if (at + 1 < length) {
      lose(self, RIGHT, symbols[at + 1], count);
      win(self, RIGHT, symbols[at + 1], merge, row, count);
    }
    symbols[kept] = (uint32_t)merge->id;
  }
  assert(kept <= length);
  cells[ATH_ROW_LENGTH] = kept;
  self->rows->tokens -= (uint64_t)count * (length - kept);
  return ATH_OK;
}

/* The pair that a neighbour lost, and the one that it gained. */
static uint64_t lost_pair(int side, uint32_t symbol, const ath_merge *merge) {
  return side == LEFT ? pair_of(symbol, (uint32_t)merge->left)
                      : pair_of((uint32_t)merge->right, symbol);
}

static uint64_t gained_pair(int side, uint32_t symbol, const ath_merge *merge) {
  return side == LEFT ? pair_of(symbol, (uint32_t)merge->id)
                      : pair_of((uint32_t)merge->id, symbol);
}

/* Does to the counts of pairs what was noted. Pairs too long to be merged have none. */
static ath_status apply_counts(learner *self, const ath_merge *merge, int side) {
  size_t count = self->touched_count[side];
  for (size_t i = 0; i < count; i++)
    ath_pair_table_fetch(&self->table,
                         lost_pair(side, (uint32_t)self->touched[side][i], merge));
  for (size_t i = 0; i < count; i++) {
    uint32_t symbol = (uint32_t)self->touched[side][i];
    neighbour *n = &self->neighbours[side][symbol];
    ath_pair_slot *slot;
    if (n->gained > 0) {
      ATH_TRY(ath_pair_table_add(&self->table, gained_pair(side, symbol, merge), &slot));
      slot->count += n->gained;
    }
  }
  return ATH_OK;
}

static void apply_losses(learner *self, const ath_merge *merge, int side) {
  for (size_t i = 0; i < self->touched_count[side]; i++) {
    uint32_t symbol = (uint32_t)self->touched[side][i];
    int64_t lost = self->neighbours[side][symbol].lost;
    if (lost == 0) continue;
    ath_pair_slot *slot = ath_pair_table_find(&self->table, lost_pair(side, symbol, merge));
    if (slot == NULL) continue;
    slot->count -= lost;
    assert(slot->count >= 0);
  }
}

/* Makes entries of the pairs gained, but of those that were lost again at once. */
static ath_status push_gained(learner *self, const ath_merge *merge, int side) {
  for (size_t i = 0; i < self->touched_count[side]; i++) {
    uint32_t symbol = (uint32_t)self->touched[side][i];
    neighbour *n = &self->neighbours[side][symbol];
    if (n->word_count == 0) continue;
    uint64_t pair = gained_pair(side, symbol, merge);
    const ath_pair_slot *slot = ath_pair_table_find(&self->table, pair);
    if (slot == NULL || slot->count == 0) continue;
    n->words = take_words(self, n->word_count);
    ATH_TRY(ath_pair_queue_push(&self->queue, (ath_pair_entry){.pair = pair, .count = slot->count,
                                                               .words = n->words,
                                                               .word_count = n->word_count}));
  }
  return ATH_OK;
}

/* Hands the words to the entries, and forgets the merge. */
static void finish_merge(learner *self) {
  for (size_t i = 0; i < self->gain_count; i++) {
    const gain *g = &self->gains[i];
    neighbour *n = &self->neighbours[g->side][g->symbol];
    if (n->words != NULL) *n->words++ = g->row;
  }
  self->gain_count = 0;
  for (int side = LEFT; side <= RIGHT; side++) {
    for (size_t i = 0; i < self->touched_count[side]; i++)
      self->neighbours[side][self->touched[side][i]] = (neighbour){0};
    self->touched_count[side] = 0;
  }
}

static ath_status note_merge(ath_merge_list *self, ath_merge merge) {
  if (self->count == self->capacity) {
    size_t wish = self->capacity * 2 + 4096;
    if (wish > ATH_MERGES_MAX || !ath_resize(&self->items, wish * sizeof *self->items))
      return ath_fail(ATH_NO_MEMORY, "no memory for %zu merges", wish);
    self->capacity = wish;
  }
  self->items[self->count++] = merge;
  return ATH_OK;
}

static ath_status merge_pair(learner *self, const ath_pair_entry *entry, ath_merge_list *merges) {
  ath_merge merge = {(int32_t)(entry->pair >> 32), (int32_t)(entry->pair & UINT32_MAX), -1};
  ATH_TRY(ath_token_list_join(self->tokens, merge.left, merge.right, self->wish.prefix,
                              &merge.id));
  ATH_TRY(note_merge(merges, merge));
  for (uint32_t i = 0; i < entry->word_count; i++) {
    if (i + AHEAD < entry->word_count) fetch_row(self->rows, entry->words[i + AHEAD]);
    ATH_TRY(merge_in_row(self, &merge, entry->words[i]));
  }
  for (int side = LEFT; side <= RIGHT; side++) ATH_TRY(apply_counts(self, &merge, side));
  for (int side = LEFT; side <= RIGHT; side++) apply_losses(self, &merge, side);
  for (int side = LEFT; side <= RIGHT; side++) ATH_TRY(push_gained(self, &merge, side));
  finish_merge(self);
  return ATH_OK;
}

/* --- all merges ------------------------------------------------------------------------------ */

static void report_progress(const learner *self, int finished) {
  ath_log_progress(&(ath_progress){
      .task = "tokenizer: merging", .unit = "tokens", .done = (uint64_t)self->tokens->count,
      .total = (uint64_t)self->wish.vocab_size, .finished = finished});
}

/* Each round merges a pair or corrects a count; both have an end. */
static ath_status learn(learner *self, ath_merge_list *merges) {
  while (self->tokens->count < self->wish.vocab_size && self->queue.count > 0) {
    const ath_pair_entry *first = &self->queue.entries[0];
    const ath_pair_slot *slot = ath_pair_table_find(&self->table, first->pair);
    int64_t count = slot != NULL ? slot->count : 0;
    if (first->count != count) {
      ath_pair_queue_recount(&self->queue, count);
      continue;
    }
    if (count < 1 || (uint64_t)count < self->wish.min_frequency) break;
    ath_pair_entry entry = ath_pair_queue_pop(&self->queue);
    ATH_TRY(merge_pair(self, &entry, merges));
    if (merges->count % PROGRESS_STEP == 0) report_progress(self, 0);
  }
  report_progress(self, 1);
  if (self->tokens->count < self->wish.vocab_size)
    ath_log(ATH_LOG_WARNING, "the text gives a vocabulary of %d, not the %d asked for",
            (int)self->tokens->count, (int)self->wish.vocab_size);
  return ATH_OK;
}

ath_status ath_merges_learn(ath_word_rows *rows, ath_token_list *tokens,
                            const ath_merge_wish *wish, ath_merge_list *merges) {
  assert(wish->vocab_size <= ATH_MERGE_IDS_MAX && tokens->count <= wish->vocab_size);
  learner self = {.rows = rows, .tokens = tokens, .wish = *wish};
  ath_status status = start(&self);
  if (status == ATH_OK) status = learn(&self, merges);
  learner_free(&self);
  return status;
}
