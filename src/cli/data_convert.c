/* data_convert.c: `athanor data convert`: TFRecord files to lines of JSON, and back. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "athanor/tfrecord.h"
#include "cli/cli.h"
#include "cli/place.h"
#include "formats/example_json.h"
#include "storage/file.h"
#include "storage/lines.h"

/* Base64 is a third longer than what it stands for, and numbers are longer than their varints. */
enum { FLUSH_AT = 1 << 16 };
static const size_t text_max = (size_t)1 << 36;

typedef struct conversion {
  const char *output;
  ath_tfrecord_options options;
  ath_buffer buffer;           /* lines, or one message */
  ath_file_writer *lines;      /* NULL: standard output */
  ath_tfrecord_writer *writer;
  uint64_t records;
} conversion;

static bool ends_with(const char *path, const char *end) {
  size_t length = strlen(path), wanted = strlen(end);
  return length >= wanted && strcmp(path + length - wanted, end) == 0;
}

/* --- to JSON ------------------------------------------------------------------------------- */

static ath_status flush_lines(conversion *self) {
  if (self->lines == NULL) return ath_cli_flush(&self->buffer);
  ATH_TRY(ath_file_writer_write(self->lines, self->buffer.bytes, self->buffer.length));
  ath_buffer_clear(&self->buffer);
  return ATH_OK;
}

static ath_status put_line(conversion *self, const char *path, const ath_record *record) {
  ATH_TRY_CONTEXT(ath_example_to_json(record->bytes, record->length, &self->buffer),
                  "%s: record %" PRIu64 " at byte %" PRIu64, path, record->number, record->at);
  ATH_TRY(ath_buffer_byte(&self->buffer, '\n'));
  self->records++;
  return self->buffer.length >= FLUSH_AT ? flush_lines(self) : ATH_OK;
}

static ath_status file_to_json(conversion *self, const char *path) {
  const ath_tfrecord_options options = {.record_max = self->options.record_max};
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  ath_status status;
  ATH_TRY(ath_tfrecord_open_with(path, &options, &reader));
  while ((status = ath_tfrecord_next(reader, &record)) == ATH_OK && record.bytes != NULL)
    ATH_TRY_GOTO(put_line(self, path, &record), done);
done:
  ath_tfrecord_close(reader);
  return status;
}

static ath_status all_to_json(conversion *self, const ath_cli_files *files) {
  if (self->output != NULL) ATH_TRY(ath_file_writer_open(self->output, &self->lines));
  for (size_t i = 0; i < files->count; i++) ATH_TRY(file_to_json(self, files->paths[i]));
  ATH_TRY(flush_lines(self));
  ath_file_writer *lines = self->lines;
  self->lines = NULL;
  return lines != NULL ? ath_file_writer_commit(lines) : ATH_OK;
}

/* --- from JSON ----------------------------------------------------------------------------- */

/* A line of blanks is none. */
static bool is_blank(const ath_line *line) {
  size_t i = 0;
  while (i < line->length && strchr(" \t\r", line->bytes[i]) != NULL && line->bytes[i] != '\0') i++;
  return i == line->length;
}

static ath_status put_record(conversion *self, const char *path, const ath_line *line) {
  if (is_blank(line)) return ATH_OK;
  ath_buffer_clear(&self->buffer);
  ATH_TRY_CONTEXT(ath_example_from_json(line->bytes, line->length, &self->buffer),
                  "%s: line %" PRIu64, path, line->number);
  ATH_TRY_CONTEXT(ath_tfrecord_write(self->writer, self->buffer.bytes, self->buffer.length),
                  "%s: line %" PRIu64, path, line->number);
  self->records++;
  return ATH_OK;
}

static ath_status file_from_json(conversion *self, const char *path) {
  ath_lines *lines = NULL;
  ath_line line;
  ath_status status;
  ATH_TRY(ath_lines_open(path, &lines));
  while ((status = ath_lines_next(lines, &line)) == ATH_OK && line.bytes != NULL)
    ATH_TRY_GOTO(put_record(self, path, &line), done);
done:
  ath_lines_close(lines);
  return status;
}

static ath_status all_from_json(conversion *self, const ath_cli_files *files) {
  ATH_TRY(ath_tfrecord_create_with(self->output, &self->options, &self->writer));
  for (size_t i = 0; i < files->count; i++) ATH_TRY(file_from_json(self, files->paths[i]));
  ath_tfrecord_writer *writer = self->writer;
  self->writer = NULL;
  return ath_tfrecord_commit(writer);
}

/* --- the command --------------------------------------------------------------------------- */

ath_status ath_cli_parse_compression(const char *name, ath_compression *out) {
  static const struct { const char *name; ath_compression kind; } kinds[] = {
    {"none", ATH_COMPRESSION_NONE}, {"gzip", ATH_COMPRESSION_GZIP}, {"zlib", ATH_COMPRESSION_ZLIB}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    *out = kinds[i].kind;
    if (strcmp(name, kinds[i].name) == 0) return ATH_OK;
  }
  if (strcmp(name, "zstd") == 0)
    return ath_fail(ATH_USAGE, "--compression zstd: TensorFlow reads TFRecord files in gzip and "
                    "zlib only; use gzip");
  return ath_fail(ATH_USAGE, "--compression wants gzip, zlib or none, not \"%.40s\"", name);
}

