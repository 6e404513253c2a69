/* export.c: athanor export: a program of a run, as text for other compilers. */
#include <string.h>

#include "athanor/train.h"
#include "backends/pjrt/partition.h"
#include "base/arena.h"
#include "cli/cli.h"
#include "cli/place.h"
#include "storage/file.h"

enum { TEXT_LIMIT = 1 << 30, ARENA_LIMIT = 1 << 26 };
enum { FILL_BATCH = 1, FILL_MASKS = 4 }; /* as fill-mask runs for most texts */

/* What is opened on the way, and released in the end. */
typedef struct parts {
  ath_train_options options;
  ath_tokenizer *tokenizer;
  ath_mesh mesh;
  ath_model *model;
  ath_graph *graph;
  ath_arena *arena;
  ath_buffer text;
  ath_hlo_signature signature;
} parts;

static void release(parts *p) {
  ath_buffer_free(&p->text);
  ath_arena_destroy(p->arena);
  ath_graph_destroy(p->graph);
  ath_model_destroy(p->model);
  ath_tokenizer_destroy(p->tokenizer);
  ath_train_options_free(&p->options);
}

/* --- the model ------------------------------------------------------------------------------ */

/* The setting, or what the shards have, should there be any. */
static ath_status find_length(const ath_train_options *o, int *length) {
  *length = (int)o->max_seq_length;
  if (*length > 0) return ATH_OK;
  if (o->train_dataset == NULL)
    return ath_fail(ATH_USAGE, "the number of tokens per record is not given: neither "
                               "max_seq_length nor train_dataset");
  ath_dataset *data = NULL;
  ATH_TRY_CONTEXT(ath_dataset_open(o->train_dataset, &data), "train_dataset");
  *length = ath_dataset_length(data);
  ath_dataset_close(data);
  return ATH_OK;
}

/* Without a tokenizer the setting vocab_size tells all that the graph depends on. */
static ath_status open_model(parts *p, int length) {
  const ath_train_options *o = &p->options;
  const char *tokenizer = o->tokenizer != NULL ? o->tokenizer : o->model_name_or_path;
  ath_model_config config;
  if (tokenizer != NULL)
    ATH_TRY_CONTEXT(ath_tokenizer_load(tokenizer, &p->tokenizer), "tokenizer");
  ATH_TRY(ath_train_architecture(o, p->tokenizer, length, &config));
  ATH_TRY(ath_model_config_check_length(&config, length));
  return ath_model_create(&config, &p->model);
}

/* --- the graph ------------------------------------------------------------------------------ */

static ath_status train_graph(parts *p, int length, bool last) {
  int batch_size;
  ATH_TRY(ath_train_batch_size(p->options.per_device_train_batch_size, &p->mesh, &batch_size));
  ath_step_options step = ath_train_step_options(&p->options, &p->mesh, batch_size, length);
  if (!last && !step.accumulate)
    return ath_fail(ATH_USAGE, "--what accumulate needs gradient_accumulation_steps above 1");
  return ath_step_graph(p->model, &step, last, &p->graph);
}

static ath_status eval_graph(parts *p, int length) {
  int batch_size;
  ATH_TRY(ath_train_batch_size(p->options.per_device_eval_batch_size, &p->mesh, &batch_size));
  ath_forward_options shape =
      ath_train_step_options(&p->options, &p->mesh, batch_size, length).forward;
  shape.dropout = false;
  return ath_evaluation_graph(p->model, &shape, &p->graph);
}

/* As the command fill-mask runs it: on one device, whatever the run's mesh. */
static ath_status fill_graph(parts *p, int length) {
  ath_forward_options shape = {.batch_size = FILL_BATCH, .length = length,
                               .positions = FILL_MASKS};
  p->mesh = (ath_mesh){1, 1, 1};
  return ath_model_graph(p->model, &shape, &p->graph);
}

static ath_status build(parts *p, const char *what) {
  int length;
  ATH_TRY(ath_mesh_parse(p->options.mesh, &p->mesh));
  ATH_TRY(find_length(&p->options, &length));
  ATH_TRY(open_model(p, length));
  if (strcmp(what, "train") == 0) return train_graph(p, length, true);
  if (strcmp(what, "accumulate") == 0) return train_graph(p, length, false);
  if (strcmp(what, "eval") == 0) return eval_graph(p, length);
  if (strcmp(what, "fill-mask") == 0) return fill_graph(p, length);
  return ath_fail(ATH_USAGE, "--what is train, accumulate, eval or fill-mask, not \"%s\"", what);
}

