/* train_bpe.c: training of byte-level BPE: the first symbols are the 256 bytes. */
#include <assert.h>
#include <stdlib.h>

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/trainers/build.h"
#include "tokenizers/trainers/learn_merges.h"
#include "tokenizers/trainers/merge_training.h"

enum { LETTERS_END = 0x144 }; /* one past the last code point that stands for a byte */

ath_bpe_options ath_bpe_defaults(void) {
  return (ath_bpe_options){.common = {.vocab_size = 30000, .max_word_length = ATH_WORD_LENGTH_MAX,
                                      .memory = ATH_TRAINING_MEMORY}};
}

/* The tokens that the merges begin with: special ones, and the letters of the bytes by code
 * point. A letter that is a special token has that one's id. */
static ath_status add_letters(ath_merge_training *self, uint32_t ids[256]) {
  for (uint32_t c = 0; c < LETTERS_END; c++) {
    int byte = ath_letter_byte(c);
    if (byte < 0) continue;
    const ath_byte_letter *letter = &ath_byte_letters[byte];
    ATH_TRY(ath_token_list_add(&self->tokens, letter->utf8, letter->length, 1,
                               (int32_t *)&ids[byte]));
  }
  return ATH_OK;
}

static ath_status spell_words(ath_merge_training *self, const uint32_t ids[256]) {
  const ath_word_list *words = &self->words;
  ATH_TRY(ath_word_rows_init(&self->rows, words->count, words->starts[words->count]));
  for (size_t w = 0; w < words->count; w++) {
    const char *word = words->text + words->starts[w];
    uint32_t length = words->starts[w + 1] - words->starts[w] - 1;
    uint32_t *symbols = ath_word_rows_open(&self->rows);
    for (uint32_t i = 0; i < length; i++) symbols[i] = ids[(uint8_t)word[i]];
    ath_word_rows_close(&self->rows, words->counts[w], length);
  }
  return ATH_OK;
}

/* An ath_model_writer. */
static void write_model(const void *context, ath_json_writer *out) {
  const ath_merge_training *self = context;
  ath_json_put_text(out, "type", "BPE");
  ath_merge_training_write_vocab(self, out);
  ath_json_open(out, "merges", '[');
  for (size_t i = 0; i < self->merges.count; i++) {
    const ath_merge *merge = &self->merges.items[i];
    size_t length;
    ath_json_open(out, NULL, '[');
    const char *left = ath_token_list_text(&self->tokens, merge->left, &length);
    ath_json_put_string(out, NULL, left, length);
    const char *right = ath_token_list_text(&self->tokens, merge->right, &length);
    ath_json_put_string(out, NULL, right, length);
    ath_json_close(out, ']');
  }
  ath_json_close(out, ']');
}

static ath_status train(ath_merge_training *self, const char *const *paths, size_t path_count,
                        const ath_bpe_options *options, ath_tokenizer **out,
                        ath_training_report *report) {
  uint32_t ids[256] = {0};
  ATH_TRY(ath_merge_training_begin(self, &ath_recipe_bpe, &options->common));
  ATH_TRY(add_letters(self, ids));
  ATH_TRY(ath_merge_training_check_size(self, "256 bytes"));
  ATH_TRY(ath_merge_training_count(self, paths, path_count));
  ATH_TRY(spell_words(self, ids));
  ath_merge_wish wish = {.min_frequency = options->min_frequency, .prefix = "",
                         .max_token_length = options->max_token_length};
  return ath_merge_training_finish(self, &wish, write_model, out, report);
}

ath_status ath_bpe_train(const char *const *paths, size_t path_count,
                         const ath_bpe_options *options, ath_tokenizer **out,
                         ath_training_report *report) {
  ath_merge_training self = {.words = {0}};
  ath_status status = train(&self, paths, path_count, options, out, report);
  ath_merge_training_end(&self);
  return status;
}
