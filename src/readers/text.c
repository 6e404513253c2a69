/* text.c: plain text, by lines, blocks or whole files. */
#include <string.h>

#include "base/log.h"
#include "base/outcome.h"
#include "readers/source.h"

static bool begins_with(const char *text, size_t length, const char *beginning) {
  size_t n = strlen(beginning);
  return length >= n && memcmp(text, beginning, n) == 0;
}

/* The tags that WikiExtractor (github.com/attardi/wikiextractor) puts around an article. */
static bool is_doc_tag(const char *text, size_t length) {
  return (begins_with(text, length, "<doc ") && text[length - 1] == '>') ||
         (length == strlen("</doc>") && begins_with(text, length, "</doc>"));
}

/* WikiText's headings, " = Title = " and " = = Section = = ", with or without the outer spaces. */
static bool is_heading(const char *text, size_t length) {
  if (length > 0 && *text == ' ') text++, length--;
  if (length > 0 && text[length - 1] == ' ') length--;
  return length >= strlen("= T =") && begins_with(text, length, "= ") &&
         memcmp(text + length - 2, " =", 2) == 0;
}

static bool is_markup(const ath_line *line) {
  return is_doc_tag(line->bytes, line->length) || is_heading(line->bytes, line->length);
}

/* *apart: the line is no part of a document: markup that is to be dropped. */
static ath_status next_line(ath_source *self, ath_line *line, bool *apart) {
  *apart = false;
  ATH_TRY(ath_lines_next(self->lines, line));
  if (line->bytes == NULL) return ATH_OK;
  bool drop = self->reading->drop_markup;
  if (drop) *apart = is_markup(line);
  if (!drop && line->number <= 2 && is_markup(line))
    ath_log(ATH_LOG_INFO, "%s: has markup of WikiExtractor or WikiText, which is read as text; "
            "--drop-markup leaves it out", self->path);
  return ATH_OK;
}

static void begin_document(ath_document *out, const ath_line *line) {
  out->place.at = line->at;
  out->place.line = line->number;
}

static void end_document(ath_document *out, const ath_line *last, const char *text,
                         size_t length) {
  out->next.at = last->next;
  out->next.line = last->number + 1;
  out->text = text != NULL ? text : "";
  out->length = length;
}

static ath_status next_single(ath_source *self, ath_document *out) {
  ath_line line;
  bool apart = true;
  while (apart) ATH_TRY(next_line(self, &line, &apart));
  if (line.bytes == NULL) return ATH_OK;
  begin_document(out, &line);
  end_document(out, &line, line.bytes, line.length);
  return ATH_OK;
}

/* Lines up to a blank one or markup, or all of the file. After a fault the rest of the document is
 * passed over, so that none is given in part. */
static ath_status next_joined(ath_source *self, ath_document *out) {
  ath_outcome fault = {.status = ATH_OK};
  ath_line line, last = {0};
  bool begun = false, apart, blocks = self->unit == ATH_UNIT_BLOCK;
  ath_buffer_clear(&self->text);
  for (;;) {
    ath_status status = next_line(self, &line, &apart);
    if (status == ATH_OK && line.bytes == NULL) break;
    if (status == ATH_OK && (apart || (blocks && ath_source_is_blank(&line)))) {
      if (blocks && begun) break;
      continue;
    }
    if (status == ATH_OK && fault.status == ATH_OK) status = ath_source_join(self, &line, !begun);
    if (status != ATH_OK && status != ATH_INVALID && status != ATH_CORRUPT) return status;
    if (status != ATH_OK && fault.status == ATH_OK) ath_outcome_keep(&fault, status);
    if (!begun) begin_document(out, &line);
    begun = true;
    last = line;
  }
  if (fault.status != ATH_OK) return ath_outcome_return(&fault);
  if (begun) end_document(out, &last, self->text.bytes, self->text.length);
  return ATH_OK;
}

static ath_status next(ath_source *self, ath_document *out) {
  bool joined = self->unit == ATH_UNIT_BLOCK || self->unit == ATH_UNIT_FILE;
  return joined ? next_joined(self, out) : next_single(self, out);
}

const ath_reader ath_text_reader = {"line", ath_source_open_lines, ath_source_seek_line, next};
