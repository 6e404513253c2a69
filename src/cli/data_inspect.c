/* data_inspect.c: `athanor data inspect`: what a folder of shards holds. */
#include <inttypes.h>
#include <stdlib.h>

#include "athanor/dataset.h"
#include "base/buffer.h"
#include "cli/cli.h"
#include "data/manifest.h"
#include "storage/file.h"

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
  char folder[ATH_PATH_MAX];
  ATH_TRY(ath_cli_locate(ATH_CLI_DATA, operands.items[0], folder));
  ath_tokenizer *tokenizer = NULL;
  ath_dataset *data = NULL;
  sample s = {.text = ath_buffer_make(1 << 24)};
  ath_status status = ATH_OK;
  if (tokenizer_path != NULL) status = ath_cli_load_tokenizer(tokenizer_path, &tokenizer);
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
