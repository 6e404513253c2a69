/* spans.c: dividing a text into pieces. */
#include "data/spans.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/file.h"

/* A piece is what a kill can cost each thread, and what a thread takes at a time: small pieces for
 * small texts, so that all threads get some, and not too many of them for large ones. */
enum { PIECES_WISHED = 256, PIECES_MAX = 16384 };
static const uint64_t smallest = 1 << 20, usual = 64 << 20;

static uint64_t piece_bytes(uint64_t total) {
  uint64_t bytes = total / PIECES_WISHED;
  if (bytes > usual) bytes = usual;
  if (bytes < total / PIECES_MAX) bytes = total / PIECES_MAX;
  return bytes > smallest ? bytes : smallest;
}

static ath_status measure(const char *input, const ath_reading *reading, uint64_t *size) {
  *size = 0;
  if (reading->sql != NULL) return ATH_OK;
  if (ath_path_is_pipe(input))
    return ath_fail(ATH_UNSUPPORTED, "%s: a pipe can be read only once, from front to back: write "
                    "it to a file for several workers, or to have duplicates left out", input);
  return ath_file_size(input, size);
}

ath_status ath_spans_make(const char *const *inputs, size_t count, const ath_reading *reading,
                          ath_text_span **out, size_t *spans) {
  uint64_t total = 0, size;
  for (size_t i = 0; i < count; i++) {
    ATH_TRY(measure(inputs[i], reading, &size));
    total += size;
  }
  uint64_t bytes = piece_bytes(total);
  size_t most = count + total / bytes;
  ath_text_span *list = malloc(most * sizeof *list);
  if (list == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu pieces", most);
  *spans = 0;
  for (size_t i = 0; i < count; i++) {
    bool whole = reading->skip_errors || !ath_documents_are_lines(inputs[i], reading) ||
                 ath_file_size(inputs[i], &size) != ATH_OK; /* which goes wrong when it is read */
    if (whole) list[(*spans)++] = (ath_text_span){i, 0, UINT64_MAX};
    for (uint64_t at = 0; !whole && at < size && *spans < most; at += bytes)
      list[(*spans)++] = (ath_text_span){i, at, size - at < bytes ? size : at + bytes};
  }
  *out = list;
  return ATH_OK;
}

/* Looks from the byte before: a line begins behind LF, and behind CR unless LF follows. */
static ath_status find_start(int file, const char *path, uint64_t at, uint64_t *out) {
  char bytes[1 << 14];
  uint64_t from = at - 1;
  char before = '\0';
  for (;;) {
    ssize_t got = pread(file, bytes, sizeof bytes, (off_t)from);
    if (got < 0) return ath_fail_errno(errno, "%s", path);
    for (ssize_t i = 0; i < got; i++) {
      bool begins = before == '\n' || (before == '\r' && bytes[i] != '\n');
      *out = from + (uint64_t)i;
      if (begins && *out >= at) return ATH_OK;
      before = bytes[i];
    }
    from += (uint64_t)got;
    if (got == 0) break;
  }
  *out = from;
  return ATH_OK;
}

ath_status ath_spans_line_start(const char *path, uint64_t at, uint64_t *out) {
  *out = 0;
  if (at == 0) return ATH_OK;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return ath_fail_errno(errno, "%s", path);
  ath_status status = find_start(file, path, at, out);
  close(file);
  return status;
}
