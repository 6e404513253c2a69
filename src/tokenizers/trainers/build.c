/* build.c: a tokenizer made around a trained vocabulary: its tokenizer.json is composed, and read
 * like any other. */
#include "tokenizers/trainers/build.h"

#include <omp.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizers/tokenizer.h"

#define JSON_LIMIT ((size_t)1 << 32)

/* --- special tokens -------------------------------------------------------------------------- */

int ath_build_special(const ath_build *self, const char *token, size_t length) {
  for (size_t i = 0; i < self->special_count; i++)
    if (strlen(self->specials[i]) == length && memcmp(self->specials[i], token, length) == 0)
      return (int)i;
  return -1;
}

/* `number` is that of the token in the caller's list; the model's own are sound. */
static ath_status add_special(ath_build *self, const char *token, size_t number) {
  size_t length = strlen(token);
  if (length == 0 || ath_utf8_prefix(token, length) != length)
    return ath_fail(ATH_USAGE, "special token %zu of those given must be UTF-8, and not empty",
                    number);
  if (ath_build_special(self, token, length) >= 0)
    return ath_fail(ATH_USAGE, "the special token \"%.100s\" is there twice", token);
  if (self->special_count == ATH_SPECIALS_MAX)
    return ath_fail(ATH_USAGE, "more than %d special tokens", ATH_SPECIALS_MAX);
  self->specials[self->special_count++] = token;
  return ATH_OK;
}

static bool is_named(const char *token, const ath_training_options *options) {
  for (size_t i = 0; i < options->special_count; i++)
    if (strcmp(options->special_tokens[i], token) == 0) return true;
  return false;
}

static ath_status check_options(const ath_training_options *o) {
  if (o->vocab_size < ATH_VOCAB_SIZE_MIN || o->vocab_size > ATH_VOCAB_SIZE_MAX)
    return ath_fail(ATH_USAGE, "vocabulary size %d: must be %d to %d", (int)o->vocab_size,
                    ATH_VOCAB_SIZE_MIN, ATH_VOCAB_SIZE_MAX);
  if (o->max_word_length < 1 || o->max_word_length > ATH_WORD_LENGTH_MAX)
    return ath_fail(ATH_USAGE, "words of up to %zu characters: must be 1 to %d",
                    o->max_word_length, ATH_WORD_LENGTH_MAX);
  if (o->memory < ATH_TRAINING_MEMORY_MIN)
    return ath_fail(ATH_USAGE, "%llu bytes of memory: must be at least %d",
                    (unsigned long long)o->memory, ATH_TRAINING_MEMORY_MIN);
  if (o->threads < 0 || o->threads > ATH_THREADS_MAX)
    return ath_fail(ATH_USAGE, "%d threads: must be 0 to %d", o->threads, ATH_THREADS_MAX);
  return ATH_OK;
}

ath_status ath_build_init(ath_build *self, const ath_recipe *recipe,
                          const ath_training_options *options) {
  *self = (ath_build){.recipe = recipe};
  ATH_TRY(check_options(options));
  for (size_t i = 0; i < ATH_OWN_SPECIALS; i++)
    if (!is_named(recipe->specials[i], options)) ATH_TRY(add_special(self, recipe->specials[i], 0));
  for (size_t i = 0; i < options->special_count; i++)
    ATH_TRY(add_special(self, options->special_tokens[i], i + 1));
  if (self->special_count < (size_t)options->vocab_size) return ATH_OK;
  return ath_fail(ATH_USAGE, "vocabulary size %d: there are %zu special tokens alone",
                  (int)options->vocab_size, self->special_count);
}

/* --- the file -------------------------------------------------------------------------------- */

static void write_added(const ath_build *self, ath_json_writer *out) {
  ath_json_open(out, "added_tokens", '[');
  for (size_t i = 0; i < self->special_count; i++) {
    const char *token = self->specials[i];
    ath_json_open(out, NULL, '{');
    ath_json_put_integer(out, "id", (int64_t)i);
    ath_json_put_text(out, "content", token);
    ath_json_put_flag(out, "lstrip",
                      self->recipe->mask_strips && strcmp(token, self->recipe->mask) == 0);
    ath_json_put_flag(out, "normalized", false);
    ath_json_put_flag(out, "special", true);
    ath_json_close(out, '}');
  }
  ath_json_close(out, ']');
}

