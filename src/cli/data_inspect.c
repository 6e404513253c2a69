/* data_inspect.c: `athanor data inspect`: what record files hold. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/dataset.h"
#include "athanor/tfrecord.h"
#include "base/buffer.h"
#include "cli/cli.h"
#include "data/manifest.h"
#include "data/survey.h"
#include "formats/deflate.h"
#include "formats/example_json.h"
#include "storage/file.h"

enum { SHOWN_MAX = 2000 }; /* bytes of a record's JSON that are shown to a person */

typedef struct inspection {
  ath_tfrecord_options options;
  const ath_tokenizer *tokenizer; /* NULL: no text */
  uint64_t limit, look_at;
  bool json;
  ath_survey survey;
  bool has_manifest;
  ath_manifest manifest;
  int32_t *ids, *mask; /* [ATH_LENGTH_MAX] */
  uint64_t shown;
  ath_buffer text, line;
} inspection;

/* --- the files together -------------------------------------------------------------------- */

static const char *const kind_names[] = {"empty", "bytes", "float", "int64"};
static const char *const place_names[] = {"", "list", "step"};

/* The manifest's counts, where there is one; the dataset was opened, so it is in order. */
static ath_status put_manifest(inspection *self) {
  const ath_manifest *m = &self->manifest;
  if (!self->json)
    return ath_buffer_format(&self->line, "max_length   %d\ntokens       %" PRIu64 "\nshards       "
                             "%zu\nvocab_size   %d\ntokenizer    %s\n", m->max_length,
                             m->records * (uint64_t)m->max_length, m->shards.count, m->vocab_size,
                             m->tokenizer_hash);
  return ath_buffer_format(&self->line, ",\"max_length\":%d,\"tokens\":%" PRIu64 ",\"shards\":%zu,"
                           "\"vocab_size\":%d,\"dropped_tokens\":%" PRIu64 ",\"tokenizer_hash\":"
                           "\"%s\"", m->max_length, m->records * (uint64_t)m->max_length,
                           m->shards.count, m->vocab_size, m->dropped_tokens, m->tokenizer_hash);
}

static ath_status put_counts(inspection *self) {
  const ath_survey *s = &self->survey;
  const ath_span *lengths = &s->lengths;
  const char *compression = ath_compression_name(s->compression);
  if (self->json)
    return ath_buffer_format(&self->line, "{\"files\":%" PRIu64 ",\"file_bytes\":%" PRIu64
                             ",\"compression\":\"%s\",\"records\":%" PRIu64 ",\"bytes\":%" PRIu64
                             ",\"shortest\":%" PRIu64 ",\"longest\":%" PRIu64 ",\"looked_at\":%"
                             PRIu64 ",\"examples\":%" PRIu64, s->files, s->file_bytes, compression,
                             lengths->times, lengths->sum, lengths->least, lengths->most,
                             s->looked_at, s->examples);
  ATH_TRY(ath_buffer_format(&self->line, "records      %" PRIu64 "\nfiles        %" PRIu64 ", %"
                            PRIu64 " bytes%s%s\nlengths      %" PRIu64 " … %" PRIu64 " bytes, %"
                            PRIu64 " in all\n", lengths->times, s->files, s->file_bytes,
                            s->compression == ATH_COMPRESSION_NONE ? "" : ", ",
                            s->compression == ATH_COMPRESSION_NONE ? "" : compression,
                            lengths->least, lengths->most, lengths->sum));
  if (s->examples == s->looked_at) return ATH_OK;
  return ath_buffer_format(&self->line, "examples     %" PRIu64 " of the %" PRIu64 " looked at\n",
                           s->examples, s->looked_at);
}

/* One line, or one object, for each kind that a feature has. */
static ath_status put_feature(inspection *self, const ath_feature_survey *f, int kind) {
  const ath_span *counts = &f->counts[kind];
  const char *kind_name = f->place == ATH_FEATURE_STEPS ? "steps" : kind_names[kind];
  if (self->json) {
    ATH_TRY(ath_buffer_string(&self->line, "{\"name\":"));
    ATH_TRY(ath_buffer_json(&self->line, f->name, f->name_length));
    return ath_buffer_format(&self->line, ",\"place\":\"%s\",\"kind\":\"%s\",\"times\":%" PRIu64
                             ",\"least\":%" PRIu64 ",\"most\":%" PRIu64 "}", place_names[f->place],
                             kind_name, counts->times, counts->least, counts->most);
  }
  ATH_TRY(ath_buffer_string(&self->line, "  "));
  ATH_TRY(ath_cli_put_visible(&self->line, f->name, f->name_length));
  ATH_TRY(ath_buffer_format(&self->line, ": %s%s%s", place_names[f->place],
                            f->place == ATH_FEATURE_PLAIN ? "" : " of ", kind_name));
  if (counts->least == counts->most)
    return ath_buffer_format(&self->line, "[%" PRIu64 "], %" PRIu64 " times\n", counts->least,
                             counts->times);
  return ath_buffer_format(&self->line, "[%" PRIu64 " … %" PRIu64 "], %" PRIu64 " times\n",
                           counts->least, counts->most, counts->times);
}

