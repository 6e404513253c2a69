/* data.c: `athanor data prepare`, `data inspect` and `data verify`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/dataset.h"
#include "base/buffer.h"
#include "cli/cli.h"
#include "data/manifest.h"

/* --- prepare ------------------------------------------------------------------------------- */

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
    printf("{\"lines\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"tokens\":%" PRIu64
           ",\"train_records\":%" PRIu64 ",\"validation_records\":%" PRIu64
           ",\"train_shards\":%" PRIu64 ",\"validation_shards\":%" PRIu64
           ",\"tokens_dropped\":%" PRIu64 ",\"shards_kept\":%" PRIu64 "}\n",
           r->lines, r->bytes, r->tokens, r->train_records, r->validation_records,
           r->train_shards, r->validation_shards, r->tokens_dropped, r->shards_kept);
    return;
  }
  if (r->train_shards > 0) print_split("train", r->train_records, r->train_shards, o->max_length);
  if (r->validation_shards > 0)
    print_split("validation", r->validation_records, r->validation_shards, o->max_length);
  printf("%" PRIu64 " tokens; the last %" PRIu64 " did not fill a record\n", r->tokens,
         r->tokens_dropped);
}

/* Files may be named with --input, or just be named. */
static ath_status join_inputs(const ath_operands *operands, ath_option_list *inputs) {
  for (int i = 0; i < operands->count; i++) {
    if (inputs->count == ATH_OPTION_LIST_MAX)
      return ath_fail(ATH_USAGE, "more than %d input files; join some", ATH_OPTION_LIST_MAX);
    inputs->items[inputs->count++] = operands->items[i];
  }
  if (inputs->count == 0) return ath_fail(ATH_USAGE, "--input FILE is missing: nothing to prepare");
  return ATH_OK;
}

static ath_status run_prepare(const ath_command *self, int argc, char **argv) {
  ath_prepare_options options = ath_prepare_defaults();
  ath_option_list inputs = {0};
  const char *tokenizer_path = NULL, *shard_size = "5000";
  int64_t max_length = options.max_length, threads = 0, seed = (int64_t)options.seed;
  bool json = false;
  const ath_option table[] = {
    {.name = "tokenizer", .kind = ATH_OPTION_STRING, .target = &tokenizer_path,
     .placeholder = "DIR", .required = true,
     .help = "Folder with tokenizer.json, or that file"},
    {.name = "input", .kind = ATH_OPTION_LIST, .target = &inputs, .placeholder = "FILE",
     .help = "Text in UTF-8; every line is a document"},
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
    {0}};
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ATH_TRY(join_inputs(&operands, &inputs));
  ATH_TRY(parse_shard_size(shard_size, &options));
  options.inputs = inputs.items;
  options.input_count = inputs.count;
  options.max_length = (int)max_length;
  options.threads = (int)threads;
  options.seed = (uint64_t)seed;

  ath_tokenizer *tokenizer = NULL;
  ath_prepare_report report;
  ATH_TRY(ath_tokenizer_load(tokenizer_path, &tokenizer));
  ath_cli_catch_signals();
  options.stop = &ath_cli_stop;
  ath_status status = ath_prepare(tokenizer, &options, &report);
  ath_tokenizer_destroy(tokenizer);
  if (status == ATH_OK) print_report(&report, &options, json);
  return status;
}

const ath_command ath_command_data_prepare = {
  .name = "data prepare",
  .summary = "turn text files into shards of fixed-length records",
  .operands = "[FILE…]",
  .details =
    "Every line is encoded as [CLS] … [SEP]; the lines are joined and cut into records of exactly\n"
    "--max-length tokens, which are written to OUTPUT/train and OUTPUT/validation as\n"
    "dataset-<index>-<records>.tfrecord (tf.train.Example) with a manifest.json. Memory does not\n"
    "grow with the text. A run that was interrupted is continued by the same command; the first\n"
    "Ctrl-C ends it within a few MB of text, with exit code 13, a second one at once.\n\n"
    "Example:\n"
    "  athanor data prepare --tokenizer run/tokenizer --input text.txt --max-length 128 \\\n"
    "    --output run/data",
  .run = run_prepare,
};

/* --- inspect ------------------------------------------------------------------------------- */

typedef struct sample {
  const ath_tokenizer *tokenizer; /* NULL: no text */
  int32_t *ids, *mask;
  ath_buffer text;
} sample;

static ath_status print_json_record(sample *s, uint64_t number, int attended) {
  printf("{\"record\":%" PRIu64 ",\"ids\":[", number);
  for (int i = 0; i < attended; i++) printf("%s%d", i > 0 ? "," : "", s->ids[i]);
  printf("]");
  if (s->tokenizer != NULL) {
    ath_buffer quoted = ath_buffer_make(1 << 26);
    ath_status status = ath_buffer_json(&quoted, s->text.bytes != NULL ? s->text.bytes : "",
                                        s->text.length);
    if (status == ATH_OK) printf(",\"text\":%s", quoted.bytes);
    ath_buffer_free(&quoted);
    ATH_TRY(status);
  }
  printf("}\n");
  return ATH_OK;
}

static ath_status print_visible(const ath_buffer *text) {
  ath_buffer shown = ath_buffer_make(1 << 26);
  ath_status status = ath_buffer_byte(&shown, ' ');
  if (status == ATH_OK) status = ath_cli_put_visible(&shown, text->bytes, text->length);
  if (status == ATH_OK) fwrite(shown.bytes, 1, shown.length, stdout);
  ath_buffer_free(&shown);
  return status;
}

