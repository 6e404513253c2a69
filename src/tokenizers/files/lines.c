/* lines.c: a file's lines, which end in LF or CRLF. */
#include "tokenizers/files/lines.h"

#include <string.h>

#include "base/utf8.h"
#include "storage/file.h"

#define FILE_LIMIT ((size_t)1 << 30)

static ath_status each_line(const char *path, const ath_buffer *file, ath_line_taker take,
                            void *context) {
  size_t valid = file->length > 0 ? ath_utf8_prefix(file->bytes, file->length) : 0;
  if (valid < file->length)
    return ath_fail(ATH_INVALID, "%s: invalid UTF-8 at byte %zu", path, valid);
  for (size_t at = 0, number = 0; at < file->length; number++) {
    const char *line = file->bytes + at;
    const char *end = memchr(line, '\n', file->length - at);
    size_t length = end != NULL ? (size_t)(end - line) : file->length - at;
    at += length + 1;
    if (length > 0 && line[length - 1] == '\r') length--;
    ATH_TRY(take(context, path, number, line, length));
  }
  return ATH_OK;
}

ath_status ath_each_line(const char *path, ath_line_taker take, void *context) {
  ath_buffer file = ath_buffer_make(FILE_LIMIT);
  ath_status status = ath_file_read(path, &file);
  if (status == ATH_OK) status = each_line(path, &file, take, context);
  ath_buffer_free(&file);
  return status;
}