static ath_status put_features(inspection *self) {
  const ath_survey *s = &self->survey;
  const char *between = "";
  ATH_TRY(ath_buffer_string(&self->line, self->json ? ",\"features\":[" : "features\n"));
  for (size_t i = 0; i < s->count; i++)
    for (int kind = 0; kind <= ATH_FEATURE_INT64; kind++) {
      if (s->features[i].counts[kind].times == 0) continue;
      ATH_TRY(ath_buffer_string(&self->line, between));
      ATH_TRY(put_feature(self, &s->features[i], kind));
      between = self->json ? "," : "";
    }
  if (s->more && !self->json) ATH_TRY(ath_buffer_string(&self->line, "  and more\n"));
  return ath_buffer_string(&self->line, self->json ? "]}\n" : "");
}

static ath_status print_summary(inspection *self, const ath_cli_files *files) {
  for (size_t i = 0; i < files->count; i++)
    ATH_TRY(ath_survey_file(&self->survey, files->paths[i], &self->options, self->look_at));
  ATH_TRY(put_counts(self));
  if (self->has_manifest) ATH_TRY(put_manifest(self));
  ATH_TRY(put_features(self));
  return ath_cli_flush(&self->line);
}

/* --- records ------------------------------------------------------------------------------- */

/* The ids of a record of tokens that are attended to; false for any other record. */
static bool read_tokens(inspection *self, const ath_record *record, size_t *count) {
  ath_int64_list lists[] = {
    {.name = "input_ids", .values = self->ids, .capacity = ATH_LENGTH_MAX},
    {.name = "attention_mask", .values = self->mask, .capacity = ATH_LENGTH_MAX}};
  bool masked = ath_example_read_lists(record->bytes, record->length, lists, 2) == ATH_OK &&
                lists[0].count == lists[1].count;
  if (!masked && ath_example_read_lists(record->bytes, record->length, lists, 1) != ATH_OK)
    return false;
  *count = 0;
  for (size_t i = 0; i < lists[0].count; i++)
    if (!masked || self->mask[i] != 0) self->ids[(*count)++] = self->ids[i];
  return true;
}

static ath_status put_ids(inspection *self, size_t count) {
  ATH_TRY(ath_buffer_string(&self->line, self->json ? ",\"ids\":[" : ""));
  for (size_t i = 0; i < count; i++) {
    if (!self->json || i > 0) ATH_TRY(ath_buffer_byte(&self->line, self->json ? ',' : ' '));
    ATH_TRY(ath_buffer_integer(&self->line, self->ids[i]));
  }
  return ath_buffer_string(&self->line, self->json ? "]" : "");
}

static ath_status put_tokens(inspection *self, size_t count) {
  if (self->json || self->tokenizer == NULL) ATH_TRY(put_ids(self, count));
  if (self->tokenizer == NULL) return ATH_OK;
  ath_buffer_clear(&self->text);
  ATH_TRY(ath_tokenizer_decode(self->tokenizer, self->ids, count, false, &self->text));
  const char *text = self->text.bytes != NULL ? self->text.bytes : "";
  ATH_TRY(ath_buffer_string(&self->line, self->json ? ",\"text\":" : " "));
  return self->json ? ath_buffer_json(&self->line, text, self->text.length)
                    : ath_cli_put_visible(&self->line, text, self->text.length);
}

static ath_status put_example(inspection *self, const ath_record *record) {
  ath_buffer_clear(&self->text);
  if (ath_example_to_json(record->bytes, record->length, &self->text) != ATH_OK)
    return ath_buffer_format(&self->line, self->json ? ",\"example\":null,\"bytes\":%zu"
                                                     : " %zu bytes that are no Example",
                             record->length);
  if (self->json) {
    ATH_TRY(ath_buffer_string(&self->line, ",\"example\":"));
    return ath_buffer_append(&self->line, self->text.bytes, self->text.length);
  }
  size_t shown = self->text.length < SHOWN_MAX ? self->text.length : SHOWN_MAX;
  while (shown < self->text.length && (self->text.bytes[shown] & 0xC0) == 0x80) shown--;
  ATH_TRY(ath_buffer_byte(&self->line, ' '));
  ATH_TRY(ath_cli_put_visible(&self->line, self->text.bytes, shown));
  return ath_buffer_string(&self->line, shown < self->text.length ? "…" : "");
}

static ath_status print_record(inspection *self, const ath_record *record) {
  size_t count;
  ATH_TRY(ath_buffer_format(&self->line, self->json ? "{\"record\":%" PRIu64 : "\nrecord %" PRIu64
                            ":", self->shown++));
  ATH_TRY(read_tokens(self, record, &count) ? put_tokens(self, count) : put_example(self, record));
  ATH_TRY(ath_buffer_string(&self->line, self->json ? "}\n" : "\n"));
  return ath_cli_flush(&self->line);
}

