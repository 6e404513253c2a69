/* source.c: what readers by lines have in common. */
#include "readers/source.h"

#include "base/utf8.h"

ath_status ath_source_open_lines(ath_source *self) {
  ATH_TRY(ath_lines_open(self->path, &self->lines));
  if (self->reading->any_bytes) ath_lines_allow_any(self->lines);
  return ATH_OK;
}

ath_status ath_source_seek_line(ath_source *self, uint64_t at, uint64_t line) {
  return ath_lines_seek(self->lines, at, line);
}

ath_status ath_source_blame(const ath_source *self, const ath_line *line, size_t at,
                            ath_status status) {
  return ath_context(status, "%s: line %llu, column %zu", self->path,
                     (unsigned long long)line->number, ath_utf8_count(line->bytes, at) + 1);
}

bool ath_source_is_blank(const ath_line *line) {
  for (size_t i = 0; i < line->length; i++)
    if (line->bytes[i] != ' ' && line->bytes[i] != '\t') return false;
  return true;
}

ath_status ath_source_join(ath_source *self, const ath_line *line, bool first) {
  ath_buffer *text = &self->text;
  if (text->length + line->length + 1 > text->maximum)
    return ath_fail(ATH_INVALID, "%s: line %llu: the document is longer than %d bytes here",
                    self->path, (unsigned long long)line->number, ATH_DOCUMENT_MAX);
  if (!first) ATH_TRY(ath_buffer_byte(text, '\n'));
  return ath_buffer_append(text, line->bytes, line->length);
}
