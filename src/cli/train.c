/* train.c: athanor train. Its options are the settings' table of train.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/train.h"
#include "base/buffer.h"
#include "base/outcome.h"
#include "cli/cli.h"

enum { OPTIONS_MAX = 96, NAME_LENGTH_MAX = 64 };

/* Options of the command itself, and after them one for each setting. */
typedef struct table {
  ath_option options[OPTIONS_MAX];
  char names[OPTIONS_MAX][NAME_LENGTH_MAX]; /* with hyphens */
  const char *config;
  bool json;
} table;

static ath_option_kind kind_of(const ath_setting *setting) {
  switch (setting->kind) {
    case ATH_SETTING_TEXT: return ATH_OPTION_STRING;
    case ATH_SETTING_INTEGER: return ATH_OPTION_INTEGER;
    case ATH_SETTING_NUMBER: return ATH_OPTION_NUMBER;
    case ATH_SETTING_FLAG: break;
  }
  return ATH_OPTION_FLAG;
}

static void make_table(table *self, ath_train_options *values) {
  size_t count, at = 0;
  const ath_setting *settings = ath_train_settings(&count);
  assert(count + 3 <= OPTIONS_MAX);
  *self = (table){0};
  self->options[at++] = (ath_option){
    .name = "config", .kind = ATH_OPTION_STRING, .target = &self->config, .placeholder = "FILE",
    .help = "YAML file of the settings below, with _ for -; flags override it"};
  self->options[at++] = (ath_option){.name = "json", .kind = ATH_OPTION_FLAG,
                                     .target = &self->json,
                                     .help = "Print the summary as one JSON object"};
  for (size_t i = 0; i < count; i++, at++) {
    const ath_setting *s = &settings[i];
    assert(strlen(s->name) < NAME_LENGTH_MAX);
    for (size_t c = 0; s->name[c] != '\0'; c++)
      self->names[at][c] = s->name[c] == '_' ? '-' : s->name[c];
    self->options[at] = (ath_option){
      .name = self->names[at], .kind = kind_of(s), .target = (char *)values + s->offset,
      .placeholder = s->placeholder, .help = s->help, .minimum = s->minimum,
      .maximum = s->maximum, .group = s->group};
  }
}

/* The flags are read twice: first to find the file, then over what the file says. */
static ath_status parse(const ath_command *self, int argc, char **argv, table *options,
                        ath_train_options *values, bool *done) {
  ath_operands operands;
  make_table(options, values);
  ATH_TRY(ath_cli_parse(self, options->options, argc, argv, &operands));
  *done = operands.done;
  if (*done || options->config == NULL) return ATH_OK;
  ath_train_options_free(values);
  ATH_TRY(ath_train_options_init(values));
  ATH_TRY(ath_train_options_read(values, options->config));
  make_table(options, values);
  return ath_cli_parse(self, options->options, argc, argv, &operands);
}

static ath_status print_json(const ath_train_summary *summary) {
  ath_buffer text = ath_buffer_make(1 << 14);
  ath_status status = ath_train_summary_print(summary, &text);
  if (status == ATH_OK) puts(text.bytes);
  ath_buffer_free(&text);
  return status;
}

static void print_summary(const ath_train_summary *s, const char *output_dir) {
  printf("%lld steps (%.2f epochs) in %.0f s: %.0f tokens/s, %.1f GFLOP/s\n", (long long)s->steps,
         s->epochs, s->seconds, s->tokens_per_second, s->gflops);
  printf("training loss %.4f", s->train_loss);
  if (s->evaluated)
    printf("; evaluation loss %.4f, perplexity %.2f, accuracy %.2f %%", s->eval.loss,
           s->eval.perplexity, 100 * s->eval.accuracy);
  printf("\n%lld parameters saved in %s\n", (long long)s->parameters, output_dir);
}

static ath_status run(const ath_command *self, int argc, char **argv) {
  table options;
  ath_train_options values;
  ath_train_summary summary = {0};
  bool done = false;
  ATH_TRY(ath_train_options_init(&values));
  ath_status status = parse(self, argc, argv, &options, &values, &done);
  if (status == ATH_OK && !done) {
    ath_cli_catch_signals();
    values.stop = &ath_cli_stop;
    status = ath_train(&values, &summary);
    if (options.json && (status == ATH_OK || (status == ATH_INTERRUPTED && summary.steps > 0))) {
      ath_outcome outcome; /* printing must not lose why the run was stopped */
      ath_outcome_keep(&outcome, status);
      ath_status printed = print_json(&summary);
      status = status != ATH_OK ? ath_outcome_return(&outcome) : printed;
    } else if (status == ATH_OK) {
      print_summary(&summary, values.output_dir);
    }
  }
  ath_train_options_free(&values);
  return status;
}

const ath_command ath_command_train = {
  .name = "train",
  .summary = "train a masked language model on prepared shards",
  .details =
      "Settings are named as in Hugging Face's run_mlm.py and TrainingArguments. They come from\n"
      "--config, a YAML file, and from flags, which override it.\n\n"
      "The folder output-dir gets checkpoints, TensorBoard events (runs/), log.jsonl, and in the\n"
      "end the model as transformers reads it. Started again, an interrupted run goes on from its\n"
      "newest whole checkpoint and ends with the same bits. The first Ctrl-C finishes the step,\n"
      "saves and exits with code 13; a second ends at once.\n\n"
      "Examples:\n"
      "  athanor train --tokenizer run/tokenizer --train-dataset run/data/train \\\n"
      "    --eval-dataset run/data/validation --output-dir run/model --max-steps 1000\n"
      "  athanor train --config examples/demo.yaml --learning-rate 5e-4",
  .run = run,
};
