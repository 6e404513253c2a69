/* tokenizer_train.c: athanor tokenizer train. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "athanor/tokenizer.h"
#include "base/resize.h"
#include "cli/cli.h"
#include "cli/place.h"
#include "cli/reading.h"
#include "storage/file.h"

enum { UNIGRAM = 1, BPE = 2, WORDPIECE = 4, WORDLEVEL = 8, MERGES = BPE | WORDPIECE };

/* What the options say. */
typedef struct settings {
  const char *model, *output;
  ath_cli_reading input;
  ath_reading reading;
  ath_option_list special_lists;
  int64_t vocab_size, threads, memory;
  int64_t seed_size, max_token_length, min_frequency, limit_alphabet;
  const char *initial_alphabet;
  bool lowercase;
  char *special_text;           /* the lists again, cut at their commas … */
  const char **special_tokens;  /* … into these */
  size_t special_count;
} settings;

static void settings_free(settings *self) {
  free(self->special_text);
  free(self->special_tokens);
}

/* --- options --------------------------------------------------------------------------------- */

static int kind_of_model(const char *name) {
  static const struct { const char *name; int kind; } kinds[] = {
    {"unigram", UNIGRAM}, {"bpe", BPE}, {"wordpiece", WORDPIECE}, {"wordlevel", WORDLEVEL}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].name, name) == 0) return kinds[i].kind;
  return 0;
}

/* An option that not every model has. */
typedef struct limited {
  const char *name, *owners;
  int models;
  bool given;
} limited;

static ath_status check_models(const limited *options, size_t count, int kind,
                               const char *model) {
  for (size_t i = 0; i < count; i++)
    if (options[i].given && (options[i].models & kind) == 0)
      return ath_fail(ATH_USAGE, "--%s is of no use to --model %s: it belongs to %s",
                      options[i].name, model, options[i].owners);
  return ATH_OK;
}

static ath_status parse(const ath_command *command, int argc, char **argv, settings *self,
                        ath_operands *operands) {
  limited some[] = {
    {"seed-size", "unigram", UNIGRAM, false},
    {"max-token-length", "unigram, bpe and wordpiece", UNIGRAM | MERGES, false},
    {"min-frequency", "bpe, wordpiece and wordlevel", MERGES | WORDLEVEL, false},
    {"lowercase", "wordpiece and wordlevel", WORDPIECE | WORDLEVEL, false},
    {"initial-alphabet", "wordpiece", WORDPIECE, false},
    {"limit-alphabet", "wordpiece", WORDPIECE, false},
  };
  const ath_option options[] = {
    {"output", ATH_OPTION_STRING, &self->output, "DIR", "Folder for the tokenizer's files",
     .required = true},
    {"model", ATH_OPTION_STRING, &self->model, "NAME",
     .help = "Kind of model: unigram, bpe, wordpiece or wordlevel"},
    {"vocab-size", ATH_OPTION_INTEGER, &self->vocab_size, "N",
     "Number of tokens, the special ones included",
     .minimum = ATH_VOCAB_SIZE_MIN, .maximum = ATH_VOCAB_SIZE_MAX},
    {"special-tokens", ATH_OPTION_LIST, &self->special_lists, "A,B,…",
     .help = "Special tokens by their ids, which begin with 0; those of the model's own that are "
     "not among them come first"},
    {"memory", ATH_OPTION_INTEGER, &self->memory, "MB",
     "Megabytes to train in, roughly; where the distinct words need more, the rarest are "
     "forgotten",
     .minimum = ATH_TRAINING_MEMORY_MIN >> 20, .maximum = 1 << 24},
    {"threads", ATH_OPTION_INTEGER, &self->threads, "N",
     "Threads, 0 for one per core; the result is the same",
     .minimum = 0, .maximum = ATH_THREADS_MAX},
    {"seed-size", ATH_OPTION_INTEGER, &self->seed_size, "N",
     "unigram: number of pieces to start from and choose among",
     .minimum = 1, .maximum = ATH_SEED_SIZE_MAX, .given = &some[0].given,
     .group = "Of some models only"},
    {"max-token-length", ATH_OPTION_INTEGER, &self->max_token_length, "N",
     "unigram: most characters of a token, 0 for 16; bpe, wordpiece: merged tokens stay shorter, "
     "0 for no limit",
     .minimum = 0, .maximum = INT32_MAX, .given = &some[1].given,
     .group = "Of some models only"},
    {"min-frequency", ATH_OPTION_INTEGER, &self->min_frequency, "N",
     "bpe, wordpiece: how often a pair must be there to be merged; wordlevel: a word to be a token",
     .minimum = 0, .maximum = INT32_MAX, .given = &some[2].given,
     .group = "Of some models only"},
    {"lowercase", ATH_OPTION_FLAG, &self->lowercase, NULL,
     .help = "wordpiece, wordlevel: text loses case and accents", .given = &some[3].given,
     .group = "Of some models only"},
    {"initial-alphabet", ATH_OPTION_STRING, &self->initial_alphabet, "TEXT",
     .help = "wordpiece: characters that are tokens even if the text has none",
     .given = &some[4].given, .group = "Of some models only"},
    {"limit-alphabet", ATH_OPTION_INTEGER, &self->limit_alphabet, "N",
     "wordpiece: most characters to keep, the frequent ones; 0 for all",
     .minimum = 0, .maximum = 1 << 21, .given = &some[5].given,
     .group = "Of some models only"},
    ATH_READING_OPTIONS(self->input),
    {0},
  };
  ATH_TRY(ath_cli_parse(command, options, argc, argv, operands));
  if (operands->done) return ATH_OK;
  int kind = kind_of_model(self->model);
  if (kind == 0)
    return ath_fail(ATH_USAGE, "--model %s: the kinds of model that can be trained are unigram, "
                    "bpe, wordpiece and wordlevel", self->model);
  return check_models(some, sizeof some / sizeof *some, kind, self->model);
}

