/* merge_training.c: what the trainers of BPE and WordPiece have in common. */
#include "tokenizers/trainers/merge_training.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* A byte of a distinct word is a byte of text, a symbol, up to two places in the lists of pairs'
 * words, and its share of the pairs. */
enum { BYTES_PER_LETTER = 32 };

ath_status ath_merge_training_begin(ath_merge_training *self, const ath_recipe *recipe,
                                    const ath_training_options *options) {
  self->options = *options;
  ATH_TRY(ath_build_init(&self->build, recipe, options));
  if (options->vocab_size > ATH_MERGE_IDS_MAX)
    return ath_fail(ATH_USAGE, "vocabulary size %d: must be at most %d", (int)options->vocab_size,
                    ATH_MERGE_IDS_MAX);
  ATH_TRY(ath_token_list_init(&self->tokens));
  for (size_t i = 0; i < self->build.special_count; i++) {
    const char *token = self->build.specials[i];
    size_t length = strlen(token);
    int32_t id;
    ATH_TRY(ath_token_list_add(&self->tokens, token, length,
                               (uint32_t)ath_utf8_count(token, length), &id));
    assert(id == (int32_t)i);
  }
  return ATH_OK;
}

ath_status ath_merge_training_count(ath_merge_training *self, const char *const *paths,
                                    size_t path_count) {
  return ath_build_count_words(&self->build, paths, path_count, &self->options, BYTES_PER_LETTER,
                               &self->words, &self->report);
}

ath_status ath_merge_training_check_size(const ath_merge_training *self,
                                         const char *first_tokens) {
  if (self->tokens.count <= self->options.vocab_size) return ATH_OK;
  return ath_fail(ATH_INVALID, "vocabulary size %d is too small: %s and %zu special tokens need at "
                  "least %d", (int)self->options.vocab_size, first_tokens,
                  self->build.special_count, (int)self->tokens.count);
}

ath_status ath_merge_training_finish(ath_merge_training *self, ath_merge_wish *wish,
                                     ath_model_writer write, ath_tokenizer **out,
                                     ath_training_report *report) {
  double words = (double)self->words.total;
  ath_word_list_free(&self->words); /* which the rows now are */
  wish->vocab_size = self->options.vocab_size;
  ATH_TRY(ath_merges_learn(&self->rows, &self->tokens, wish, &self->merges));
  self->report.vocab_size = self->tokens.count;
  self->report.tokens_per_word = (double)self->rows.tokens / words;
  ATH_TRY(ath_build_tokenizer(&self->build, write, self, out));
  if (report != NULL) *report = self->report;
  return ATH_OK;
}

void ath_merge_training_write_vocab(const ath_merge_training *self, ath_json_writer *out) {
  ath_json_open(out, "vocab", '{');
  for (int32_t id = 0; id < self->tokens.count; id++) {
    size_t length;
    const char *token = ath_token_list_text(&self->tokens, id, &length);
    ath_json_put_member(out, token, length, id);
  }
  ath_json_close(out, '}');
}

void ath_merge_training_end(ath_merge_training *self) {
  ath_token_list_free(&self->tokens);
  ath_word_list_free(&self->words);
  ath_word_rows_free(&self->rows);
  free(self->merges.items);
  *self = (ath_merge_training){.words = {0}};
}
