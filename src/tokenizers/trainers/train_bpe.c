/* train_bpe.c: byte-pair encoding (Sennrich, Haddow, Birch, ACL 2016) over bytes, with the order of
 * merges that `tokenizers` has, found by experiment: the most frequent pair first, of equals that
 * of the least ids.
 *
 *     word  "low"×5       l o w      pairs: lo ×7, ow ×7, we ×2, er ×2
 *     word  "lower"×2     l o w e r  merge lo: lo w, lo w e r; pairs: low ×7, we ×2, er ×2
 *
 * Counts are kept up to date by each merge, which looks only at the words that have its pair. The
 * heap's entries are not: one that comes first with an old count is put back with the new one. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash_map.h"
#include "base/log.h"
#include "tokenizers/byte_alphabet.h"
#include "tokenizers/trainers/build.h"
#include "tokenizers/trainers/pair_heap.h"
#include "tokenizers/trainers/pair_table.h"
#include "tokenizers/trainers/word_count.h"

enum { PROGRESS_STEP = 1000 }; /* merges between two reports */

ath_bpe_options ath_bpe_defaults(void) {
  return (ath_bpe_options){.vocab_size = 30000, .min_frequency = 0, .max_word_length = 1 << 16};
}

static ath_status check_options(const ath_bpe_options *o, size_t path_count) {
  if (path_count == 0) return ath_fail(ATH_USAGE, "no text files to train on");
  if (o->vocab_size < ATH_BPE_VOCAB_MIN || o->vocab_size > ATH_MERGE_IDS_MAX)
    return ath_fail(ATH_USAGE, "vocabulary size %d: must be %d (256 bytes and %d special tokens) "
                    "to %d", (int)o->vocab_size, ATH_BPE_VOCAB_MIN, ATH_BUILD_SPECIALS,
                    ATH_MERGE_IDS_MAX);
  if (o->max_word_length < 1 || o->max_word_length > 1 << 16)
    return ath_fail(ATH_USAGE, "words of up to %zu bytes: must be 1 to %d", o->max_word_length,
                    1 << 16);
  return ATH_OK;
}

/* A run of training. The symbols of word w are symbols[words.starts[w]] and following, lengths[w]
 * of them, in the room that its bytes and their NUL had. */
typedef struct trainer {
  ath_bpe_options options;
  ath_word_list words;
  int32_t *symbols;
  uint32_t *lengths;
  ath_pair_table table;
  ath_pair_heap heap;
  ath_pair_heap pending;  /* entries of the pairs that the merge under way has made */
  ath_hash_map *tokens;   /* the text of each token that a merge made → its id */
  ath_buffer text;        /* these texts; token i begins at starts[i] and ends at starts[i + 1] */
  size_t *starts;
  int32_t vocab_size;
  ath_merge *merges;
  size_t merge_count, merge_capacity;
} trainer;

static void trainer_free(trainer *self) {
  ath_word_list_free(&self->words);
  free(self->symbols);
  free(self->lengths);
  ath_pair_table_free(&self->table);
  ath_pair_heap_free(&self->heap);
  ath_pair_heap_free(&self->pending);
  ath_hash_map_destroy(self->tokens);
  ath_buffer_free(&self->text);
  free(self->starts);
  free(self->merges);
}