/* Cuts the lists of special tokens at their commas. */
static ath_status cut_specials(settings *self) {
  size_t length = 1, most = 0;
  for (size_t i = 0; i < self->special_lists.count; i++)
    length += strlen(self->special_lists.items[i]) + 1;
  self->special_text = calloc(1, length);
  self->special_tokens = calloc(length, sizeof *self->special_tokens);
  if (self->special_text == NULL || self->special_tokens == NULL)
    return ath_fail(ATH_NO_MEMORY, "no memory for special tokens");
  for (size_t i = 0; i < self->special_lists.count; i++) {
    char *rest = self->special_text + most;
    most += strlen(self->special_lists.items[i]) + 1;
    strcpy(rest, self->special_lists.items[i]);
    for (char *token; (token = strsep(&rest, ",")) != NULL;)
      self->special_tokens[self->special_count++] = token;
  }
  return ATH_OK;
}

/* --- training -------------------------------------------------------------------------------- */

static ath_training_options common_options(const settings *self, ath_training_options defaults) {
  defaults.vocab_size = (int32_t)self->vocab_size;
  defaults.special_tokens = self->special_tokens;
  defaults.special_count = self->special_count;
  defaults.memory = (uint64_t)self->memory << 20;
  defaults.threads = (int)self->threads;
  defaults.reading = &self->reading;
  return defaults;
}

typedef struct texts {
  const char *const *paths;
  size_t count;
} texts;

static ath_status train_unigram(const settings *self, texts from, ath_tokenizer **out,
                                ath_training_report *report) {
  ath_unigram_options options = ath_unigram_defaults();
  options.common = common_options(self, options.common);
  options.seed_size = (size_t)self->seed_size;
  if (self->max_token_length > 0) options.max_token_length = (int)self->max_token_length;
  return ath_unigram_train(from.paths, from.count, &options, out, report);
}

static ath_status train_bpe(const settings *self, texts from, ath_tokenizer **out,
                            ath_training_report *report) {
  ath_bpe_options options = ath_bpe_defaults();
  options.common = common_options(self, options.common);
  options.min_frequency = (uint64_t)self->min_frequency;
  options.max_token_length = (uint32_t)self->max_token_length;
  return ath_bpe_train(from.paths, from.count, &options, out, report);
}

