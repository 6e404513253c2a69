/* data.c: `athanor data prepare`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/dataset.h"
#include "cli/cli.h"
#include "cli/place.h"
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

/* A job array: "2/8" is the third of eight; "merge" writes the shards of what all have encoded. */
static ath_status parse_worker(const char *text, ath_prepare_options *options) {
  int worker, workers, end = 0;
  if (text == NULL) return ATH_OK;
  if (strcmp(text, "merge") == 0) {
    options->workers = ATH_WORKER_MERGE;
    return ATH_OK;
  }
  if (sscanf(text, "%d/%d%n", &worker, &workers, &end) != 2 || text[end] != '\0')
    return ath_fail(ATH_USAGE, "--worker wants I/N or merge, not \"%s\"", text);
  if (workers < 1 || workers > ATH_WORKERS_MAX || worker < 0 || worker >= workers)
    return ath_fail(ATH_USAGE, "--worker %s: N workers, at most %d, are counted from 0 to N - 1",
                    text, ATH_WORKERS_MAX);
  options->worker = worker;
  options->workers = workers;
  return ATH_OK;
}

static void print_split(const char *name, uint64_t records, uint64_t shards, int length) {
  printf("%s: %" PRIu64 " record%s of %d tokens in %" PRIu64 " shard%s\n", name, records,
         records == 1 ? "" : "s", length, shards, shards == 1 ? "" : "s");
}

static void print_unfinished(const ath_prepare_report *r, bool json) {
  if (json)
    printf("{\"unfinished\":true,\"pieces_missing\":%" PRIu64 "}\n", r->pieces_missing);
  else if (r->pieces_missing > 0)
    printf("this worker's part is done; other workers have still to encode %" PRIu64
           " piece%s of the text\n", r->pieces_missing, r->pieces_missing == 1 ? "" : "s");
  else
    printf("this worker's part is done; another one is writing the shards\n");
}

static void print_report(const ath_prepare_report *r, const ath_prepare_options *o, bool json) {
  if (r->process > 0) return; /* the first one tells */
  if (r->unfinished) {
    print_unfinished(r, json);
    return;
  }
  if (json) {
    printf("{\"lines\":%" PRIu64 ",\"skipped\":%" PRIu64 ",\"duplicates\":%" PRIu64
           ",\"bytes\":%" PRIu64 ",\"tokens\":%" PRIu64
           ",\"train_records\":%" PRIu64 ",\"validation_records\":%" PRIu64
           ",\"train_shards\":%" PRIu64 ",\"validation_shards\":%" PRIu64
           ",\"tokens_dropped\":%" PRIu64 ",\"shards_kept\":%" PRIu64 "}\n",
           r->lines, r->skipped, r->duplicates, r->bytes, r->tokens, r->train_records,
           r->validation_records,
           r->train_shards, r->validation_shards, r->tokens_dropped, r->shards_kept);
    return;
  }
  if (r->train_shards > 0) print_split("train", r->train_records, r->train_shards, o->max_length);
  if (r->validation_shards > 0)
    print_split("validation", r->validation_records, r->validation_shards, o->max_length);
  if (r->skipped > 0) printf("skipped for errors: %" PRIu64 "\n", r->skipped);
  if (r->duplicates > 0)
    printf("%" PRIu64 " of %" PRIu64 " lines were left out as duplicates\n", r->duplicates,
           r->lines);
  printf("%" PRIu64 " tokens; the last %" PRIu64 " did not fill a record\n", r->tokens,
         r->tokens_dropped);
}

/* Who asks for the shards goes on with them: their absence is a failure, unlike for a worker. */
static ath_status check_merged(const ath_prepare_report *r, const char *output) {
  if (!r->unfinished) return ATH_OK;
  if (r->pieces_missing == 0)
    return ath_fail(ATH_DENIED, "%s: another process is writing the shards", output);
  return ath_fail(ATH_NOT_FOUND, "%s: %" PRIu64 " piece%s of the text not encoded yet; start those "
                  "workers again that are not done", output, r->pieces_missing,
                  r->pieces_missing == 1 ? " is" : "s are");
}

static ath_status prepare(const ath_tokenizer *tokenizer, ath_prepare_options *options,
                          ath_prepare_report *report) {
  ath_cli_place place;
  ath_status status = ath_cli_place_open(&place, ATH_CLI_PLACE_FOLDER, options->output, false);
  options->output = place.path;
  if (status == ATH_OK) status = ath_prepare(tokenizer, options, report);
  return ath_cli_place_close(&place, status);
}

