/* documents.h: texts out of files of many kinds, one after another, each with its place.
 *
 * Plain text is read by lines, which end at LF, CRLF or a lone CR; JSONL, CSV and TSV by rows, with
 * the place of a fault by physical line and column; parquet and SQL by DuckDB, which is loaded when
 * it is first needed. Whatever the format, gzip, zstd, xz and bzip2 are unpacked on the way, known
 * by their first bytes (but for parquet, which has compression of its own). Memory does not grow
 * with the files.
 *
 * Example
 *
 *     ath_status print_texts(const char *const *paths, size_t count) {
 *       ath_reading reading = {.text_column = "sentence", .skip_errors = true};
 *       ath_documents *documents = NULL;
 *       ath_document d;
 *       ATH_TRY(ath_documents_open(paths, count, &reading, NULL, &documents));
 *       ath_status status = ath_documents_next(documents, &d);
 *       while (status == ATH_OK && d.text != NULL) {
 *         printf("%s, %s %llu: %.*s\n", paths[d.place.input], d.unit,
 *                (unsigned long long)d.place.line, (int)d.length, d.text);
 *         status = ath_documents_next(documents, &d);
 *       }
 *       ath_documents_close(documents);
 *       return status;
 *     }
 */
#ifndef ATHANOR_DOCUMENTS_H
#define ATHANOR_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ath_format {
  ATH_FORMAT_AUTO,    /* by the name's end, that of a compression taken off; else text */
  ATH_FORMAT_TEXT,
  ATH_FORMAT_JSONL,   /* .jsonl .ndjson .json: an object on each line */
  ATH_FORMAT_CSV,     /* .csv: RFC 4180, fields in quotes may hold line ends */
  ATH_FORMAT_TSV,     /* .tsv: as GLUE has it, quotes are characters like others */
  ATH_FORMAT_PARQUET, /* .parquet */
} ath_format;

/* What is one document. Rows of tables always are; the others are of text. */
typedef enum ath_unit {
  ATH_UNIT_AUTO,  /* a line of text, a row of a table */
  ATH_UNIT_LINE,
  ATH_UNIT_FILE,  /* its lines joined by LF, without the last ending */
  ATH_UNIT_BLOCK, /* lines up to a blank one, joined by LF */
  ATH_UNIT_ROW,
} ath_unit;

/* How inputs are read; {0} is plain text by lines, tables by their names. */
typedef struct ath_reading {
  ath_format format;
  ath_unit unit;
  const char *text_column;  /* by name, or by number from 1 where there is no header; NULL: "text",
                               else the only column there is of text */
  const char *label_column; /* NULL: none */
  const char *sql;          /* a query whose rows are the documents, in place of inputs; or NULL */
  char delimiter;           /* of CSV; 0: a comma */
  bool no_header;           /* the first row of CSV or TSV is data, not names */
  bool drop_markup;         /* leaves out WikiExtractor's <doc …> and </doc> and WikiText's headings
                               " = Title = "; blocks end there */
  bool skip_errors;         /* what is not valid is left out, counted and logged, not a failure */
  bool any_bytes;           /* text need not be UTF-8 */
} ath_reading;

/* Where a document begins. Behind the last input's last document `input` is their number. */
typedef struct ath_text_place {
  uint64_t input; /* number of the input */
  uint64_t at;    /* byte in it (unpacked, if it is compressed), or number of the row from 0 */
  uint64_t line;  /* physical line from 1, or number of the row from 1 */
} ath_text_place;

typedef struct ath_document {
  const char *text;  /* UTF-8, valid until the next call; NULL when all are read */
  size_t length;
  const char *label; /* of the label column, as it is written; NULL without one */
  size_t label_length;
  ath_text_place place, next; /* … and where reading goes on behind it */
  const char *unit;  /* what place.line counts: "line" or "row" */
} ath_document;

typedef struct ath_documents ath_documents;

/* `inputs` are paths; they and what `reading` points to must outlive the documents. Reading begins
 * at `from`, a place of a document of the same inputs read the same way, or (NULL) at the start.
 * ATH_USAGE for a reading that contradicts itself. */
ath_status ath_documents_open(const char *const *inputs, size_t count, const ath_reading *reading,
                              const ath_text_place *from, ath_documents **out) ATH_MUST_CHECK;
void ath_documents_close(ath_documents *self); /* NULL is allowed */

/* ATH_INVALID and ATH_CORRUPT name file, line and column. One thread at a time. */
ath_status ath_documents_next(ath_documents *self, ath_document *out) ATH_MUST_CHECK;

/* How many documents, or rests of files, were left out for errors since the opening. */
uint64_t ath_documents_skipped(const ath_documents *self);
/* How many bytes of the inputs were read, packed as they are, for a progress bar. */
uint64_t ath_documents_taken(const ath_documents *self);

/* Whether an input's documents are its physical lines, as they stand in the file: then reading can
 * begin at any of them, known only by its byte. False for an input that cannot be looked at. */
bool ath_documents_are_lines(const char *input, const ath_reading *reading);

/* Whether the inputs could be opened: they are there, and can be read that way. A pipe is left
 * alone. The sum of their sizes goes to `bytes`. */
ath_status ath_documents_check(const char *const *inputs, size_t count, const ath_reading *reading,
                               uint64_t *bytes) ATH_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
