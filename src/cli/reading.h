/* reading.h: the options of commands that read documents. */
#ifndef ATHANOR_CLI_READING_H
#define ATHANOR_CLI_READING_H

#include "athanor/documents.h"
#include "cli/cli.h"

/* How inputs are read, as the options say it. */
typedef struct ath_cli_reading {
  ath_option_list inputs;
  const char *format, *documents, *text_column, *label_column, *sql, *delimiter, *on_error;
  bool header, drop_markup;
} ath_cli_reading;
#define ATH_CLI_READING_USUAL                                                                    \
  {.format = "auto", .documents = "auto", .on_error = "stop", .header = true}

/* The rows of the commands that read documents, but for --label-column. */
#define ATH_READING_OPTIONS(r)                                                                   \
  {"input", ATH_OPTION_LIST, &(r).inputs, "FILE",                                                \
   "Text, JSONL, CSV, TSV or parquet, packed or not; a folder; a pattern in quotes, as "         \
   "'text/**/*.gz'; gs://… or hf://…; \"-\" is standard input", .group = "Input"},               \
  {"format", ATH_OPTION_STRING, &(r).format, "NAME",                                             \
   "text, jsonl, csv, tsv or parquet; auto goes by the name's end", .group = "Input"},           \
  {"documents", ATH_OPTION_STRING, &(r).documents, "UNIT",                                       \
   "What of a text is one document: line, block (up to a blank line) or file; of tables row",    \
   .group = "Input"},                                                                            \
  {"text-column", ATH_OPTION_STRING, &(r).text_column, "NAME",                                   \
   "Column with the text; if not given, \"text\" or the only one", .group = "Input"},            \
  {"sql", ATH_OPTION_STRING, &(r).sql, "QUERY",                                                  \
   "Rows of a query for DuckDB in place of --input: \"SELECT text FROM 'a.parquet' WHERE …\"",   \
   .group = "Input"},                                                                            \
  {"delimiter", ATH_OPTION_STRING, &(r).delimiter, "C",                                          \
   "What is between the fields of CSV, if no comma", .group = "Input"},                          \
  {"header", ATH_OPTION_FLAG, &(r).header, NULL,                                                 \
   "The first row of CSV and TSV has the columns' names; if not, they have numbers",             \
   .group = "Input"},                                                                            \
  {"drop-markup", ATH_OPTION_FLAG, &(r).drop_markup, NULL,                                       \
   "Leave out lines of WikiExtractor's <doc …> and WikiText's headings", .group = "Input"},      \
  {"on-error", ATH_OPTION_STRING, &(r).on_error, "WHAT",                                         \
   "At what is not valid: stop, or skip it, with a count", .group = "Input"}

/* One of a few words, the last of which has no name; ATH_USAGE, with all of them, for another. */
typedef struct ath_cli_word {
  const char *name;
  int value;
} ath_cli_word;
ath_status ath_cli_find_word(const ath_cli_word *words, const char *given, const char *option,
                             int *value) ATH_MUST_CHECK;

/* What the options mean; ATH_USAGE for a word that is none of theirs. */
ath_status ath_cli_reading_parse(const ath_cli_reading *self, ath_reading *out) ATH_MUST_CHECK;
/* The inputs, those among the operands too; of a query the query. ATH_USAGE for none, or for both,
 * with `purpose`: "nothing to prepare". */
ath_status ath_cli_reading_files(const ath_cli_reading *self, const ath_operands *operands,
                                 const char *purpose, ath_cli_files *out) ATH_MUST_CHECK;

#endif