static ath_status run_prepare(const ath_command *self, int argc, char **argv) {
  ath_prepare_options options = ath_prepare_defaults();
  ath_cli_reading reading = ATH_CLI_READING_USUAL;
  ath_cli_files files = {0};
  const char *tokenizer_path = NULL, *shard_size = "5000", *compression = "none";
  const char *worker = NULL;
  const char *validation_by = "line", *deduplicate = "none";
  static const ath_cli_word bys[] = {
    {"line", ATH_VALIDATION_BY_LINE}, {"text", ATH_VALIDATION_BY_TEXT}, {0}};
  static const ath_cli_word kinds[] = {
    {"none", ATH_DEDUPLICATE_NONE}, {"exact", ATH_DEDUPLICATE_EXACT},
    {"near", ATH_DEDUPLICATE_NEAR}, {0}};
  int by = 0, kind = 0;
  int64_t max_length = options.max_length, threads = 0, seed = (int64_t)options.seed;
  double memory = (double)options.deduplicate_memory / 0x1p30;
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
    {.name = "validation-by", .kind = ATH_OPTION_STRING, .target = &validation_by,
     .placeholder = "line|text", .help = "Hold lines out by their number or by their text"},
    {.name = "deduplicate", .kind = ATH_OPTION_STRING, .target = &deduplicate,
     .placeholder = "KIND", .help = "Leave out lines that are like an earlier one: exact, near"},
    {.name = "near-similarity", .kind = ATH_OPTION_NUMBER, .target = &options.near_similarity,
     .placeholder = "S", .minimum = 0.7, .maximum = 1,
     .help = "Share of five-word shingles from which lines are near, 0.7 to 1"},
    {.name = "deduplicate-memory", .kind = ATH_OPTION_NUMBER, .target = &memory,
     .placeholder = "GIB", .minimum = 0.001, .maximum = 1 << 20,
     .help = "Memory for that; less takes longer, with the same result"},
    {.name = "worker", .kind = ATH_OPTION_STRING, .target = &worker, .placeholder = "I/N|merge",
     .help = "Do the part of worker I of 0 ... N-1 of a job array; merge writes the shards alone, "
             "and fails where a part is missing"},
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
  ATH_TRY(parse_worker(worker, &options));
  ATH_TRY(ath_cli_find_word(bys, validation_by, "--validation-by", &by));
  ATH_TRY(ath_cli_find_word(kinds, deduplicate, "--deduplicate", &kind));
  options.validation_by = (ath_validation_by)by;
  options.deduplicate = (ath_deduplicate)kind;
  options.deduplicate_memory = (uint64_t)(memory * 0x1p30);
  options.max_length = (int)max_length;
  options.threads = (int)threads;
  options.seed = (uint64_t)seed;

  const char *output = options.output;
  ath_tokenizer *tokenizer = NULL;
  ath_prepare_report report;
  ath_status status = ath_cli_reading_files(&reading, &operands, "nothing to prepare", &files);
  if (status == ATH_OK) status = ath_cli_load_tokenizer(tokenizer_path, &tokenizer);
  options.inputs = files.paths;
  options.input_count = files.count;
  ath_cli_catch_signals();
  options.stop = &ath_cli_stop;
  if (status == ATH_OK) status = prepare(tokenizer, &options, &report);
  ath_tokenizer_destroy(tokenizer);
  ath_cli_files_free(&files);
  if (status != ATH_OK) return status;
  bool merge = options.workers == ATH_WORKER_MERGE;
  if (!merge || !report.unfinished || json) print_report(&report, &options, json);
  return merge ? check_merged(&report, output) : ATH_OK;
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
    "Several processes share the work under mpirun, or as the workers of a job array: each\n"
    "encodes its pieces of the text into OUTPUT/pieces, and whoever is last writes the shards\n"
    "(under mpirun all do). The files are those of one process, whatever the number of workers.\n"
    "Whoever was killed is started again by the same command. Leaving out duplicates goes the\n"
    "same way; it takes two bytes a token on the disk.\n"
    "\n"
    "Examples:\n"
    "  athanor data prepare --tokenizer run/tokenizer --input text.txt --max-length 128 \\\n"
    "    --output run/data\n"
    "  athanor data prepare --tokenizer run/tokenizer --output run/data --text-column review \\\n"
    "    --on-error skip 'reviews/*.jsonl.gz'\n"
    "  athanor data prepare --tokenizer run/tokenizer --output run/data --deduplicate near \\\n"
    "    --validation-by text --worker $SLURM_ARRAY_TASK_ID/16 'text/*.txt'",
  .run = run_prepare,
};