static ath_status print_records(inspection *self, const char *path) {
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  ath_status status = ATH_OK;
  if (self->shown == self->limit) return ATH_OK;
  ATH_TRY(ath_tfrecord_open_with(path, &self->options, &reader));
  while (self->shown < self->limit && status == ATH_OK) {
    ATH_TRY_GOTO(ath_tfrecord_next(reader, &record), done);
    if (record.bytes == NULL) break;
    status = ath_context(print_record(self, &record), "%s: record %" PRIu64, path, record.number);
  }
done:
  ath_tfrecord_close(reader);
  return status;
}

/* --- the command --------------------------------------------------------------------------- */

/* A prepared folder is held against its manifest first, and a tokenizer against both. */
static ath_status check_dataset(inspection *self, const char *given) {
  char folder[ATH_PATH_MAX];
  ath_dataset *data = NULL;
  ATH_TRY(ath_cli_locate(ATH_CLI_DATA, given, folder));
  if (!ath_path_is_folder(folder)) return ATH_OK;
  ath_status found = ath_manifest_read(folder, &self->manifest);
  if (found == ATH_NOT_FOUND) return ATH_OK;
  ATH_TRY(found);
  self->has_manifest = true;
  ath_status status = ath_dataset_open(folder, &data);
  if (status == ATH_OK && self->tokenizer != NULL)
    status = ath_dataset_check_tokenizer(data, self->tokenizer);
  ath_dataset_close(data);
  return status;
}

static ath_status inspect(inspection *self, const char *given) {
  ath_cli_files files = {0};
  self->ids = malloc(2 * ATH_LENGTH_MAX * sizeof *self->ids);
  if (self->ids == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a record");
  self->mask = self->ids + ATH_LENGTH_MAX;
  ath_status status = check_dataset(self, given);
  if (status == ATH_OK) status = ath_cli_files_add_records(&files, given);
  if (status == ATH_OK) status = print_summary(self, &files);
  for (size_t i = 0; status == ATH_OK && i < files.count; i++)
    status = print_records(self, files.paths[i]);
  ath_cli_files_free(&files);
  return status;
}

static ath_status run_inspect(const ath_command *self, int argc, char **argv) {
  const char *tokenizer_path = NULL;
  int64_t limit = 3, look_at = 10000, record_max = (int64_t)ATH_RECORD_MAX;
  bool json = false;
  const ath_option table[] = {
    {.name = "tokenizer", .kind = ATH_OPTION_STRING, .target = &tokenizer_path,
     .placeholder = "DIR", .help = "Shows the records as text, by this tokenizer"},
    {.name = "limit", .kind = ATH_OPTION_INTEGER, .target = &limit, .placeholder = "N",
     .minimum = 0, .maximum = 1e15, .help = "Records to show"},
    {.name = "features-of", .kind = ATH_OPTION_INTEGER, .target = &look_at, .placeholder = "N",
     .minimum = 0, .maximum = 1e15, .help = "Records whose features are counted, from the first"},
    {.name = "max-record-bytes", .kind = ATH_OPTION_INTEGER, .target = &record_max,
     .placeholder = "N", .minimum = 1, .maximum = 1e15, .help = "Longer records are a fault"},
    {.name = "json", .kind = ATH_OPTION_FLAG, .target = &json,
     .help = "Print one JSON object for the dataset and one for each record"},
    {0}};
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count != 1) return ath_fail(ATH_USAGE, "name one folder of shards, or one file");
  ath_tokenizer *tokenizer = NULL;
  if (tokenizer_path != NULL) ATH_TRY(ath_cli_load_tokenizer(tokenizer_path, &tokenizer));
  inspection i = {.options.record_max = (uint64_t)record_max, .tokenizer = tokenizer,
                  .limit = (uint64_t)limit, .look_at = (uint64_t)look_at, .json = json,
                  .text = ath_buffer_make((size_t)1 << 34),
                  .line = ath_buffer_make((size_t)1 << 34)};
  ath_status status = inspect(&i, operands.items[0]);
  free(i.ids);
  ath_buffer_free(&i.text);
  ath_buffer_free(&i.line);
  ath_survey_free(&i.survey);
  if (i.has_manifest) ath_manifest_free(&i.manifest);
  ath_tokenizer_destroy(tokenizer);
  return status;
}

const ath_command ath_command_data_inspect = {
  .name = "data inspect",
  .summary = "show what TFRecord files hold: counts, lengths, features, first records",
  .operands = "PATH",
  .details =
    "PATH is a TFRecord file, compressed or not, or a folder of them, prepared here or by another\n"
    "tool. Every checksum is verified on the way.\n\n"
    "Example:\n  athanor data inspect run/data/train --tokenizer run/tokenizer --limit 1",
  .run = run_inspect,
};
