/* data_show.c: athanor data show, the documents of any input as they are read. */
#include <inttypes.h>

#include "cli/cli.h"
#include "cli/reading.h"

enum { JSON_MAX = 1 << 30 };

static ath_status put_json(const ath_document *d, const char *path, ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, "{\"file\":"));
  ATH_TRY(ath_buffer_json(out, path, strlen(path)));
  ATH_TRY(ath_buffer_format(out, ",\"%s\":%" PRIu64 ",\"text\":", d->unit, d->place.line));
  ATH_TRY(ath_buffer_json(out, d->text, d->length));
  if (d->label != NULL) {
    ATH_TRY(ath_buffer_string(out, ",\"label\":"));
    ATH_TRY(ath_buffer_json(out, d->label, d->label_length));
  }
  return ath_buffer_string(out, "}\n");
}

static ath_status put_text(const ath_document *d, const char *path, ath_buffer *out) {
  ATH_TRY(ath_cli_put_visible(out, path, strlen(path)));
  ATH_TRY(ath_buffer_format(out, ":%" PRIu64 ": ", d->place.line));
  if (d->label != NULL) {
    ATH_TRY(ath_cli_put_visible(out, d->label, d->label_length));
    ATH_TRY(ath_buffer_string(out, " | "));
  }
  ATH_TRY(ath_cli_put_visible(out, d->text, d->length));
  return ath_buffer_byte(out, '\n');
}

static ath_status show(ath_documents *documents, const ath_cli_files *files, int64_t limit,
                       bool json, ath_buffer *out) {
  char given[ATH_CLI_GIVEN_MAX];
  for (int64_t i = 0; limit == 0 || i < limit; i++) {
    ath_document d;
    ATH_TRY(ath_documents_next(documents, &d));
    if (d.text == NULL) return ATH_OK;
    const char *path = ath_cli_as_given(files->paths[d.place.input], given);
    ATH_TRY(json ? put_json(&d, path, out) : put_text(&d, path, out));
    ATH_TRY(ath_cli_flush(out));
  }
  return ATH_OK;
}

static ath_status show_files(const ath_cli_files *files, const ath_reading *reading,
                             int64_t limit, bool json) {
  ath_documents *documents;
  ath_buffer out = ath_buffer_make(JSON_MAX);
  ATH_TRY(ath_documents_open(files->paths, files->count, reading, NULL, &documents));
  ath_status status = show(documents, files, limit, json, &out);
  uint64_t skipped = ath_documents_skipped(documents);
  if (status == ATH_OK && skipped > 0)
    fprintf(stderr, "skipped for errors: %" PRIu64 "\n", skipped);
  ath_documents_close(documents);
  ath_buffer_free(&out);
  return status;
}

static ath_status run(const ath_command *self, int argc, char **argv) {
  ath_cli_reading input = ATH_CLI_READING_USUAL;
  int64_t limit = 0;
  bool json = false;
  const ath_option table[] = {
    {"limit", ATH_OPTION_INTEGER, &limit, "N", "Documents to show; 0 for all", .maximum = 1e15},
    {"json", ATH_OPTION_FLAG, &json, NULL, .help = "Print one object a document"},
    ATH_READING_OPTIONS(input),
    {"label-column", ATH_OPTION_STRING, &input.label_column, "NAME",
     .help = "Column with the label", .group = "Input"},
    {0}};
  ath_operands operands;
  ath_cli_files files = {0};
  ath_reading reading;
  ATH_TRY(ath_cli_parse(self, table, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ATH_TRY(ath_cli_reading_parse(&input, &reading));
  ath_status status = ath_cli_reading_files(&input, &operands, "nothing to show", &files);
  if (status == ATH_OK) status = show_files(&files, &reading, limit, json);
  ath_cli_files_free(&files);
  return status;
}

const ath_command ath_command_data_show = {
  .name = "data show",
  .summary = "show the documents of an input as they are read",
  .operands = "[FILE…]",
  .details =
      "Each with its file and the number of its line or row. What --input and the options beside\n"
      "it mean here they mean to the commands that train tokenizers, encode and prepare.\n\n"
      "Examples:\n"
      "  athanor data show --limit 5 reviews.jsonl.zst\n"
      "  athanor data show --text-column sentence --label-column label train.tsv",
  .run = run,
};
