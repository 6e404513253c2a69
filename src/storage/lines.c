/* lines.c: reading a text file line by line through one window of bytes.
 *
 *     bytes: | consumed | the line being looked for … | read, not looked at | free |
 *            0          start                          found[]               end   capacity
 */
#include "storage/lines.h"

#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "storage/file.h"

/* Two bytes more than a line, for its ending. */
enum { FIRST_CAPACITY = 1 << 18, LAST_CAPACITY = ATH_LINE_MAX + 2 };

struct ath_lines {
  int file;
  char *bytes;
  size_t start, end, capacity;
  size_t found[2]; /* the first LF and the first CR at or after start, or where the search ended */
  uint64_t at;     /* file offset of bytes[start] */
  uint64_t number; /* of the line that begins there */
  bool ended;      /* nothing more to read from the file */
  char path[ATH_PATH_MAX];
};

ath_status ath_lines_open(const char *path, ath_lines **out) {
  size_t length = strlen(path);
  if (length >= ATH_PATH_MAX) return ath_fail(ATH_INVALID, "%.60s…: path too long", path);
  ath_lines *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to read it", path);
  memcpy(self->path, path, length + 1);
  self->number = 1;
  self->capacity = FIRST_CAPACITY;
  self->bytes = malloc(self->capacity);
  self->file = open(path, O_RDONLY | O_CLOEXEC);
  ath_status status = ATH_OK;
  struct stat info;
  if (self->bytes == NULL) {
    status = ath_fail(ATH_NO_MEMORY, "%s: no memory to read it", path);
  } else if (self->file < 0 || fstat(self->file, &info) != 0) {
    status = ath_fail_errno(errno, "%s", path);
  } else if (S_ISDIR(info.st_mode)) {
    status = ath_fail(ATH_INVALID, "%s: is a folder; name the text files in it", path);
  }
  if (status != ATH_OK) {
    ath_lines_close(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_lines_close(ath_lines *self) {
  if (self == NULL) return;
  if (self->file >= 0) close(self->file);
  free(self->bytes);
  free(self);
}

ath_status ath_lines_seek(ath_lines *self, uint64_t at, uint64_t number) {
  assert(number >= 1);
  if (lseek(self->file, (off_t)at, SEEK_SET) < 0)
    return ath_fail_errno(errno, "%s: cannot go to byte %llu", self->path, (unsigned long long)at);
  self->start = self->end = self->found[0] = self->found[1] = 0;
  self->at = at;
  self->number = number;
  self->ended = false;
  return ATH_OK;
}

static ath_status fail_too_long(const ath_lines *self) {
  return ath_fail(ATH_INVALID,
                  "%s: line %llu, which begins at byte %llu, is longer than %d bytes; "
                  "break it into lines",
                  self->path, (unsigned long long)self->number, (unsigned long long)self->at,
                  ATH_LINE_MAX);
}

/* Makes room behind `end` by moving the unfinished line to the front, or by growing. */
static ath_status make_room(ath_lines *self) {
  assert(self->start <= self->end && self->end <= self->capacity);
  if (self->start > 0) {
    assert(self->found[0] >= self->start && self->found[1] >= self->start);
    memmove(self->bytes, self->bytes + self->start, self->end - self->start);
    self->end -= self->start;
    self->found[0] -= self->start;
    self->found[1] -= self->start;
    self->start = 0;
  }
  if (self->end < self->capacity) return ATH_OK;
  if (self->capacity == LAST_CAPACITY) return fail_too_long(self);
  size_t wish = self->capacity * 2 < LAST_CAPACITY ? self->capacity * 2 : LAST_CAPACITY;
  char *more = realloc(self->bytes, wish);
  if (more == NULL)
    return ath_fail(ATH_NO_MEMORY, "%s: no memory for line %llu", self->path,
                    (unsigned long long)self->number);
  self->bytes = more;
  self->capacity = wish;
  return ATH_OK;
}

/* Reads once, as much as there is room for. */
static ath_status read_more(ath_lines *self) {
  if (self->end == self->capacity) ATH_TRY(make_room(self));
  assert(self->end < self->capacity);
  ssize_t got;
  do {
    got = read(self->file, self->bytes + self->end, self->capacity - self->end);
  } while (got < 0 && errno == EINTR);
  if (got < 0)
    return ath_fail_errno(errno, "%s: cannot read at line %llu", self->path,
                          (unsigned long long)self->number);
  self->end += (size_t)got;
  self->ended = got == 0;
  return ATH_OK;
}

/* Moves found[which] to the first `ending` at or after start; each byte is looked at once. */
static size_t search(ath_lines *self, int which, char ending) {
  size_t from = self->found[which];
  if (from < self->start) from = self->start;
  if (from < self->end && self->bytes[from] != ending) {
    const char *hit = memchr(self->bytes + from, ending, self->end - from);
    from = hit != NULL ? (size_t)(hit - self->bytes) : self->end;
  }
  return self->found[which] = from;
}

static ath_status skip_byte_order_mark(ath_lines *self) {
  while (self->end - self->start < 3 && !self->ended) ATH_TRY(read_more(self));
  if (self->end - self->start >= 3 && memcmp(self->bytes + self->start, "\xEF\xBB\xBF", 3) == 0) {
    self->start += 3;
    self->at += 3;
  }
  return ATH_OK;
}

/* Names the first bad byte three ways: in the file, its value, and in the line. */
static ath_status check_utf8(const ath_lines *self, const ath_line *line) {
  size_t good = ath_utf8_prefix(line->bytes, line->length);
  if (good == line->length) return ATH_OK;
  return ath_fail(ATH_INVALID,
                  "%s: line %llu: byte %llu (0x%02X, byte %zu of the line) is not UTF-8; "
                  "convert the file, e.g. with iconv",
                  self->path, (unsigned long long)line->number,
                  (unsigned long long)(line->at + good), (unsigned char)line->bytes[good],
                  good + 1);
}

ath_status ath_lines_next(ath_lines *self, ath_line *out) {
  if (self->at == 0) ATH_TRY(skip_byte_order_mark(self));
  size_t stop;
  for (;;) {
    size_t lf = search(self, 0, '\n'), cr = search(self, 1, '\r');
    stop = lf < cr ? lf : cr;
    /* A CR in the last byte read may be the first half of a CRLF. */
    bool complete = stop < self->end && (stop == lf || stop + 1 < self->end);
    if (complete || self->ended) break;
    ATH_TRY(read_more(self));
  }
  *out = (ath_line){.number = self->number, .at = self->at, .next = self->at};
  if (self->start == self->end) return ATH_OK;
  if (stop - self->start > ATH_LINE_MAX) return fail_too_long(self);
  size_t after = stop;
  if (stop < self->end) after += self->bytes[stop] == '\r' && stop + 1 < self->end &&
                                 self->bytes[stop + 1] == '\n' ? 2 : 1;
  out->bytes = self->bytes + self->start;
  out->length = stop - self->start;
  out->next = self->at + (after - self->start);
  self->start = after;
  assert(out->next > out->at && self->start <= self->end);
  self->at = out->next;
  self->number++;
  return check_utf8(self, out);
}
