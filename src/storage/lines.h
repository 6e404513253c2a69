/* lines.h: the lines of a text file, one after another, in memory that does not grow with it.
 * Compressed files are unpacked on the way (stream.h); bytes are counted as they are unpacked.
 *
 * A line ends at LF, CRLF or a lone CR, and at nothing else: U+2028, U+0085 and the like are part
 * of it. A last line without an ending counts; a UTF-8 byte order mark at the file's start is
 * skipped; NUL is a character like others. */
#ifndef ATHANOR_STORAGE_LINES_H
#define ATHANOR_STORAGE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

enum { ATH_LINE_MAX = 64 << 20 }; /* bytes; a longer line is refused, so memory is bounded */

typedef struct ath_line {
  const char *bytes; /* without its ending, not NUL-terminated; NULL at the end of the file */
  size_t length;
  uint64_t number;   /* counted from 1, as editors do */
  uint64_t at;       /* byte offset in the file where it begins */
  uint64_t next;     /* … and where the line after it begins */
} ath_line;

typedef struct ath_lines ath_lines;

/* ATH_NOT_FOUND, ATH_DENIED, or ATH_INVALID for a folder. A pipe is read like a file, though only
 * once and without seeking; a FIFO is waited for, until somebody writes. One thread at a time. */
ath_status ath_lines_open(const char *path, ath_lines **out) ATH_MUST_CHECK;
void ath_lines_close(ath_lines *self); /* NULL is allowed */

/* The next line, valid until the next call; behind it in memory stands its ending, if it has one.
 * ATH_INVALID, naming file, line, column and byte, when it is not UTF-8 or longer than
 * ATH_LINE_MAX; ATH_CORRUPT for compressed data that are damaged. The call after a failure goes on
 * with the line behind it, or is at the end where there is none to be had: in UTF-16, behind
 * damage. */
ath_status ath_lines_next(ath_lines *self, ath_line *out) ATH_MUST_CHECK;
/* Lines need not be UTF-8. */
void ath_lines_allow_any(ath_lines *self);

/* Continues at a line that begins at byte `at` and is number `number`. */
ath_status ath_lines_seek(ath_lines *self, uint64_t at, uint64_t number) ATH_MUST_CHECK;

/* How many of the file's own bytes were read, packed as they are, for a progress bar. */
uint64_t ath_lines_taken(const ath_lines *self);

#endif
