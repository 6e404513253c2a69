/* documents.c: one input after another, each by the reader of its format. */
#include "athanor/documents.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "readers/query.h"
#include "readers/source.h"
#include "storage/codec.h"
#include "storage/file.h"

enum { LOGGED_ERRORS_MAX = 10 }; /* skipped documents that are named one by one */

struct ath_documents {
  const char *const *inputs;
  size_t count;
  ath_reading reading;
  ath_text_place next;      /* of the input that is open, or to be opened */
  const ath_reader *reader; /* NULL: none is open */
  ath_source source;
  uint64_t skipped, taken_before;
};

/* --- formats ------------------------------------------------------------------------------- */

static bool ends_with(const char *name, size_t length, const char *end) {
  size_t n = strlen(end);
  return length > n && strncasecmp(name + length - n, end, n) == 0;
}

static ath_format format_of_name(const char *path) {
  static const struct { const char *end; ath_format format; } ends[] = {
    {".jsonl", ATH_FORMAT_JSONL}, {".ndjson", ATH_FORMAT_JSONL}, {".json", ATH_FORMAT_JSONL},
    {".csv", ATH_FORMAT_CSV}, {".tsv", ATH_FORMAT_TSV}, {".parquet", ATH_FORMAT_PARQUET}};
  const ath_codec *codec = ath_codec_of_name(path);
  size_t length = strlen(path) - (codec != NULL ? strlen(codec->suffix) : 0);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (ends_with(path, length, ends[i].end)) return ends[i].format;
  return ATH_FORMAT_TEXT;
}

/* Prepares the source for the input at `path`. */
static ath_status choose_reader(const char *path, const ath_reading *reading, ath_source *source,
                                const ath_reader **out) {
  ath_format format = reading->format != ATH_FORMAT_AUTO ? reading->format : format_of_name(path);
  bool table = reading->sql != NULL || format != ATH_FORMAT_TEXT;
  source->reading = reading;
  source->path = path;
  source->unit = reading->unit;
  if (reading->unit != ATH_UNIT_AUTO && (reading->unit == ATH_UNIT_ROW) != table)
    return ath_fail(ATH_USAGE, table ? "%s: is a table: its documents are its rows"
                                     : "%s: is text, which has no rows: its documents are lines, "
                                       "blocks or files", path);
  source->delimiter = format == ATH_FORMAT_TSV         ? '\t'
                      : reading->delimiter != '\0' ? reading->delimiter : ',';
  *out = reading->sql != NULL || format == ATH_FORMAT_PARQUET ? &ath_query_reader
         : format == ATH_FORMAT_JSONL                         ? &ath_jsonl_reader
         : format == ATH_FORMAT_TEXT                          ? &ath_text_reader
                                                              : &ath_separated_reader;
  return ATH_OK;
}

/* Whatever its name, a file is compressed that begins as such files do. */
static bool is_compressed(const char *path) {
  char bytes[ATH_CODEC_MAGIC_MAX];
  FILE *file = fopen(path, "rb");
  if (file == NULL) return true;
  size_t got = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  return ath_codec_of_bytes(bytes, got) != NULL || ath_codec_of_name(path) != NULL;
}

bool ath_documents_are_lines(const char *input, const ath_reading *reading) {
  ath_format format = reading->format != ATH_FORMAT_AUTO ? reading->format : format_of_name(input);
  bool lines = format == ATH_FORMAT_JSONL ||
               (format == ATH_FORMAT_TEXT && reading->unit != ATH_UNIT_BLOCK &&
                reading->unit != ATH_UNIT_FILE);
  return reading->sql == NULL && lines && !ath_path_is_pipe(input) && !is_compressed(input);
}

static void close_source(ath_source *self) {
  ath_lines_close(self->lines);
  ath_query_close(self->query);
  self->lines = NULL;
  self->query = NULL;
}

static uint64_t taken(const ath_source *self) {
  if (self->lines != NULL) return ath_lines_taken(self->lines);
  uint64_t size = 0;
  if (self->query != NULL && self->reading->sql == NULL &&
      ath_file_size(self->path, &size) != ATH_OK)
    size = 0;
  return size == 0 ? 0 : (uint64_t)((double)size * ath_query_progress(self->query));
}

/* --- opening ------------------------------------------------------------------------------- */

