/* training.h: a small corpus with its tokenizer and shards, and a model small enough to train in
 * a test, for the tests of train/. */
#ifndef ATHANOR_TESTS_TRAINING_H
#define ATHANOR_TESTS_TRAINING_H

#include "athanor/train.h"
#include "testing.h"

enum { RECORD_LENGTH = 16 };


/* Paths inside the folder, kept until the next call. */
typedef struct corpus {
  char *folder;
  char text[4096], tokenizer[4096], train[4096], validation[4096], output[4096];
} corpus;

/* Sentences of a fixed stock of words, the same at each call. */
static inline void write_text(const char *path, int lines) {
  static const char *const words[] = {
    "the",   "a",     "small", "large", "river", "stone", "house", "green", "runs", "stands",
    "near",  "under", "old",   "new",   "road",  "bridge", "light", "dark", "slow", "quick",
    "water", "falls", "over",  "walks", "sings", "bird",  "tree",  "leaf",  "field", "cloud"};
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  uint32_t state = 12345;
  for (int line = 0; line < lines; line++) {
    for (int word = 0; word < 9; word++) {
      state = state * 1664525u + 1013904223u;
      fprintf(file, "%s%s", word > 0 ? " " : "", words[(state >> 16) % 30]);
    }
    fprintf(file, ".\n");
  }
  fclose(file);
}

static inline void make_corpus(corpus *self) {
  self->folder = make_folder();
  snprintf(self->text, sizeof self->text, "%s/text.txt", self->folder);
  snprintf(self->tokenizer, sizeof self->tokenizer, "%s/tokenizer", self->folder);
  snprintf(self->train, sizeof self->train, "%s/data/train", self->folder);
  snprintf(self->validation, sizeof self->validation, "%s/data/validation", self->folder);
  snprintf(self->output, sizeof self->output, "%s/run", self->folder);
  write_text(self->text, 120);
  char data[4096];
  snprintf(data, sizeof data, "%s/data", self->folder);
  const char *paths[] = {self->text};
  ath_unigram_options options = ath_unigram_defaults();
  options.common.vocab_size = 80;
  ath_tokenizer *tokenizer = NULL;
  assert_ok(ath_unigram_train(paths, 1, &options, &tokenizer, NULL));
  assert_ok(ath_tokenizer_save(tokenizer, self->tokenizer, 0));
  ath_prepare_options prepare = ath_prepare_defaults();
  prepare.inputs = paths;
  prepare.input_count = 1;
  prepare.output = data;
  prepare.max_length = RECORD_LENGTH;
  prepare.validation_split_percentage = 20;
  ath_prepare_report report;
  assert_ok(ath_prepare(tokenizer, &prepare, &report));
  assert_true(report.train_records > 20 && report.validation_records > 2);
  ath_tokenizer_destroy(tokenizer);
}

static inline void free_corpus(corpus *self) {
  remove_folder(self->folder);
}

/* Options of a run over the corpus that takes a fraction of a second. Free them. */
static inline ath_train_options small_run(const corpus *data) {
  ath_train_options options;
  assert_ok(ath_train_options_init(&options));
  options.train_dataset = data->train;
  options.eval_dataset = data->validation;
  options.tokenizer = data->tokenizer;
  options.output_dir = data->output;
  options.hidden_size = 16;
  options.num_hidden_layers = 1;
  options.num_attention_heads = 2;
  options.intermediate_size = 32;
  options.per_device_train_batch_size = 4;
  options.max_steps = 12;
  options.learning_rate = 1e-2;
  options.warmup_steps = 3;
  options.weight_decay = 0.01;
  options.logging_steps = 1;
  options.save_steps = 4;
  options.save_total_limit = 0;
  options.threads = 1;
  return options;
}

/* The whole file; the caller frees it. */
static inline char *file_bytes(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) fail_msg("cannot open %s", path);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  bytes[*size] = '\0';
  fclose(file);
  return bytes;
}

static inline void assert_same_file(const char *a, const char *b) {
  size_t size_a, size_b;
  char *bytes_a = file_bytes(a, &size_a), *bytes_b = file_bytes(b, &size_b);
  assert_int_equal(size_a, size_b);
  if (memcmp(bytes_a, bytes_b, size_a) != 0) fail_msg("%s and %s differ", a, b);
  free(bytes_a);
  free(bytes_b);
}

#endif
