/* reading.c: the options of commands that read documents. */
#include "cli/reading.h"

#include <string.h>

static const ath_cli_word formats[] = {
  {"auto", ATH_FORMAT_AUTO}, {"text", ATH_FORMAT_TEXT}, {"jsonl", ATH_FORMAT_JSONL},
  {"csv", ATH_FORMAT_CSV}, {"tsv", ATH_FORMAT_TSV}, {"parquet", ATH_FORMAT_PARQUET}, {0}};
static const ath_cli_word units[] = {
  {"auto", ATH_UNIT_AUTO}, {"line", ATH_UNIT_LINE}, {"block", ATH_UNIT_BLOCK},
  {"file", ATH_UNIT_FILE}, {"row", ATH_UNIT_ROW}, {0}};
static const ath_cli_word answers[] = {{"stop", 0}, {"skip", 1}, {0}};

ath_status ath_cli_find_word(const ath_cli_word *words, const char *given, const char *option,
                             int *value) {
  char names[80];
  size_t n = 0;
  for (const ath_cli_word *w = words; w->name != NULL; w++) {
    if (strcmp(w->name, given) == 0) {
      *value = w->value;
      return ATH_OK;
    }
    n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n > 0 ? ", " : "", w->name);
  }
  return ath_fail(ATH_USAGE, "%s %s: there are %s", option, given, names);
}

ath_status ath_cli_reading_parse(const ath_cli_reading *self, ath_reading *out) {
  int format, unit, skip;
  ATH_TRY(ath_cli_find_word(formats, self->format, "--format", &format));
  ATH_TRY(ath_cli_find_word(units, self->documents, "--documents", &unit));
  ATH_TRY(ath_cli_find_word(answers, self->on_error, "--on-error", &skip));
  const char *delimiter = self->delimiter != NULL ? self->delimiter : "";
  if (strcmp(delimiter, "\\t") == 0) delimiter = "\t";
  if (strlen(delimiter) > 1 || *delimiter == '"' || *delimiter == '\n' || *delimiter == '\r')
    return ath_fail(ATH_USAGE, "--delimiter \"%s\": it is one byte, and no quote or line end",
                    delimiter);
  *out = (ath_reading){.format = (ath_format)format, .unit = (ath_unit)unit,
                       .text_column = self->text_column, .label_column = self->label_column,
                       .sql = self->sql, .delimiter = *delimiter, .no_header = !self->header,
                       .drop_markup = self->drop_markup, .skip_errors = skip == 1};
  return ATH_OK;
}

ath_status ath_cli_reading_files(const ath_cli_reading *self, const ath_operands *operands,
                                 const char *purpose, ath_cli_files *out) {
  bool named = self->inputs.count > 0 || operands->count > 0;
  if (self->sql != NULL && named)
    return ath_fail(ATH_USAGE, "both files and --sql are given; the query names its files itself");
  if (self->sql != NULL) return ath_cli_files_add_text(out, self->sql);
  for (size_t i = 0; i < self->inputs.count; i++)
    ATH_TRY(ath_cli_files_add(out, self->inputs.items[i]));
  for (int i = 0; i < operands->count; i++) ATH_TRY(ath_cli_files_add(out, operands->items[i]));
  return out->count > 0 ? ATH_OK : ath_fail(ATH_USAGE, "--input FILE is missing: %s", purpose);
}
