/* tokenizer.c: athanor tokenizer train, decode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "athanor/tokenizer.h"
#include "base/buffer.h"
#include "cli/cli.h"
#include "storage/file.h"

#define OUTPUT_LIMIT ((size_t)1 << 32)

/* --- train --------------------------------------------------------------------------------- */

static ath_status print_training(const ath_training_report *report,
                                 const ath_tokenizer *tokenizer, const char *folder) {
  const char *hash = ath_tokenizer_hash(tokenizer);
  if (hash == NULL) return ATH_NO_MEMORY;
  printf("%s: %d tokens, from %llu lines (%.1f MB, %llu different words)\n", folder,
         report->vocab_size, (unsigned long long)report->lines, (double)report->bytes / 1e6,
         (unsigned long long)report->distinct_words);
  if (report->lines_skipped > 0)
    printf("lines skipped: %llu\n", (unsigned long long)report->lines_skipped);
  printf("tokens per word: %.4f\nsha256: %s\n", report->tokens_per_word, hash);
  return ATH_OK;
}

/* Before the training, so that no result is lost for want of a place. */
static ath_status open_output(const char *folder) {
  ATH_TRY(ath_folder_create(folder));
  return access(folder, W_OK | X_OK) == 0 ? ATH_OK : ath_fail_errno(errno, "%s", folder);
}

