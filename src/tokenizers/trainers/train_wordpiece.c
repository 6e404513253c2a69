/* train_wordpiece.c: training of WordPiece as `tokenizers` has it: the merges of BPE, among symbols
 * of which those inside a word carry "##". The pieces that the merges make are the vocabulary.
 *
 *     "low"×5, "lower"×2    l ##o ##w, l ##o ##w ##e ##r    merge l ##o: lo
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizers/characters.h"
#include "tokenizers/pipeline.h"
#include "tokenizers/trainers/alphabet.h"
#include "tokenizers/trainers/merge_training.h"

#define PREFIX "##"

ath_wordpiece_options ath_wordpiece_defaults(void) {
  return (ath_wordpiece_options){.common = {.vocab_size = 30000, .max_word_length = 4096,
                                            .memory = ATH_TRAINING_MEMORY},
                                 .lowercase = 1};
}

static ath_status check_options(const ath_wordpiece_options *o) {
  const char *initial = o->initial_alphabet != NULL ? o->initial_alphabet : "";
  if (ath_utf8_prefix(initial, strlen(initial)) == strlen(initial)) return ATH_OK;
  return ath_fail(ATH_USAGE, "the initial alphabet is not UTF-8");
}

/* By code point: the symbol that a character is at the beginning of a word, and inside one; −1 for
 * characters that are passed over. */
typedef struct spelling {
  int32_t *first, *inner;
} spelling;

static ath_status spelling_init(spelling *self) {
  self->first = malloc(ATH_CHARACTERS * sizeof *self->first);
  self->inner = malloc(ATH_CHARACTERS * sizeof *self->inner);
  if (self->first == NULL || self->inner == NULL)
    return ath_fail(ATH_NO_MEMORY, "no memory for an alphabet");
  memset(self->first, 0xFF, ATH_CHARACTERS * sizeof *self->first);
  memset(self->inner, 0xFF, ATH_CHARACTERS * sizeof *self->inner);
  return ATH_OK;
}

static void spelling_free(spelling *self) {
  free(self->first);
  free(self->inner);
}

/* The tokens that the merges begin with: the alphabet, then the "##" forms of those characters
 * that stand inside words; both by code point. */
static ath_status add_characters(ath_token_list *tokens, const ath_alphabet *alphabet,
                                 spelling *out) {
  char token[sizeof PREFIX + 4] = PREFIX, *character = token + strlen(PREFIX);
  for (uint32_t c = 0; c < ATH_CHARACTERS; c++) {
    if (!alphabet->kept[c]) continue;
    size_t length = ath_character_write(c, character);
    ATH_TRY(ath_token_list_add(tokens, character, length, 1, &out->first[c]));
  }
  for (uint32_t c = 0; c < ATH_CHARACTERS; c++) {
    if (out->first[c] < 0 || !alphabet->inner[c]) continue;
    size_t length = ath_character_write(c, character);
    ATH_TRY(ath_token_list_add(tokens, token, strlen(PREFIX) + length, 1, &out->inner[c]));
  }
  return ATH_OK;
}

static ath_status spell_words(ath_merge_training *self, const spelling *how) {
  const ath_word_list *words = &self->words;
  ATH_TRY(ath_word_rows_init(&self->rows, words->count, words->starts[words->count]));
  for (size_t w = 0; w < words->count; w++) {
    const char *word = words->text + words->starts[w];
    uint32_t *symbols = ath_word_rows_open(&self->rows), length = 0;
    for (size_t at = 0; word[at] != '\0'; at += ath_character_length(word[at])) {
      uint32_t c = ath_character_at(word, at);
      int32_t symbol = at == 0 ? how->first[c] : how->inner[c];
      if (symbol >= 0) symbols[length++] = (uint32_t)symbol;
    }
    ath_word_rows_close(&self->rows, words->counts[w], length);
  }
  return ATH_OK;
}

static ath_status spell(ath_merge_training *self, const ath_wordpiece_options *options,
                        spelling *how) {
  ATH_TRY(spelling_init(how));
  ath_alphabet alphabet;
  ATH_TRY(ath_alphabet_find(&self->words, options->initial_alphabet, options->limit_alphabet,
                            &alphabet));
  ath_status status = add_characters(&self->tokens, &alphabet, how);
  ath_alphabet_free(&alphabet);
  if (status == ATH_OK) status = ath_merge_training_check_size(self, "the characters");
  return status == ATH_OK ? spell_words(self, how) : status;
}

/* An ath_model_writer. */
static void write_model(const void *context, ath_json_writer *out) {
  ath_json_put_text(out, "type", "WordPiece");
  ath_json_put_text(out, "unk_token", "[UNK]");
  ath_json_put_text(out, "continuing_subword_prefix", PREFIX);
  ath_json_put_integer(out, "max_input_chars_per_word", 100);
  ath_merge_training_write_vocab(context, out);
}

static ath_status train(ath_merge_training *self, const char *const *paths, size_t path_count,
                        const ath_wordpiece_options *options, ath_tokenizer **out,
                        ath_training_report *report) {
  ath_recipe recipe = options->lowercase ? ath_recipe_bert : ath_recipe_bert_cased;
  recipe.decoder = "{\"type\":\"WordPiece\",\"prefix\":\"" PREFIX "\",\"cleanup\":true}";
  ATH_TRY(check_options(options));
  ATH_TRY(ath_merge_training_begin(self, &recipe, &options->common));
  ATH_TRY(ath_merge_training_count(self, paths, path_count));
  spelling symbols = {NULL, NULL};
  ath_status status = spell(self, options, &symbols);
  spelling_free(&symbols);
  ATH_TRY(status);
  ath_merge_wish wish = {.min_frequency = options->min_frequency, .prefix = PREFIX,
                         .max_token_length = options->max_token_length};
  return ath_merge_training_finish(self, &wish, write_model, out, report);
}

ath_status ath_wordpiece_train(const char *const *paths, size_t path_count,
                               const ath_wordpiece_options *options, ath_tokenizer **out,
                               ath_training_report *report) {
  ath_merge_training self = {.words = {0}};
  ath_status status = train(&self, paths, path_count, options, out, report);
  ath_merge_training_end(&self);
  return status;
}
