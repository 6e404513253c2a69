/* train.c: athanor train. Its options are the settings' table of train.h. */
#include "athanor/train.h"
#include "base/buffer.h"
#include "base/outcome.h"
#include "cli/cli.h"
#include "cli/place.h"

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

/* The summary's words are about the place given, wherever the run writes. */
static ath_status train(ath_train_options *values, ath_train_summary *summary) {
  ath_cli_place place;
  const char *given = values->output_dir;
  ath_status status = ath_cli_place_open(&place, ATH_CLI_PLACE_FOLDER, given,
                                         values->overwrite_output_dir);
  if (given != NULL) values->output_dir = place.path;
  if (status == ATH_OK) status = ath_train(values, summary);
  values->output_dir = given;
  return ath_cli_place_close(&place, status);
}

static ath_status run(const ath_command *self, int argc, char **argv) {
  bool json = false;
  const ath_option own[] = {
    {"json", ATH_OPTION_FLAG, &json, .help = "Print the summary as one JSON object"},
    {0},
  };
  ath_train_options values;
  ath_train_summary summary = {0};
  ath_operands operands = {0};
  ATH_TRY(ath_train_options_init(&values));
  ath_status status = ath_cli_parse_settings(self, own, argc, argv, &values, &operands);
  if (status == ATH_OK && ath_cli_only_check) status = ath_train_options_check(&values);
  if (status == ATH_OK && !operands.done) {
    ath_cli_catch_signals();
    values.stop = &ath_cli_stop;
    status = ath_cli_locate_settings(&values, true);
    if (status == ATH_OK) status = train(&values, &summary);
    bool trained = status == ATH_OK || summary.unpushed;
    if (summary.process > 0) {
      /* the first process tells */
    } else if (json && (trained || (status == ATH_INTERRUPTED && summary.steps > 0))) {
      ath_outcome outcome; /* printing must not lose why the run was stopped */
      ath_outcome_keep(&outcome, status);
      ath_status printed = print_json(&summary);
      status = status != ATH_OK ? ath_outcome_return(&outcome) : printed;
    } else if (trained) {
      print_summary(&summary, values.output_dir);
    }
  }
  ath_train_options_free(&values);
  return status;
}

static const char *const wanted[] = {"train_dataset", "tokenizer", "output_dir", NULL};

const ath_command ath_command_train = {
  .name = "train",
  .summary = "train a masked language model on prepared shards",
  .details =
      "Settings are named as in Hugging Face's run_mlm.py and TrainingArguments. They come from\n"
      "--config, a YAML file, and from flags, which override it.\n\n"
      "The folder output-dir gets checkpoints, TensorBoard events (runs/), log.jsonl, and in the\n"
      "end the model as transformers reads it. Started again, an interrupted run goes on from its\n"
      "newest whole checkpoint and ends with the same bits. The first Ctrl-C finishes the step,\n"
      "saves and exits with code 13; a second ends at once. A folder in which another process\n"
      "trains is refused with code 7.\n\n"
      "With devices on several hosts the same command runs on each, one process a host, started\n"
      "by mpirun or srun --mpi=pmix (cuda, tpu); the mesh has the devices of all.\n\n"
      "Examples:\n"
      "  athanor train --tokenizer run/tokenizer --train-dataset run/data/train \\\n"
      "    --eval-dataset run/data/validation --output-dir run/model --max-steps 1000\n"
      "  athanor train --config examples/demo.yaml --learning-rate 5e-4",
  .wanted = wanted,
  .run = run,
};
