/* data.c: `athanor data prepare`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/dataset.h"
#include "cli/cli.h"
#include "cli/reading.h"
#include "data/manifest.h"

/* "5000" is records; "64MB", "512KiB" are bytes. */
static ath_status parse_shard_size(const char *text, ath_prepare_options *options) {
  static const struct { const char *name; double bytes; } units[] = {
    {"", 0}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"KiB", 0x1p10}, {"MiB", 0x1p20},
    {"GiB", 0x1p30}};
  char *end = NULL;
  double value = strtod(text, &end);
  for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++) {
    if (strcasecmp(end, units[i].name) != 0) continue;
    double amount = value * (units[i].bytes > 0 ? units[i].bytes : 1.0);
    if (!(amount >= 1.0 && amount < 1e15)) break;
    options->shard_records = units[i].bytes > 0 ? 0 : (uint64_t)amount;
    options->shard_bytes = units[i].bytes > 0 ? (uint64_t)amount : 0;
    return ATH_OK;
  }
  return ath_fail(ATH_USAGE,
                  "--shard-size wants a number of records, or bytes with a unit (KB, MB, GB, KiB, "
                  "MiB, GiB), not \"%s\"", text);
}

static void print_split(const char *name, uint64_t records, uint64_t shards, int length) {
  printf("%s: %" PRIu64 " record%s of %d tokens in %" PRIu64 " shard%s\n", name, records,
         records == 1 ? "" : "s", length, shards, shards == 1 ? "" : "s");
}

static void print_report(const ath_prepare_report *r, const ath_prepare_options *o, bool json) {
  if (json) {
    printf("{\"lines\":%" PRIu64 ",\"skipped\":%" PRIu64 ",\"bytes\":%" PRIu64
           ",\"tokens\":%" PRIu64 ",\"train_records\":%" PRIu64 ",\"validation_records\":%" PRIu64
           ",\"train_shards\":%" PRIu64 ",\"validation_shards\":%" PRIu64
           ",\"tokens_dropped\":%" PRIu64 ",\"shards_kept\":%" PRIu64 "}\n",
           r->lines, r->skipped, r->bytes, r->tokens, r->train_records, r->validation_records,
           r->train_shards, r->validation_shards, r->tokens_dropped, r->shards_kept);
    return;
  }
  if (r->train_shards > 0) print_split("train", r->train_records, r->train_shards, o->max_length);
  if (r->validation_shards > 0)
    print_split("validation", r->validation_records, r->validation_shards, o->max_length);
  if (r->skipped > 0) printf("skipped for errors: %" PRIu64 "\n", r->skipped);
  printf("%" PRIu64 " tokens; the last %" PRIu64 " did not fill a record\n", r->tokens,
         r->tokens_dropped);
}

static ath_status run_prepare(const ath_command *self, int argc, char **argv) {
  ath_prepare_options options = ath_prepare_defaults();
  ath_cli_reading reading = ATH_CLI_READING_USUAL;
  ath_cli_files files = {0};
  const char *tokenizer_path = NULL, *shard_size = "5000", *compression = "none";
  int64_t max_length = options.max_length, threads = 0, seed = (int64_t)options.seed;
  bool json = false;
  const ath_option table[] = {
    {.name = "tokenizer", .kind = ATH_OPTION_STRING, .target = &tokenizer_path,
     .placeholder = "DIR", .required = true,
     .help = "Folder with tokenizer.json, or that file"},
    {.name = "output", .kind = ATH_OPTION_STRING, .target = &options.output,
     .placeholder = "DIR", .required = true, .help = "Folder that gets train/ and validation/"},
    {.name = "max-length", .kind = ATH_OPTION_INTEGER, .target = &max_length,
     .placeholder = "N", .minimum = ATH_LENGTH_MIN, .maximum = ATH_LENGTH_MAX,
     .help = "Tokens in a record; best a multiple of 32"},
    {.name = "validation-split-percentage", .kind = ATH_OPTION_NUMBER,
     .target = &options.validation_split_percentage, .placeholder = "P", .minimum = 0,
     .maximum = 100, .help = "Share of the lines held out for validation"},
    {.name = "shard-size", .kind = ATH_OPTION_STRING, .target = &shard_size,
     .placeholder = "SIZE", .help = "Size of a file, in records (5000) or bytes (64MB)"},
    {.name = "compression", .kind = ATH_OPTION_STRING, .target = &compression,
     .placeholder = "KIND", .help = "Of the files: none, gzip or zlib; training unpacks them when "
                                    "it opens them"},
    {.name = "keep-blank-lines", .kind = ATH_OPTION_FLAG, .target = &options.keep_blank_lines,
     .help = "Blank lines become [CLS][SEP] instead of being left out"},
    {.name = "seed", .kind = ATH_OPTION_INTEGER, .target = &seed, .placeholder = "N",
     .help = "Seed of the choice of validation lines"},
    {.name = "threads", .kind = ATH_OPTION_INTEGER, .target = &threads, .placeholder = "N",
     .minimum = 0, .maximum = ATH_THREADS_MAX,
     .help = "Threads that encode, 0 for all; the result is the same"},
    {.name = "overwrite", .kind = ATH_OPTION_FLAG, .target = &options.overwrite,
     .help = "Start over if the folder holds a dataset"},
    {.name = "json", .kind = ATH_OPTION_FLAG, .target = &json, .help = "Print the counts as JSON"},
    ATH_READING_OPTIONS(reading),
    {0}};
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ATH_TRY(parse_shard_size(shard_size, &options));
  ATH_TRY(ath_cli_parse_compression(compression, &options.compression));
  ATH_TRY(ath_cli_reading_parse(&reading, &options.reading));
  options.max_length = (int)max_length;
  options.threads = (int)threads;
  options.seed = (uint64_t)seed;

  ath_tokenizer *tokenizer = NULL;
  ath_prepare_report report;
  ath_status status = ath_cli_reading_files(&reading, &operands, "nothing to prepare", &files);
  if (status == ATH_OK) status = ath_cli_load_tokenizer(tokenizer_path, &tokenizer);
  options.inputs = files.paths;
  options.input_count = files.count;
  ath_cli_catch_signals();
  options.stop = &ath_cli_stop;
  if (status == ATH_OK) status = ath_prepare(tokenizer, &options, &report);
  ath_tokenizer_destroy(tokenizer);
  ath_cli_files_free(&files);
  if (status == ATH_OK) print_report(&report, &options, json);
  return status;
}

const ath_command ath_command_data_prepare = {
  .name = "data prepare",
  .summary = "turn documents into shards of fixed-length records",
  .operands = "[FILE…]",
  .details =
    "Every document (a line of text, a row of a table) is encoded as [CLS] … [SEP]; they are\n"
    "joined and cut into records of exactly --max-length tokens, written to OUTPUT/train and\n"
    "OUTPUT/validation as dataset-<index>-<records>.tfrecord (tf.train.Example) with a\n"
    "manifest.json. Memory does not grow with the text. A run that was interrupted is continued\n"
    "by the same command; the first Ctrl-C ends it within a few MB of text, with exit code 13, a\n"
    "second one at once.\n\n"
    "Examples:\n"
    "  athanor data prepare --tokenizer run/tokenizer --input text.txt --max-length 128 \\\n"
    "    --output run/data\n"
    "  athanor data prepare --tokenizer run/tokenizer --output run/data --text-column review \\\n"
    "    --on-error skip 'reviews/*.jsonl.gz'",
  .run = run_prepare,
};