static ath_status train_wordpiece(const settings *self, texts from, ath_tokenizer **out,
                                  ath_training_report *report) {
  ath_wordpiece_options options = ath_wordpiece_defaults();
  options.common = common_options(self, options.common);
  options.min_frequency = (uint64_t)self->min_frequency;
  options.max_token_length = (uint32_t)self->max_token_length;
  options.initial_alphabet = self->initial_alphabet;
  options.limit_alphabet = (size_t)self->limit_alphabet;
  options.lowercase = self->lowercase;
  return ath_wordpiece_train(from.paths, from.count, &options, out, report);
}

static ath_status train_wordlevel(const settings *self, texts from, ath_tokenizer **out,
                                  ath_training_report *report) {
  ath_wordlevel_options options = ath_wordlevel_defaults();
  options.common = common_options(self, options.common);
  options.min_frequency = (uint64_t)self->min_frequency;
  options.lowercase = self->lowercase;
  return ath_wordlevel_train(from.paths, from.count, &options, out, report);
}

static ath_status train(const settings *self, texts from, ath_tokenizer **out,
                        ath_training_report *report) {
  switch (kind_of_model(self->model)) {
    case UNIGRAM: return train_unigram(self, from, out, report);
    case BPE: return train_bpe(self, from, out, report);
    case WORDPIECE: return train_wordpiece(self, from, out, report);
    default: return train_wordlevel(self, from, out, report);
  }
}

/* --- the command ----------------------------------------------------------------------------- */

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

static ath_status train_and_save(const settings *self, const ath_cli_files *files,
                                 const char *folder) {
  ath_tokenizer *tokenizer;
  ath_training_report report;
  ATH_TRY(open_output(folder));
  ATH_TRY(train(self, (texts){files->paths, files->count}, &tokenizer, &report));
  ath_status status = ath_tokenizer_save(tokenizer, folder, 0);
  if (status == ATH_OK) status = print_training(&report, tokenizer, self->output);
  ath_tokenizer_destroy(tokenizer);
  return status;
}

static ath_status run_train(const ath_command *self, int argc, char **argv) {
  ath_unigram_options unigram = ath_unigram_defaults();
  settings s = {.model = "unigram", .vocab_size = unigram.common.vocab_size,
                .memory = (int64_t)(unigram.common.memory >> 20),
                .seed_size = (int64_t)unigram.seed_size, .lowercase = true,
                .input = ATH_CLI_READING_USUAL};
  ath_operands operands;
  ath_cli_files files = {0};
  ATH_TRY(parse(self, argc, argv, &s, &operands));
  if (operands.done) return ATH_OK;
  ath_status status = cut_specials(&s);
  if (status == ATH_OK) status = ath_cli_reading_parse(&s.input, &s.reading);
  if (status == ATH_OK)
    status = ath_cli_reading_files(&s.input, &operands, "no text to train on", &files);
  if (status == ATH_OK) {
    ath_cli_place place;
    status = ath_cli_place_open(&place, ATH_CLI_PLACE_FOLDER, s.output, false);
    if (status == ATH_OK) status = train_and_save(&s, &files, place.path);
    status = ath_cli_place_close(&place, status);
  }
  ath_cli_files_free(&files);
  settings_free(&s);
  return status;
}

const ath_command ath_command_tokenizer_train = {
  .name = "tokenizer train",
  .summary = "make a tokenizer from text files",
  .operands = "[FILE…]",
  .details =
      "Writes tokenizer.json, tokenizer_config.json and special_tokens_map.json, which the\n"
      "Python libraries open as they are. The model's own special tokens are\n"
      "  unigram               [CLS] [SEP] <unk> <pad> [MASK]\n"
      "  bpe                   <s> <pad> </s> <unk> <mask>; over bytes, as roberta-base\n"
      "  wordpiece, wordlevel  [PAD] [UNK] [CLS] [SEP] [MASK]; with BERT's pipeline\n\n"
      "Example:\n"
      "  athanor tokenizer train --vocab-size 8000 --input text.txt --output run/tokenizer",
  .run = run_train,
};