static ath_status print_record(const ath_dataset *data, uint64_t number, sample *s, bool json) {
  ATH_TRY(ath_dataset_read(data, number, s->ids, s->mask));
  int length = ath_dataset_length(data), attended = 0;
  for (int i = 0; i < length; i++)
    if (s->mask[i] != 0) s->ids[attended++] = s->ids[i];
  ath_buffer_clear(&s->text);
  if (s->tokenizer != NULL)
    ATH_TRY_CONTEXT(ath_tokenizer_decode(s->tokenizer, s->ids, (size_t)attended, false, &s->text),
                    "record %" PRIu64, number);
  if (json) return print_json_record(s, number, attended);
  printf("\nrecord %" PRIu64 ":", number);
  if (s->tokenizer != NULL) ATH_TRY(print_visible(&s->text));
  else for (int i = 0; i < attended; i++) printf(" %d", s->ids[i]);
  printf("\n");
  return ATH_OK;
}

/* The manifest's counts, where there is one; the dataset was opened, so it is in order. */
static ath_status print_summary(const char *folder, const ath_dataset *data, bool json) {
  ath_manifest manifest;
  ath_status found = ath_manifest_read(folder, &manifest);
  if (found != ATH_OK && found != ATH_NOT_FOUND) return found;
  bool known = found == ATH_OK;
  const char *hash = known ? manifest.tokenizer_hash : NULL;
  uint64_t records = ath_dataset_size(data), tokens = records * (uint64_t)ath_dataset_length(data);
  if (json) {
    printf("{\"records\":%" PRIu64 ",\"max_length\":%d,\"tokens\":%" PRIu64, records,
           ath_dataset_length(data), tokens);
    if (known)
      printf(",\"shards\":%zu,\"vocab_size\":%d,\"dropped_tokens\":%" PRIu64
             ",\"tokenizer_hash\":\"%s\"", manifest.shards.count, manifest.vocab_size,
             manifest.dropped_tokens, hash);
    printf("}\n");
  } else {
    printf("records      %" PRIu64 "\nmax_length   %d\ntokens       %" PRIu64 "\n", records,
           ath_dataset_length(data), tokens);
    if (known)
      printf("shards       %zu\nvocab_size   %d\ntokenizer    %s\n", manifest.shards.count,
             manifest.vocab_size, hash);
    else
      printf("manifest     none: these shards were written by another tool\n");
  }
  if (known) ath_manifest_free(&manifest);
  return ATH_OK;
}

static ath_status inspect(const char *folder, const ath_dataset *data, sample *s, int64_t limit,
                          bool json) {
  ATH_TRY(print_summary(folder, data, json));
  if (s->tokenizer != NULL) ATH_TRY(ath_dataset_check_tokenizer(data, s->tokenizer));
  size_t length = (size_t)ath_dataset_length(data);
  s->ids = malloc(2 * length * sizeof *s->ids);
  if (s->ids == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a record");
  s->mask = s->ids + length;
  for (uint64_t i = 0; i < (uint64_t)limit && i < ath_dataset_size(data); i++)
    ATH_TRY(print_record(data, i, s, json));
  return ATH_OK;
}

static ath_status run_inspect(const ath_command *self, int argc, char **argv) {
  const char *tokenizer_path = NULL;
  int64_t limit = 3;
  bool json = false;
  const ath_option table[] = {
    {.name = "tokenizer", .kind = ATH_OPTION_STRING, .target = &tokenizer_path,
     .placeholder = "DIR", .help = "Shows the records as text, by this tokenizer"},
    {.name = "limit", .kind = ATH_OPTION_INTEGER, .target = &limit, .placeholder = "N",
     .minimum = 0, .maximum = 1e15, .help = "Records to show"},
    {.name = "json", .kind = ATH_OPTION_FLAG, .target = &json,
     .help = "Print one JSON object for the dataset and one for each record"},
    {0}};
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count != 1) return ath_fail(ATH_USAGE, "name one folder of shards");
  const char *folder = operands.items[0];
  ath_tokenizer *tokenizer = NULL;
  ath_dataset *data = NULL;
  sample s = {.text = ath_buffer_make(1 << 24)};
  ath_status status = ATH_OK;
  if (tokenizer_path != NULL) status = ath_tokenizer_load(tokenizer_path, &tokenizer);
  s.tokenizer = tokenizer;
  if (status == ATH_OK) status = ath_dataset_open(folder, &data);
  if (status == ATH_OK) status = inspect(folder, data, &s, limit, json);
  free(s.ids);
  ath_buffer_free(&s.text);
  ath_dataset_close(data);
  ath_tokenizer_destroy(tokenizer);
  return status;
}

const ath_command ath_command_data_inspect = {
  .name = "data inspect",
  .summary = "show what a folder of shards holds",
  .operands = "DIR",
  .details = "Example:\n  athanor data inspect run/data/train --tokenizer run/tokenizer --limit 1",
  .run = run_inspect,
};

/* --- verify -------------------------------------------------------------------------------- */

static ath_status run_verify(const ath_command *self, int argc, char **argv) {
  const ath_option table[] = {{0}};
  ath_operands operands;
  ath_dataset *data = NULL;
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count != 1) return ath_fail(ATH_USAGE, "name one folder of shards");
  ATH_TRY(ath_dataset_open(operands.items[0], &data));
  ath_status status = ath_dataset_verify(data);
  if (status == ATH_OK)
    printf("%" PRIu64 " records: every checksum matches\n", ath_dataset_size(data));
  ath_dataset_close(data);
  return status;
}

const ath_command ath_command_data_verify = {
  .name = "data verify",
  .summary = "read every record of a folder of shards and check every checksum",
  .operands = "DIR",
  .details = "Example:\n  athanor data verify run/data/train",
  .run = run_verify,
};
