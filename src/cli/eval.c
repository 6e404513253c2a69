/* eval.c: athanor eval. */
#include "athanor/train.h"
#include "base/buffer.h"
#include "cli/cli.h"
#include "storage/file.h"

static ath_status print_json(const ath_eval_result *result) {
  ath_buffer text = ath_buffer_make(1 << 12);
  ath_status status = ath_buffer_string(&text, "{\"loss\": ");
  if (status == ATH_OK) status = ath_buffer_double(&text, result->loss);
  if (status == ATH_OK) status = ath_buffer_string(&text, ", \"perplexity\": ");
  if (status == ATH_OK) status = ath_buffer_double(&text, result->perplexity);
  if (status == ATH_OK) status = ath_buffer_string(&text, ", \"accuracy\": ");
  if (status == ATH_OK) status = ath_buffer_double(&text, result->accuracy);
  if (status == ATH_OK) status = ath_buffer_format(&text, ", \"scored\": %.0f}", result->scored);
  if (status == ATH_OK) puts(text.bytes);
  ath_buffer_free(&text);
  return status;
}

static ath_status run(const ath_command *self, int argc, char **argv) {
  const char *model = NULL, *data = NULL, *device = "cpu", *mesh = NULL;
  int64_t batch_size = 32, seed = 42, samples = 0;
  double probability = 0.15;
  bool json = false;
  const ath_option options[] = {
    {"model", ATH_OPTION_STRING, &model, "DIR", "Model folder", .required = true},
    {"data", ATH_OPTION_STRING, &data, "DIR", "Folder of shards", .required = true},
    {"batch-size", ATH_OPTION_INTEGER, &batch_size, "N", "Records per batch on each "
     "device that shares it, data * fsdp of the mesh",
     .minimum = 1, .maximum = 65536},
    {"mlm-probability", ATH_OPTION_NUMBER, &probability, "X", "Share of the tokens that are masked",
     .minimum = 1e-4, .maximum = 1},
    {"seed", ATH_OPTION_INTEGER, &seed, "N", "Of the masks, which depend on it and the record only",
     .minimum = 0, .maximum = 9007199254740992.0},
    {"max-samples", ATH_OPTION_INTEGER, &samples, "N", "Only the first so many records; 0: all",
     .minimum = 0, .maximum = 9007199254740992.0},
    {"device", ATH_OPTION_STRING, &device, "NAME", .help = "Where to compute: cpu, xla:cpu, "
     "cuda, tpu, or a PJRT plugin's path ending in .so"},
    {"mesh", ATH_OPTION_STRING, &mesh, "AXES",
     .help = "Devices that share each batch, as train has them: data=2,fsdp=4"},
    {"json", ATH_OPTION_FLAG, &json, NULL, .help = "Print one JSON object"},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ath_eval_options how = {.batch_size = (int)batch_size, .mlm_probability = probability,
                          .seed = (uint64_t)seed, .max_samples = (uint64_t)samples,
                          .mesh = mesh};
  ath_eval_result result;
  char model_path[ATH_PATH_MAX], data_path[ATH_PATH_MAX];
  ATH_TRY(ath_cli_locate(ATH_CLI_MODEL, model, model_path));
  ATH_TRY(ath_cli_locate(ATH_CLI_DATA, data, data_path));
  ATH_TRY(ath_evaluate(model_path, data_path, device, &how, &result));
  if (json) return print_json(&result);
  printf("loss %.4f, perplexity %.2f, accuracy %.2f %% over %.0f masked positions of %llu "
         "records\n", result.loss, result.perplexity, 100 * result.accuracy, result.scored,
         (unsigned long long)result.samples);
  return ATH_OK;
}

const ath_command ath_command_eval = {
  .name = "eval",
  .summary = "loss, perplexity and accuracy of a model on prepared shards",
  .details =
      "Every record is scored exactly once, with masks that depend on the seed and the record\n"
      "alone, so that two evaluations of one model, with one batch size, agree to the last bit.\n"
      "The perplexity is that of masked positions: compare it only between models with the same\n"
      "tokenizer.\n\n"
      "Example:\n"
      "  athanor eval --model runs/demo --data runs/demo/data/validation",
  .run = run,
};