static void write_part(const char *key, const char *json, ath_json_writer *out) {
  if (json != NULL) ath_json_put_literal(out, key, json);
}

static void write_post_processor(const ath_build *self, ath_json_writer *out) {
  const ath_recipe *recipe = self->recipe;
  if (recipe->post_processor == NULL) return;
  char text[1024];
  int length = snprintf(text, sizeof text, recipe->post_processor,
                        ath_build_special(self, recipe->first, strlen(recipe->first)),
                        ath_build_special(self, recipe->last, strlen(recipe->last)));
  assert(length > 0 && (size_t)length < sizeof text);
  ath_json_put_literal(out, "post_processor", text);
}

static ath_status write_tokenizer(const ath_build *self, ath_model_writer write,
                                  const void *context, ath_buffer *out) {
  ath_json_writer writer = ath_json_writer_make(out);
  ath_json_open(&writer, NULL, '{');
  ath_json_put_text(&writer, "version", "1.0");
  write_added(self, &writer);
  write_part("normalizer", self->recipe->normalizer, &writer);
  write_part("pre_tokenizer", self->recipe->pre_tokenizer, &writer);
  write_post_processor(self, &writer);
  write_part("decoder", self->recipe->decoder, &writer);
  ath_json_open(&writer, "model", '{');
  write(context, &writer);
  ath_json_close(&writer, '}');
  ath_json_close(&writer, '}');
  return writer.status;
}

static ath_status read_text(const ath_buffer *text, ath_tokenizer **out) {
  ath_tokenizer *self;
  ATH_TRY(ath_tokenizer_create(&self));
  ath_status status = ath_tokenizer_read_text("the trained tokenizer", text, self);
  if (status == ATH_OK) *out = self;
  else ath_tokenizer_destroy(self);
  return status;
}

ath_status ath_build_tokenizer(const ath_build *self, ath_model_writer write, const void *context,
                               ath_tokenizer **out) {
  ath_buffer text = ath_buffer_make(JSON_LIMIT);
  ath_status status = write_tokenizer(self, write, context, &text);
  if (status == ATH_OK) status = read_text(&text, out);
  ath_buffer_free(&text);
  return status;
}

/* --- the words ------------------------------------------------------------------------------- */

/* A model without tokens: nothing is encoded with it. */
static void write_no_model(const void *context, ath_json_writer *out) {
  (void)context;
  ath_json_put_text(out, "type", "WordLevel");
  ath_json_put_text(out, "unk_token", "");
  ath_json_open(out, "vocab", '{');
  ath_json_close(out, '}');
}

ath_status ath_build_cutter(const ath_build *self, ath_tokenizer **out) {
  ath_recipe recipe = *self->recipe;
  ath_build cutter = *self;
  cutter.recipe = &recipe;
  recipe.post_processor = NULL;
  if (recipe.word_cutter != NULL) recipe.pre_tokenizer = recipe.word_cutter;
  if (recipe.reads_specials) cutter.special_count = 0;
  return ath_build_tokenizer(&cutter, write_no_model, NULL, out);
}

int ath_training_threads(const ath_training_options *options) {
  return options->threads > 0 ? options->threads : omp_get_max_threads();
}

ath_status ath_build_count_words(const ath_build *self, const char *const *paths,
                                 size_t path_count, const ath_training_options *options,
                                 size_t bytes_per_letter, ath_word_list *out,
                                 ath_training_report *report) {
  if (path_count == 0) return ath_fail(ATH_USAGE, "no text files to train on");
  ath_word_limits limits = {.max_word_length = options->max_word_length,
                            .text_maximum = options->memory / bytes_per_letter,
                            .threads = ath_training_threads(options),
                            .reading = options->reading};
  if (limits.text_maximum > ATH_WORD_TEXT_MAX) limits.text_maximum = ATH_WORD_TEXT_MAX;
  ath_tokenizer *cutter = NULL;
  ATH_TRY(ath_build_cutter(self, &cutter));
  ath_status status = ath_word_count_some(paths, path_count, cutter, &limits, out, report);
  ath_tokenizer_destroy(cutter);
  return status;
}
