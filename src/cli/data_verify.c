/* data_verify.c: `athanor data verify`: every checksum of record files. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/dataset.h"
#include "athanor/tfrecord.h"
#include "base/outcome.h"
#include "cli/cli.h"
#include "data/manifest.h"
#include "storage/file.h"

enum { FAULTS_SHOWN = 100 };

typedef struct verification {
  ath_tfrecord_options options;
  bool json;
  uint64_t records, bytes, faults;
  ath_outcome first; /* of the faults */
} verification;

/* A fault on a line of its own: the first one is also the command's last word. */
static ath_status note_fault(verification *self, const char *path, const ath_record *record,
                             ath_status status) {
  char given[2][ATH_CLI_GIVEN_MAX];
  const char *text = ath_cli_as_given(ath_error_text(), given[0]);
  if (self->faults++ == 0) ath_outcome_keep(&self->first, status);
  if (self->faults > FAULTS_SHOWN) return ATH_OK;
  path = ath_cli_as_given(path, given[1]);
  if (!self->json) {
    ath_cli_say(stdout, "", text);
    return ATH_OK;
  }
  ath_buffer line = ath_buffer_make(1 << 16);
  ath_status put = ath_buffer_string(&line, "{\"file\":");
  if (put == ATH_OK) put = ath_buffer_json(&line, path, strlen(path));
  if (put == ATH_OK)
    put = ath_buffer_format(&line, ",\"record\":%" PRIu64 ",\"byte\":%" PRIu64 ",\"fault\":",
                            record->number, record->at);
  if (put == ATH_OK) put = ath_buffer_json(&line, text, strlen(text));
  if (put == ATH_OK) printf("%s}\n", line.bytes);
  ath_buffer_free(&line);
  return put;
}

/* Goes on behind a record with damaged data; a damaged length hides where the next one begins. */
static ath_status verify_records(verification *self, const char *path,
                                 ath_tfrecord_reader *reader) {
  for (;;) {
    ath_record record;
    ath_status status = ath_tfrecord_next(reader, &record);
    if (status == ATH_NO_MEMORY) return status;
    if (status != ATH_OK) {
      ATH_TRY(note_fault(self, path, &record, status));
      if (!ath_tfrecord_pass(reader)) return ATH_OK;
      continue;
    }
    if (record.bytes == NULL) return ATH_OK;
    self->records++;
    self->bytes += record.length;
  }
}

static ath_status verify_file(verification *self, const char *path) {
  ath_tfrecord_reader *reader = NULL;
  ATH_TRY(ath_tfrecord_open_with(path, &self->options, &reader));
  ath_status status = verify_records(self, path, reader);
  ath_tfrecord_close(reader);
  return status;
}

/* Of a prepared folder also what its manifest says: files, counts, their own checksums, and that
 * ids are in the vocabulary. Faults of records are looked for first, since they say where. */
static ath_status verify_dataset(const verification *self, const char *given) {
  char folder[ATH_PATH_MAX], manifest[ATH_PATH_MAX];
  ATH_TRY(ath_cli_locate(ATH_CLI_DATA, given, folder));
  ATH_TRY(ath_path_join(manifest, folder, ATH_MANIFEST_NAME));
  if (self->faults > 0 || !ath_path_exists(manifest)) return ATH_OK;
  ath_dataset *data = NULL;
  ATH_TRY(ath_dataset_open(folder, &data));
  ath_status status = ath_dataset_verify(data);
  ath_dataset_close(data);
  return status;
}

static ath_status conclude(const verification *self, size_t files) {
  if (self->json)
    printf("{\"files\":%zu,\"records\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"faults\":%" PRIu64 "}\n",
           files, self->records, self->bytes, self->faults);
  if (self->faults > 0)
    return self->faults == 1 ? ath_outcome_return(&self->first)
                             : ath_context(ath_outcome_return(&self->first), "%" PRIu64
                                           " faults, the first of them", self->faults);
  if (!self->json) printf("%" PRIu64 " records: every checksum matches\n", self->records);
  return ATH_OK;
}

static ath_status verify_all(verification *self, const ath_operands *operands,
                             ath_cli_files *files) {
  for (int i = 0; i < operands->count; i++)
    ATH_TRY(ath_cli_files_add_records(files, operands->items[i]));
  for (size_t i = 0; i < files->count; i++) ATH_TRY(verify_file(self, files->paths[i]));
  for (int i = 0; i < operands->count; i++) ATH_TRY(verify_dataset(self, operands->items[i]));
  return conclude(self, files->count);
}

static ath_status run_verify(const ath_command *self, int argc, char **argv) {
  verification v = {0};
  int64_t record_max = (int64_t)ATH_RECORD_MAX;
  const ath_option table[] = {
    {.name = "max-record-bytes", .kind = ATH_OPTION_INTEGER, .target = &record_max,
     .placeholder = "N", .minimum = 1, .maximum = 1e15, .help = "Longer records are a fault"},
    {.name = "json", .kind = ATH_OPTION_FLAG, .target = &v.json,
     .help = "Print one JSON object for each fault and one at the end"},
    {0}};
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count == 0)
    return ath_fail(ATH_USAGE, "name record files, or one folder of shards or more");
  v.options.record_max = (uint64_t)record_max;
  ath_cli_files files = {0};
  ath_status status = verify_all(&v, &operands, &files);
  ath_cli_files_free(&files);
  return status;
}

const ath_command ath_command_data_verify = {
  .name = "data verify",
  .summary = "read every record of TFRecord files and check every checksum",
  .operands = "PATH…",
  .details =
    "A PATH is a TFRecord file, compressed or not, or a folder of them. Each fault is a line with\n"
    "file, record, byte and what is wrong; reading goes on behind a record with damaged data. A\n"
    "prepared folder is held against its manifest, too. The exit code is 0 or that of the first\n"
    "fault (4 for damage).\n\n"
    "Example:\n  athanor data verify run/data/train",
  .run = run_verify,
};
