/* source.h: one input being read, and what a format does with it. */
#ifndef ATHANOR_READERS_SOURCE_H
#define ATHANOR_READERS_SOURCE_H

#include "athanor/documents.h"
#include "base/buffer.h"
#include "storage/lines.h"

typedef struct ath_query ath_query;

typedef struct ath_source {
  const ath_reading *reading;
  const char *path;
  ath_unit unit;        /* of text */
  ath_lines *lines;     /* of all but parquet and SQL */
  ath_query *query;     /* of these */
  ath_buffer text;      /* of a document that is put together */
  ath_buffer label, scratch;
  size_t columns, text_column, label_column; /* of CSV and TSV, from 0 */
  char delimiter;
} ath_source;

typedef struct ath_reader {
  const char *unit; /* what a place's line counts */
  /* Opens the file, and reads a header; then reading begins at the first document. */
  ath_status (*begin)(ath_source *self) ATH_MUST_CHECK;
  ath_status (*seek)(ath_source *self, uint64_t at, uint64_t line) ATH_MUST_CHECK;
  /* The next document, but for its unit and the inputs' numbers. After ATH_INVALID or ATH_CORRUPT
   * the next call goes on behind what was wrong. */
  ath_status (*next)(ath_source *self, ath_document *out) ATH_MUST_CHECK;
} ath_reader;

extern const ath_reader ath_text_reader, ath_jsonl_reader, ath_separated_reader, ath_query_reader;

/* A document is no longer than a line may be. */
enum { ATH_DOCUMENT_MAX = ATH_LINE_MAX };

/* Of the readers that go by lines. */
ath_status ath_source_open_lines(ath_source *self) ATH_MUST_CHECK;
ath_status ath_source_seek_line(ath_source *self, uint64_t at, uint64_t line) ATH_MUST_CHECK;
/* "path: line 3, column 7: " before the failure's text. */
ath_status ath_source_blame(const ath_source *self, const ath_line *line, size_t at,
                            ath_status status) ATH_MUST_CHECK;

/* Whether there is nothing but spaces and tabs in it. */
bool ath_source_is_blank(const ath_line *line);

/* Appends a line to the text that is put together, behind an LF if it is not the first. */
ath_status ath_source_join(ath_source *self, const ath_line *line, bool first) ATH_MUST_CHECK;

#endif