static ath_status run_train(const ath_command *self, int argc, char **argv) {
  ath_unigram_options defaults = ath_unigram_defaults();
  ath_bpe_options bpe = ath_bpe_defaults();
  const char *model = "unigram", *output = NULL;
  ath_option_list inputs = {0};
  int64_t vocab_size = defaults.vocab_size, threads = defaults.threads;
  int64_t seed_size = (int64_t)defaults.seed_size;
  int64_t min_frequency = (int64_t)bpe.min_frequency;
  const ath_option options[] = {
    {"input", ATH_OPTION_LIST, &inputs, "FILE", "Text to train on, a line at a time",
     .required = true},
    {"output", ATH_OPTION_STRING, &output, "DIR", "Folder for the tokenizer's files",
     .required = true},
    {"model", ATH_OPTION_STRING, &model, "NAME", .help = "Kind of model: unigram or bpe"},
    {"vocab-size", ATH_OPTION_INTEGER, &vocab_size, "N",
     "Number of tokens, the five special ones included",
     .minimum = ATH_VOCAB_SIZE_MIN, .maximum = ATH_VOCAB_SIZE_MAX},
    {"seed-size", ATH_OPTION_INTEGER, &seed_size, "N",
     "unigram: number of pieces to start from and choose among",
     .minimum = 1, .maximum = ATH_SEED_SIZE_MAX},
    {"min-frequency", ATH_OPTION_INTEGER, &min_frequency, "N",
     "bpe: how often a pair must be there to be merged", .minimum = 0, .maximum = INT32_MAX},
    {"threads", ATH_OPTION_INTEGER, &threads, "N",
     "unigram: threads, 0 for one per core; the result is the same",
     .minimum = 0, .maximum = ATH_THREADS_MAX},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  bool is_bpe = strcmp(model, "bpe") == 0;
  if (!is_bpe && strcmp(model, "unigram") != 0)
    return ath_fail(ATH_USAGE, "--model %s: the kinds of model that can be trained are unigram "
                    "and bpe", model);
  defaults.vocab_size = bpe.vocab_size = (int32_t)vocab_size;
  defaults.threads = (int)threads;
  defaults.seed_size = (size_t)seed_size;
  bpe.min_frequency = (uint64_t)min_frequency;
  ATH_TRY(open_output(output));
  ath_tokenizer *tokenizer;
  ath_training_report report;
  if (is_bpe) ATH_TRY(ath_bpe_train(inputs.items, inputs.count, &bpe, &tokenizer, &report));
  else ATH_TRY(ath_unigram_train(inputs.items, inputs.count, &defaults, &tokenizer, &report));
  ath_status status = ath_tokenizer_save(tokenizer, output, 0);
  if (status == ATH_OK) status = print_training(&report, tokenizer, output);
  ath_tokenizer_destroy(tokenizer);
  return status;
}

const ath_command ath_command_tokenizer_train = {
  .name = "tokenizer train",
  .summary = "make a tokenizer from text files",
  .details =
      "Writes tokenizer.json, tokenizer_config.json and special_tokens_map.json, which the\n"
      "Python libraries open as they are. Of unigram the special tokens [CLS] [SEP] <unk> <pad>\n"
      "[MASK] are the ids 0 to 4; of bpe, which is that of roberta-base over bytes, they are\n"
      "<s> <pad> </s> <unk> <mask>.\n\n"
      "Example:\n"
      "  athanor tokenizer train --vocab-size 8000 --input text.txt --output run/tokenizer",
  .run = run_train,
};

/* --- decode -------------------------------------------------------------------------------- */

typedef struct decoder {
  const ath_tokenizer *tokenizer;
  bool skip_special;
  int32_t *ids;
  size_t count, capacity;
  ath_buffer line;
} decoder;

/* Adds the ids in a text, which spaces, tabs or commas separate. */
static ath_status add_ids(decoder *self, const char *text) {
  static const char between[] = " \t,[]";
  for (text += strspn(text, between); *text != '\0'; text += strspn(text, between)) {
    char *end;
    errno = 0;
    long id = strtol(text, &end, 10);
    if (end == text || errno != 0 || id < 0 || id > INT32_MAX ||
        (*end != '\0' && strchr(between, *end) == NULL))
      return ath_fail(ATH_INVALID, "\"%.*s\" is not an id", (int)strcspn(text, between), text);
    if (self->count == self->capacity) {
      size_t capacity = self->capacity * 2 + 256;
      int32_t *ids = realloc(self->ids, capacity * sizeof *ids);
      if (ids == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu ids", capacity);
      self->ids = ids;
      self->capacity = capacity;
    }
    self->ids[self->count++] = (int32_t)id;
    text = end;
  }
  return ATH_OK;
}

static ath_status decode_ids(decoder *self) {
  ATH_TRY(ath_tokenizer_decode(self->tokenizer, self->ids, self->count, self->skip_special,
                               &self->line));
  self->count = 0;
  ATH_TRY(ath_buffer_byte(&self->line, '\n'));
  return ath_cli_flush(&self->line);
}

static ath_status decode_all(decoder *self, const ath_operands *operands) {
  for (int i = 0; i < operands->count; i++) ATH_TRY(add_ids(self, operands->items[i]));
  if (operands->count > 0) return decode_ids(self);
  for (unsigned long long number = 1;; number++) {
    const char *line;
    size_t length;
    ATH_TRY(ath_cli_read_line(&line, &length));
    if (line == NULL) return ATH_OK;
    if (strlen(line) != length)
      return ath_fail(ATH_INVALID, "standard input: line %llu: holds a NUL character", number);
    ATH_TRY_CONTEXT(add_ids(self, line), "standard input: line %llu", number);
    ATH_TRY_CONTEXT(decode_ids(self), "standard input: line %llu", number);
  }
}

static ath_status run_decode(const ath_command *self, int argc, char **argv) {
  const char *folder = NULL;
  bool skip = false;
  const ath_option options[] = {
    ATH_TOKENIZER_OPTION(folder),
    {"skip-special-tokens", ATH_OPTION_FLAG, &skip, NULL,
     .help = "Leave out [CLS], [SEP] and their like"},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ath_tokenizer *tokenizer;
  ATH_TRY(ath_tokenizer_load(folder, &tokenizer));
  decoder d = {.tokenizer = tokenizer, .skip_special = skip,
               .line = ath_buffer_make(OUTPUT_LIMIT)};
  ath_status status = decode_all(&d, &operands);
  free(d.ids);
  ath_buffer_free(&d.line);
  ath_tokenizer_destroy(tokenizer);
  return status;
}

const ath_command ath_command_tokenizer_decode = {
  .name = "tokenizer decode",
  .summary = "turn ids back into text",
  .operands = "[ID…]",
  .details =
      "Without ids, each line of standard input holds those of one text.\n\n"
      "Example:\n"
      "  athanor tokenizer decode --tokenizer run/tokenizer --skip-special-tokens 0 52 138 1",
  .run = run_decode,
};