static uint64_t pair_of(int32_t left, int32_t right) {
  return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* --- tokens --------------------------------------------------------------------------------- */

/* An ath_word_visitor. */
static ath_status add_token(void *context, const char *bytes, size_t length) {
  trainer *self = context;
  assert(self->vocab_size < self->options.vocab_size);
  ATH_TRY(ath_hash_map_set(self->tokens, bytes, length, self->vocab_size));
  ATH_TRY(ath_buffer_append(&self->text, bytes, length));
  self->starts[++self->vocab_size] = self->text.length;
  return ATH_OK;
}

/* The id of what two tokens make, new or, where two others made the same before, theirs. */
static ath_status token_of_pair(trainer *self, int32_t left, int32_t right, int32_t *id) {
  size_t left_length = self->starts[left + 1] - self->starts[left];
  size_t right_length = self->starts[right + 1] - self->starts[right];
  char *joined = malloc(left_length + right_length);
  if (joined == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a merge");
  memcpy(joined, self->text.bytes + self->starts[left], left_length);
  memcpy(joined + left_length, self->text.bytes + self->starts[right], right_length);
  ath_status status = ATH_OK;
  if (!ath_hash_map_get(self->tokens, joined, left_length + right_length, id)) {
    *id = self->vocab_size;
    status = add_token(self, joined, left_length + right_length);
  }
  free(joined);
  return status;
}

/* --- pairs ---------------------------------------------------------------------------------- */

/* Notes that a pair stands in a word, which is `count` times in the text. */
static ath_status gain(trainer *self, int32_t left, int32_t right, uint32_t word, int64_t count) {
  ath_pair_slot *slot;
  ATH_TRY(ath_pair_table_slot(&self->table, pair_of(left, right), &slot));
  slot->count += count;
  if (slot->pending == 0) {
    ATH_TRY(ath_pair_heap_append(&self->pending, (ath_pair_entry){.pair = slot->pair}));
    slot->pending = self->pending.count;
  }
  return ath_pair_entry_add(&self->pending.entries[slot->pending - 1], word);
}

static ath_status lose(trainer *self, int32_t left, int32_t right, int64_t count) {
  ath_pair_slot *slot;
  ATH_TRY(ath_pair_table_slot(&self->table, pair_of(left, right), &slot));
  slot->count -= count;
  assert(slot->count >= 0);
  return ATH_OK;
}

/* Hands the entries of new pairs to the heap. */
static ath_status push_pending(trainer *self) {
  while (self->pending.count > 0) {
    ath_pair_entry *entry = &self->pending.entries[self->pending.count - 1];
    ath_pair_slot *slot;
    ATH_TRY(ath_pair_table_slot(&self->table, entry->pair, &slot));
    assert(slot->pending == self->pending.count);
    slot->pending = 0;
    entry->count = slot->count;
    if (entry->count > 0) ATH_TRY(ath_pair_heap_push(&self->heap, *entry));
    else free(entry->words);
    self->pending.count--;
  }
  return ATH_OK;
}

/* Merges a pair wherever it stands in a word, from left to right, and counts what that changes. A
 * pair that overlaps the one merged ("aa" in "aaa") loses, too; the merged pair itself does not:
 * its count is not looked at again, unless the same token comes about in another way. */
static ath_status merge_in_word(trainer *self, const ath_merge *merge, uint32_t word) {
  int32_t *symbols = self->symbols + self->words.starts[word];
  int64_t count = (int64_t)self->words.counts[word];
  uint32_t length = self->lengths[word], kept = 0;
  for (uint32_t at = 0; at < length; at++, kept++) {
    if (at + 1 == length || symbols[at] != merge->left || symbols[at + 1] != merge->right) {
      symbols[kept] = symbols[at];
      continue;
    }
    if (kept > 0) {
      ATH_TRY(lose(self, symbols[kept - 1], merge->left, count));
      ATH_TRY(gain(self, symbols[kept - 1], merge->id, word, count));
    }
    at++;
    if (at + 1 < length) {
      ATH_TRY(lose(self, merge->right, symbols[at + 1], count));
      ATH_TRY(gain(self, merge->id, symbols[at + 1], word, count));
    }
    symbols[kept] = merge->id;
  }
  assert(kept <= length);
  self->lengths[word] = kept;
  return ATH_OK;
}

/* --- training ------------------------------------------------------------------------------- */

static ath_status allocate(trainer *self) {
  size_t text_length = self->words.starts[self->words.count];
  self->symbols = malloc(text_length * sizeof *self->symbols);
  self->lengths = malloc(self->words.count * sizeof *self->lengths);
  self->starts = calloc((size_t)self->options.vocab_size + 1, sizeof *self->starts);
  self->text = ath_buffer_make((size_t)1 << 32);
  if (self->symbols == NULL || self->lengths == NULL || self->starts == NULL)
    return ath_fail(ATH_NO_MEMORY, "no memory to train on %zu words", self->words.count);
  return ath_hash_map_create((size_t)self->options.vocab_size, &self->tokens);
}

/* Makes a word's letters, of one or two bytes, its first symbols. */
static void spell_word(trainer *self, size_t word, const int32_t ids[ATH_BUILD_LETTERS]) {
  const uint8_t *at = (const uint8_t *)self->words.text + self->words.starts[word];
  int32_t *symbols = self->symbols + self->words.starts[word];
  uint32_t count = 0;
  while (*at != '\0') {
    uint32_t c = *at++;
    if (c >= 0x80) c = (c & 0x1F) << 6 | (*at++ & 0x3F);
    assert(c < ATH_BUILD_LETTERS && ids[c] > 0);
    symbols[count++] = ids[c];
  }
  self->lengths[word] = count;
}

static ath_status prepare(trainer *self) {
  int32_t ids[ATH_BUILD_LETTERS] = {0}, next = ATH_BUILD_SPECIALS;
  for (uint32_t c = 0; c < ATH_BUILD_LETTERS; c++)
    if (ath_letter_byte(c) >= 0) ids[c] = next++;
  ATH_TRY(allocate(self));
  ATH_TRY(ath_build_bpe_first_tokens(add_token, self));
  assert(self->vocab_size == ATH_BPE_VOCAB_MIN);
  for (size_t w = 0; w < self->words.count; w++) {
    spell_word(self, w, ids);
    const int32_t *symbols = self->symbols + self->words.starts[w];
    for (uint32_t i = 1; i < self->lengths[w]; i++)
      ATH_TRY(gain(self, symbols[i - 1], symbols[i], (uint32_t)w, (int64_t)self->words.counts[w]));
  }
  return push_pending(self);
}

static ath_status note_merge(trainer *self, ath_merge merge) {
  if (self->merge_count == self->merge_capacity) {
    size_t wish = self->merge_capacity == 0 ? 4096 : self->merge_capacity * 2;
    ath_merge *more = wish <= ATH_MERGES_MAX ? realloc(self->merges, wish * sizeof *more) : NULL;
    if (more == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu merges", wish);
    self->merges = more;
    self->merge_capacity = wish;
  }
  self->merges[self->merge_count++] = merge;
  return ATH_OK;
}

static ath_status merge_pair(trainer *self, const ath_pair_entry *entry) {
  ath_merge merge = {(int32_t)(entry->pair >> 32), (int32_t)(entry->pair & UINT32_MAX), -1};
  ATH_TRY(token_of_pair(self, merge.left, merge.right, &merge.id));
  ATH_TRY(note_merge(self, merge));
  for (uint32_t i = 0; i < entry->word_count; i++)
    ATH_TRY(merge_in_word(self, &merge, entry->words[i]));
  return push_pending(self);
}

static void report_progress(const trainer *self, int finished) {
  ath_log_progress(&(ath_progress){
      .task = "tokenizer: merging", .unit = "tokens", .done = (uint64_t)self->vocab_size,
      .total = (uint64_t)self->options.vocab_size, .finished = finished});
}

/* Each round merges a pair or corrects a count; both have an end. */
static ath_status train(trainer *self) {
  while (self->vocab_size < self->options.vocab_size && self->heap.count > 0) {
    ath_pair_slot *slot;
    ATH_TRY(ath_pair_table_slot(&self->table, self->heap.entries[0].pair, &slot));
    if (self->heap.entries[0].count != slot->count) {
      ath_pair_heap_recount(&self->heap, slot->count);
      continue;
    }
    if (slot->count < 1 || (uint64_t)slot->count < self->options.min_frequency) break;
    ath_pair_entry entry = ath_pair_heap_pop(&self->heap);
    ath_status status = merge_pair(self, &entry);
    free(entry.words);
    ATH_TRY(status);
    if (self->merge_count % PROGRESS_STEP == 0) report_progress(self, 0);
  }
  report_progress(self, 1);
  if (self->vocab_size < self->options.vocab_size)
    ath_log(ATH_LOG_WARNING, "the text gives a vocabulary of %d, not the %d asked for",
            (int)self->vocab_size, (int)self->options.vocab_size);
  return ATH_OK;
}

static double tokens_per_word(const trainer *self) {
  uint64_t tokens = 0;
  for (size_t w = 0; w < self->words.count; w++)
    tokens += self->lengths[w] * self->words.counts[w];
  return (double)tokens / (double)self->words.total;
}

static ath_status count_words(trainer *self, const char *const *paths, size_t path_count,
                              ath_training_report *report) {
  ath_tokenizer *cutter = NULL;
  ATH_TRY(ath_tokenizer_build_byte_cutter(&cutter));
  ath_status status = ath_word_count_some(paths, path_count, cutter,
                                          self->options.max_word_length, &self->words, report);
  ath_tokenizer_destroy(cutter);
  return status;
}

ath_status ath_bpe_train(const char *const *paths, size_t path_count,
                         const ath_bpe_options *options, ath_tokenizer **out,
                         ath_training_report *report) {
  ATH_TRY(check_options(options, path_count));
  ath_training_report own = {0};
  trainer self = {.options = *options};
  ath_status status = ATH_OK;
  ATH_TRY_GOTO(count_words(&self, paths, path_count, &own), done);
  ATH_TRY_GOTO(prepare(&self), done);
  ATH_TRY_GOTO(train(&self), done);
  own.vocab_size = self.vocab_size;
  own.tokens_per_word = tokens_per_word(&self);
  status = ath_tokenizer_build_bpe(self.merges, self.merge_count, self.vocab_size, out);
  if (status == ATH_OK && report != NULL) *report = own;
done:
  trainer_free(&self);
  return status;
}
