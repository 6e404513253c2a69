/* plan.c: athanor plan. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/plan.h"
#include "base/buffer.h"
#include "cli/cli.h"
#include "storage/file.h"

enum { TEXT_MAX = 1 << 24 };

static ath_status print(const ath_plan *plan, bool json, int top) {
  ath_buffer text = ath_buffer_make(TEXT_MAX);
  ath_status status = ATH_OK;
  for (size_t i = 0; status == ATH_OK && i < plan->count; i++) {
    const ath_plan_report *r = &plan->reports[i];
    status = json ? ath_plan_report_print_json(r, top, &text)
                  : ath_plan_report_print(r, top, &text);
    if (status == ATH_OK) status = ath_buffer_byte(&text, '\n');
  }
  if (status == ATH_OK) fputs(text.bytes, stdout);
  if (status == ATH_OK && !json)
    puts("Memory is the compiler's account. Times are estimates: the compiler's cycle counts on\n"
         "its model of the chip, and transfers at the full speed of the links with nothing beside\n"
         "them. They serve to compare; only a chip measures.");
  ath_buffer_free(&text);
  return status;
}

static ath_status plot(const ath_plan *plan, const char *path) {
  ath_buffer text = ath_buffer_make(TEXT_MAX);
  ath_status status = ath_plan_plot(plan, &text);
  if (status == ATH_OK) status = ath_file_write(path, text.bytes, text.length);
  ath_buffer_free(&text);
  return status;
}

/* "RUN.yaml …" as "--config RUN.yaml …". */
static ath_status parse(const ath_command *self, const ath_option *own, int argc, char **argv,
                        ath_train_options *values, ath_operands *operands) {
  char config[] = "--config", **words = calloc((size_t)argc + 2, sizeof *words);
  if (words == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %d words", argc);
  bool file = argc > 0 && argv[0][0] != '-';
  if (file) words[0] = config;
  if (argc > 0) memcpy(words + file, argv, (size_t)argc * sizeof *words);
  ath_status status = ath_cli_parse_settings(self, own, argc + file, words, values, operands);
  if (status == ATH_OK && operands->count > 0)
    status = ath_fail(ATH_USAGE, "\"%.60s\" is one word too many", operands->items[0]);
  if (status == ATH_OK && !operands->done) status = ath_cli_locate_settings(values, false);
  free(words);
  return status;
}

static ath_status run(const ath_command *self, int argc, char **argv) {
  ath_plan_options how = {.largest_batch = true};
  int64_t jobs = 0, top = 0;
  const char *picture = NULL;
  bool json = false;
  const ath_option own[] = {
    {"topology", ATH_OPTION_STRING, &how.topologies, "LIST", "Slices with commas between, as "
     "v5e:2x4,v4:2x2x1; generations v4, v5e, v5p, v6e. GPUs as h100:8, h100:2x8 on two hosts; "
     "a100, h100, h200", .required = true},
    {"largest-batch", ATH_OPTION_FLAG, &how.largest_batch, .help = "Search for the largest batch "
     "that fits, which takes a few more compiles"},
    {"batch-sizes", ATH_OPTION_STRING, &how.batch_sizes, "LIST", .help = "Records a chip to "
     "compile beside the run's own, as 8,16,32"},
    {"plot", ATH_OPTION_STRING, &picture, "FILE", .help = "Draw time and memory over the batch "
     "sizes that were compiled, as SVG"},
    {"top", ATH_OPTION_INTEGER, &top, "N", "Show the N costliest operations", .minimum = 0,
     .maximum = 100000},
    {"price", ATH_OPTION_NUMBER, &how.price, "X", "Dollars per chip and hour; 0: as the table of "
     "prices has it", .minimum = 0, .maximum = 1e6},
    {"prices", ATH_OPTION_STRING, &how.prices, "FILE", .help = "Table of prices, a generation and "
     "a number to a line"},
    {"jobs", ATH_OPTION_INTEGER, &jobs, "N", "Slices compiled at a time, each with some gigabytes "
     "of memory; 0: as many as there are cores", .minimum = 0, .maximum = 1024},
    {"json", ATH_OPTION_FLAG, &json, .help = "Print one JSON object for each slice"},
    {0},
  };
  ath_train_options values;
  ath_operands operands = {0};
  ath_plan *plan = NULL;
  ATH_TRY(ath_train_options_init(&values));
  ath_status status = parse(self, own, argc, argv, &values, &operands);
  how.jobs = jobs > 0 ? (int)jobs : omp_get_num_procs();
  if (status == ATH_OK && !operands.done) status = ath_plan_make(&values, &how, &plan);
  if (plan != NULL) status = print(plan, json, (int)top);
  if (status == ATH_OK && plan != NULL && picture != NULL) status = plot(plan, picture);
  ath_plan_destroy(plan);
  ath_train_options_free(&values);
  return status;
}

/* The device is that of the topology. */
static const char *const without[] = {"device", "profile", "profile_steps", ATH_HUB_SETTINGS, NULL};

const ath_command ath_command_plan = {
  .name = "plan",
  .summary = "memory, time and cost of a run on TPU slices, from the TPU compiler, without a TPU",
  .operands = "RUN.yaml",
  .details =
      "Builds the training step of the settings without data and compiles it for each slice with\n"
      "the compiler in libtpu (athanor plugins install tpu). The first plan takes a minute or two\n"
      "per module, a second one of the same comes from the cache.\n\n"
      "Memory is exact. Times are estimates, from the compiler's model of the chip. For GPUs the\n"
      "compiler is that of the CUDA plugin (athanor plugins install cuda): it tells memory, and\n"
      "no times; a program has nine tenths of a GPU's memory.\n\n"
      "All settings of athanor train but the device are options here, and override the file. What\n"
      "the files that they name would say can be given instead: vocab_size, max_seq_length,\n"
      "max_steps.\n"
      "Prices come from src/plan/prices.txt; check your contract.\n\n"
      "Examples:\n"
      "  athanor plan examples/roberta-base.yaml --topology v5e:2x4,v4:2x2x1\n"
      "  athanor plan run.yaml --topology v6e:2x4 --no-largest-batch --top 20\n"
      "  athanor plan run.yaml --topology v6e:2x4 --batch-sizes 8,16,32,64 --plot plan.svg",
  .without = without,
  .run = run,
};
