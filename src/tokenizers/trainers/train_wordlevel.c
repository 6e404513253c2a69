/* train_wordlevel.c: training of the model whose tokens are whole words: the most frequent ones,
 * in the order of `tokenizers`. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tokenizers/trainers/build.h"

/* Memory for each byte of the distinct words: itself, its count, and its place in an order. */
enum { BYTES_PER_LETTER = 8 };

ath_wordlevel_options ath_wordlevel_defaults(void) {
  return (ath_wordlevel_options){.common = {.vocab_size = 30000, .max_word_length = 4096,
                                            .memory = ATH_TRAINING_MEMORY},
                                 .lowercase = 1};
}

/* The words that become tokens, in their order. */
typedef struct model {
  const ath_build *build;
  ath_word_list words;
  uint32_t *chosen;
  size_t count;
} model;

static int by_count(const void *left, const void *right, void *context) {
  const ath_word_list *words = context;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  if (words->counts[a] != words->counts[b]) return words->counts[a] > words->counts[b] ? -1 : 1;
  return strcmp(words->text + words->starts[a], words->text + words->starts[b]);
}

static size_t length_of(const ath_word_list *words, size_t w) {
  return words->starts[w + 1] - words->starts[w] - 1;
}

/* A word that is a special token's text has an id already. */
static ath_status choose(model *self, const ath_wordlevel_options *options) {
  const ath_word_list *words = &self->words;
  size_t room = (size_t)options->common.vocab_size - self->build->special_count;
  self->chosen = malloc((words->count + 1) * sizeof *self->chosen);
  if (self->chosen == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu words", words->count);
  for (size_t w = 0; w < words->count; w++)
    if (words->counts[w] >= options->min_frequency &&
        ath_build_special(self->build, words->text + words->starts[w], length_of(words, w)) < 0)
      self->chosen[self->count++] = (uint32_t)w;
  qsort_r(self->chosen, self->count, sizeof *self->chosen, by_count, (void *)(uintptr_t)words);
  if (self->count < room)
    ath_log(ATH_LOG_WARNING, "the text gives a vocabulary of %zu, not the %d asked for",
            self->count + self->build->special_count, (int)options->common.vocab_size);
  else
    self->count = room;
  return ATH_OK;
}

/* An ath_model_writer. */
static void write_model(const void *context, ath_json_writer *out) {
  const model *self = context;
  const ath_build *build = self->build;
  ath_json_put_text(out, "type", "WordLevel");
  ath_json_put_text(out, "unk_token", "[UNK]");
  ath_json_open(out, "vocab", '{');
  for (size_t i = 0; i < build->special_count; i++)
    ath_json_put_integer(out, build->specials[i], (int64_t)i);
  for (size_t i = 0; i < self->count; i++)
    ath_json_put_integer(out, self->words.text + self->words.starts[self->chosen[i]],
                         (int64_t)(build->special_count + i));
  ath_json_close(out, '}');
}

static ath_status train(model *self, const char *const *paths, size_t path_count,
                        const ath_wordlevel_options *options, ath_tokenizer **out,
                        ath_training_report *report) {
  ATH_TRY(ath_build_count_words(self->build, paths, path_count, &options->common,
                                BYTES_PER_LETTER, &self->words, report));
  ATH_TRY(choose(self, options));
  report->vocab_size = (int32_t)(self->build->special_count + self->count);
  report->tokens_per_word = 1;
  return ath_build_tokenizer(self->build, write_model, self, out);
}

ath_status ath_wordlevel_train(const char *const *paths, size_t path_count,
                               const ath_wordlevel_options *options, ath_tokenizer **out,
                               ath_training_report *report) {
  ath_build build;
  ATH_TRY(ath_build_init(&build, options->lowercase ? &ath_recipe_bert : &ath_recipe_bert_cased,
                         &options->common));
  model self = {.build = &build};
  ath_training_report own = {0};
  ath_status status = train(&self, paths, path_count, options, out, &own);
  if (status == ATH_OK && report != NULL) *report = own;
  ath_word_list_free(&self.words);
  free(self.chosen);
  return status;
}