/* --- the text ------------------------------------------------------------------------------- */

static void print_summary(const parts *p, const char *output) {
  const ath_hlo_signature *s = &p->signature;
  size_t lines = 0;
  int donated = 0;
  for (size_t i = 0; i < p->text.length; i++) lines += p->text.bytes[i] == '\n';
  for (int i = 0; i < s->argument_count; i++) donated += s->arguments[i].result >= 0;
  printf("%s: %zu lines, %d arguments of which %d are updated in place, %d results\n", output,
         lines, s->argument_count, donated, s->result_count);
}

static ath_status write_text(const parts *p, const char *output) {
  ath_cli_place place;
  ath_status status = ath_cli_place_open(&place, ATH_CLI_PLACE_FILE, output, false);
  if (status == ATH_OK) status = ath_file_write(place.path, p->text.bytes, p->text.length);
  return ath_cli_place_close(&place, status);
}

static ath_status export_text(parts *p, const char *what, const char *output) {
  ATH_TRY(build(p, what));
  ATH_TRY(ath_arena_create(ARENA_LIMIT, &p->arena));
  ATH_TRY(ath_partition_print_module(&p->mesh, p->graph, p->arena, &p->signature, &p->text));
  if (output == NULL) {
    fwrite(p->text.bytes, 1, p->text.length, stdout);
    return ATH_OK;
  }
  ATH_TRY(write_text(p, output));
  print_summary(p, output);
  return ATH_OK;
}

static ath_status run(const ath_command *self, int argc, char **argv) {
  bool stablehlo = false;
  const char *what = "train", *output = NULL;
  const ath_option own[] = {
    {"stablehlo", ATH_OPTION_FLAG, &stablehlo, .help = "As StableHLO text"},
    {"what", ATH_OPTION_STRING, &what, "WHICH", .help = "train: the step that updates; accumulate: "
     "a micro-batch before it; eval; or fill-mask: the logits of one text, for at most 4 masks"},
    {"output", ATH_OPTION_STRING, &output, "FILE",
     .help = "Where to write; else to standard output"},
    {0},
  };
  parts p = {.text = ath_buffer_make(TEXT_LIMIT)};
  ath_operands operands = {0};
  ATH_TRY(ath_train_options_init(&p.options));
  ath_status status = ath_cli_parse_settings(self, own, argc, argv, &p.options, &operands);
  if (status == ATH_OK && !operands.done) status = ath_cli_locate_settings(&p.options, false);
  if (status == ATH_OK && !operands.done)
    status = stablehlo ? export_text(&p, what, output)
                       : ath_fail(ATH_USAGE, "athanor export needs --stablehlo, the one form "
                                             "that there is");
  release(&p);
  return status;
}

/* The text is for any device. */
static const char *const without[] = {"device", "profile", "profile_steps", ATH_HUB_SETTINGS, NULL};

const ath_command ath_command_export = {
  .name = "export",
  .summary = "a run's program as StableHLO text, for XLA and other compilers",
  .details =
      "Prints the program that an XLA device would compile for these settings: the training step,\n"
      "an evaluation, or the forward pass. No data and no device are needed: give the tokens per\n"
      "record and, without a tokenizer, the size of the vocabulary. Arguments are the model's\n"
      "variables by name, then the inputs of a batch; results are the new values of what is\n"
      "updated, in the same order, then the outputs. Values are named after the layers.\n\n"
      "With --mesh the text is that of all its devices together, with the shardings by which\n"
      "XLA divides it; the program of fill-mask is for one.\n\n"
      "Examples:\n"
      "  athanor export --stablehlo --config examples/demo.yaml --output step.mlir\n"
      "  athanor export --stablehlo --what eval --max-seq-length 128 --vocab-size 8192\n"
      "  athanor export --stablehlo --config examples/demo.yaml --mesh data=2,model=2",
  .without = without,
  .run = run,
};