ath_status ath_documents_open(const char *const *inputs, size_t count, const ath_reading *reading,
                              const ath_text_place *from, ath_documents **out) {
  assert(count > 0 && (from == NULL || (from->input <= count && from->line >= 1)));
  ath_documents *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to read documents");
  self->inputs = inputs;
  self->count = count;
  self->reading = *reading;
  self->next = from != NULL ? *from : (ath_text_place){0, 0, 1};
  self->source.text = ath_buffer_make(ATH_DOCUMENT_MAX);
  self->source.label = self->source.scratch = self->source.text;
  for (uint64_t i = 0; i < self->next.input && reading->sql == NULL; i++) {
    uint64_t size;
    if (ath_file_size(inputs[i], &size) == ATH_OK) self->taken_before += size;
  }
  *out = self;
  return ATH_OK;
}

void ath_documents_close(ath_documents *self) {
  if (self == NULL) return;
  close_source(&self->source);
  ath_buffer_free(&self->source.text);
  ath_buffer_free(&self->source.label);
  ath_buffer_free(&self->source.scratch);
  free(self);
}

uint64_t ath_documents_skipped(const ath_documents *self) { return self->skipped; }

uint64_t ath_documents_taken(const ath_documents *self) {
  return self->taken_before + (self->reader != NULL ? taken(&self->source) : 0);
}

static ath_status open_input(ath_documents *self) {
  ATH_TRY(choose_reader(self->inputs[self->next.input], &self->reading, &self->source,
                        &self->reader));
  ATH_TRY(self->reader->begin(&self->source));
  if (self->next.at == 0) return ATH_OK;
  return self->reader->seek(&self->source, self->next.at, self->next.line);
}

static void leave_input(ath_documents *self) {
  if (self->reader != NULL) self->taken_before += taken(&self->source);
  close_source(&self->source);
  self->reader = NULL;
  self->next = (ath_text_place){self->next.input + 1, 0, 1};
}

ath_status ath_documents_check(const char *const *inputs, size_t count, const ath_reading *reading,
                               uint64_t *bytes) {
  *bytes = 0;
  for (size_t i = 0; i < count; i++) {
    ath_documents *one = NULL;
    uint64_t size = 0;
    if (reading->sql == NULL) ATH_TRY(ath_file_size(inputs[i], &size));
    *bytes += size;
    if (ath_path_is_pipe(inputs[i])) continue; /* it can be opened but once */
    ATH_TRY(ath_documents_open(inputs + i, 1, reading, NULL, &one));
    ath_status status = open_input(one);
    ath_documents_close(one);
    if (status != ATH_OK && !(reading->skip_errors &&
                              (status == ATH_INVALID || status == ATH_CORRUPT)))
      return status;
  }
  return ATH_OK;
}

/* --- reading ------------------------------------------------------------------------------- */

static void note_skipped(ath_documents *self) {
  self->skipped++;
  if (self->skipped <= LOGGED_ERRORS_MAX) ath_log(ATH_LOG_WARNING, "skipped: %s", ath_error_text());
  if (self->skipped == LOGGED_ERRORS_MAX)
    ath_log(ATH_LOG_WARNING, "what is skipped from here on is counted without a message");
}

/* A document of the input that is open, or an empty one at its end. */
static ath_status read_input(ath_documents *self, ath_document *out) {
  ATH_TRY(self->reader->next(&self->source, out));
  out->unit = self->reader->unit;
  out->place.input = out->next.input = self->next.input;
  return ATH_OK;
}

ath_status ath_documents_next(ath_documents *self, ath_document *out) {
  while (self->next.input < self->count) {
    *out = (ath_document){0};
    bool opening = self->reader == NULL;
    ath_status status = opening ? open_input(self) : ATH_OK;
    bool opened = status == ATH_OK;
    if (opened) status = read_input(self, out);
    if (status == ATH_OK && out->text != NULL) {
      self->next = out->next;
      return ATH_OK;
    }
    bool fault = status == ATH_INVALID || status == ATH_CORRUPT;
    if (status != ATH_OK && !(self->reading.skip_errors && fault)) return status;
    if (status != ATH_OK) note_skipped(self);
    if (status == ATH_OK || !opened) leave_input(self);
  }
  *out = (ath_document){.place = self->next, .next = self->next, .unit = "line"};
  return ATH_OK;
}