static ath_status choose_compression(const char *name, const char *output, ath_compression *out) {
  if (name != NULL) return ath_cli_parse_compression(name, out);
  *out = ends_with(output, ".gz")     ? ATH_COMPRESSION_GZIP
         : ends_with(output, ".zlib") ? ATH_COMPRESSION_ZLIB
                                      : ATH_COMPRESSION_NONE;
  return ATH_OK;
}

/* The direction is that of the names: JSON from files that say so, or to one that does. */
static ath_status choose_direction(const ath_operands *operands, const char *output,
                                   bool *to_json) {
  *to_json = output == NULL || ends_with(output, ".jsonl") || ends_with(output, ".json");
  for (int i = 0; i < operands->count; i++) {
    const char *path = operands->items[i];
    bool json = ends_with(path, ".jsonl") || ends_with(path, ".json") ||
                ends_with(path, ".jsonl.gz") || strcmp(path, "-") == 0;
    if (json == *to_json)
      return ath_fail(ATH_USAGE, json ? "%s: JSON is converted to TFRecord; name an --output that "
                                        "does not end in .jsonl"
                                      : "%s: TFRecord is converted to JSON; name an --output that "
                                        "does end in .jsonl, or none", path);
  }
  return ATH_OK;
}

static ath_status convert(conversion *self, const ath_operands *operands, bool to_json,
                          ath_cli_files *files) {
  for (int i = 0; i < operands->count; i++)
    ATH_TRY(to_json ? ath_cli_files_add_records(files, operands->items[i])
                    : ath_cli_files_add(files, operands->items[i]));
  const char *given = self->output;
  ath_cli_place place;
  ath_status status = ath_cli_place_open(&place, ATH_CLI_PLACE_FILE, given, false);
  if (given != NULL) self->output = place.path;
  if (status == ATH_OK) status = to_json ? all_to_json(self, files) : all_from_json(self, files);
  status = ath_cli_place_close(&place, status);
  if (status == ATH_OK && given != NULL) printf("%s: %" PRIu64 " records\n", given, self->records);
  return status;
}

static ath_status run_convert(const ath_command *self, int argc, char **argv) {
  conversion c = {.buffer = ath_buffer_make(text_max)};
  const char *compression = NULL;
  int64_t record_max = (int64_t)ATH_RECORD_MAX;
  bool to_json = false;
  const ath_option table[] = {
    {.name = "output", .kind = ATH_OPTION_STRING, .target = &c.output, .placeholder = "FILE",
     .help = "File to write; of JSON, standard output unless given"},
    {.name = "compression", .kind = ATH_OPTION_STRING, .target = &compression,
     .placeholder = "KIND", .help = "Of the TFRecord file: gzip, zlib or none; by its name unless "
                                    "given (.gz, .zlib)"},
    {.name = "max-record-bytes", .kind = ATH_OPTION_INTEGER, .target = &record_max,
     .placeholder = "N", .minimum = 1, .maximum = 1e15, .help = "Longer records are refused"},
    {0}};
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  if (operands.count == 0) return ath_fail(ATH_USAGE, "name a file to convert");
  ATH_TRY(choose_direction(&operands, c.output, &to_json));
  if (!to_json) ATH_TRY(choose_compression(compression, c.output, &c.options.compression));
  c.options.record_max = (uint64_t)record_max;
  ath_cli_files files = {0};
  ath_status status = convert(&c, &operands, to_json, &files);
  ath_cli_files_free(&files);
  ath_file_writer_abandon(c.lines);
  ath_tfrecord_abandon(c.writer);
  ath_buffer_free(&c.buffer);
  return status;
}

const ath_command ath_command_data_convert = {
  .name = "data convert",
  .summary = "turn TFRecord files into lines of JSON, and back",
  .operands = "PATH…",
  .details =
    "An Example is an object of lists; whole numbers are 64-bit integers, numbers with a point\n"
    "floats, strings byte strings:\n"
    "  {\"input_ids\": [0, 1, 300], \"weights\": [0.5], \"text\": [\"some text\"]}\n"
    "What does not show its kind is told it, bytes that are not UTF-8 are in base64, and a\n"
    "SequenceExample has its parts by name:\n"
    "  {\"a\": {\"int64\": []}, \"b\": {\"float\": [\"NaN\"]}, \"c\": [{\"base64\": \"/9j/\"}]}\n"
    "  {\"sequence_example\": {\"context\": {}, \"feature_lists\": {\"x\": [[1], [2, 3]]}}}\n\n"
    "Examples:\n"
    "  athanor data convert run/data/train --output train.jsonl\n"
    "  athanor data convert train.jsonl --output train.tfrecord.gz",
  .run = run_convert,
};
