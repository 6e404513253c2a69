/* lines.c: reading a text file line by line through one window of bytes.
 *
 *     bytes: | consumed | the line being looked for … | read, not looked at | free |
 *            0          start                          found[]               end   capacity
 */
#include "storage/lines.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "storage/encoding.h"
#include "storage/file.h"
#include "storage/stream.h"

/* Two bytes more than a line, for its ending. */
enum { FIRST_CAPACITY = 1 << 18, LAST_CAPACITY = ATH_LINE_MAX + 2 };

struct ath_lines {
  ath_stream *stream;
  char *bytes;
  size_t start, end, capacity;
  size_t found[2]; /* the first LF and the first CR at or after start, or where the search ended */
  uint64_t at;     /* file offset of bytes[start] */
  uint64_t number; /* of the line that begins there */
  bool ended;      /* nothing more to read from the file */
  bool passing;    /* what is at `start` is the rest of a line that was too long */
  bool any;        /* lines need not be UTF-8 */
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
  ath_status status = self->bytes != NULL
                          ? ath_stream_open(path, &self->stream)
                          : ath_fail(ATH_NO_MEMORY, "%s: no memory to read it", path);
  if (status != ATH_OK) {
    ath_lines_close(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_lines_close(ath_lines *self) {
  if (self == NULL) return;
  ath_stream_close(self->stream);
  free(self->bytes);
  free(self);
}

void ath_lines_allow_any(ath_lines *self) { self->any = true; }

uint64_t ath_lines_taken(const ath_lines *self) { return ath_stream_taken(self->stream); }

ath_status ath_lines_seek(ath_lines *self, uint64_t at, uint64_t number) {
  assert(number >= 1);
  ATH_TRY_CONTEXT(ath_stream_seek(self->stream, at), "%s", self->path);
  self->start = self->end = self->found[0] = self->found[1] = 0;
  self->at = at;
  self->number = number;
  self->ended = self->passing = false;
  return ATH_OK;
}

static ath_status fail_too_long(ath_lines *self) {
  self->passing = true;
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

/* After a failure there is nothing more to be had. */
static ath_status fail_to_read(ath_lines *self, ath_status status) {
  size_t good = ath_utf8_prefix(self->bytes + self->start, self->end - self->start);
  size_t column = ath_utf8_count(self->bytes + self->start, good) + 1;
  self->start = self->end = self->found[0] = self->found[1] = 0;
  self->ended = true;
  return ath_context(status, "%s: line %llu, column %zu", self->path,
                     (unsigned long long)self->number, column);
}

/* Reads once, as much as there is room for. */
static ath_status read_more(ath_lines *self) {
  if (self->end == self->capacity) ATH_TRY(make_room(self));
  assert(self->end < self->capacity);
  size_t got;
  ath_status status = ath_stream_read(self->stream, self->bytes + self->end,
                                      self->capacity - self->end, &got);
  if (status != ATH_OK) return fail_to_read(self, status);
  self->end += got;
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

/* UTF-16 is refused as a whole: many of its lines would be taken for UTF-8 with NULs in it. */
static ath_status refuse_utf16(ath_lines *self) {
  const char *name = ath_encoding_of_mark(self->bytes + self->start, self->end - self->start);
  if (name == NULL || self->any) return ATH_OK;
  ath_status status = ath_fail(
      ATH_INVALID, "byte 0 (0x%02X) is not UTF-8: by its byte order mark the file is %s; convert "
      "it: iconv -f %s -t UTF-8", (unsigned char)self->bytes[self->start], name, name);
  return fail_to_read(self, status);
}

static ath_status skip_byte_order_mark(ath_lines *self) {
  while (self->end - self->start < 3 && !self->ended) ATH_TRY(read_more(self));
  if (self->end - self->start >= 3 && memcmp(self->bytes + self->start, "\xEF\xBB\xBF", 3) == 0) {
    self->start += 3;
    self->at += 3;
  }
  return refuse_utf16(self);
}

/* Names the first bad byte by line and column, and in the file; guesses by all that is at hand. */
static ath_status check_utf8(const ath_lines *self, const ath_line *line) {
  size_t good = ath_utf8_prefix(line->bytes, line->length);
  if (good == line->length || self->any) return ATH_OK;
  size_t at_hand = self->end - (size_t)(line->bytes - self->bytes);
  const char *name = ath_encoding_guess(line->bytes, at_hand);
  ath_status status =
      name != NULL ? ath_fail(ATH_INVALID, "the text looks like %s; convert it: iconv -f %s -t "
                              "UTF-8", name, name)
                   : ath_fail(ATH_INVALID, "it may be damaged, or no text; what is in another "
                              "encoding can be converted, e.g. with iconv");
  return ath_context(status, "%s: line %llu, column %zu: byte %llu (0x%02X) is not UTF-8",
                     self->path, (unsigned long long)line->number,
                     ath_utf8_count(line->bytes, good) + 1,
                     (unsigned long long)(line->at + good), (unsigned char)line->bytes[good]);
}

/* Where the next line ends: at the ending in `lf` or `cr`, or behind all there is. */
static ath_status find_end(ath_lines *self, size_t *stop) {
  for (;;) {
    size_t lf = search(self, 0, '\n'), cr = search(self, 1, '\r');
    *stop = lf < cr ? lf : cr;
    /* A CR in the last byte read may be the first half of a CRLF. */
    bool complete = *stop < self->end && (*stop == lf || *stop + 1 < self->end);
    if (complete || self->ended) return ATH_OK;
    if (self->passing) { /* all but such a CR */
      self->at += *stop - self->start;
      self->start = *stop;
    }
    ATH_TRY(read_more(self));
  }
}

/* The place behind the ending at `stop`, if there is one. */
static size_t behind_ending(const ath_lines *self, size_t stop) {
  if (stop == self->end) return stop;
  bool two = self->bytes[stop] == '\r' && stop + 1 < self->end && self->bytes[stop + 1] == '\n';
  return stop + (two ? 2 : 1);
}

static ath_status pass_long_line(ath_lines *self) {
  size_t stop;
  ATH_TRY(find_end(self, &stop));
  size_t after = behind_ending(self, stop);
  self->at += after - self->start;
  self->start = after;
  self->number++;
  self->passing = false;
  return ATH_OK;
}

ath_status ath_lines_next(ath_lines *self, ath_line *out) {
  size_t stop;
  *out = (ath_line){.number = self->number, .at = self->at, .next = self->at};
  if (self->at == 0 && !self->ended) ATH_TRY(skip_byte_order_mark(self));
  if (self->passing) ATH_TRY(pass_long_line(self));
  ATH_TRY(find_end(self, &stop));
  *out = (ath_line){.number = self->number, .at = self->at, .next = self->at};
  if (self->start == self->end) return ATH_OK;
  if (stop - self->start > ATH_LINE_MAX) return fail_too_long(self);
  size_t after = behind_ending(self, stop);
  out->bytes = self->bytes + self->start;
  out->length = stop - self->start;
  out->next = self->at + (after - self->start);
  self->start = after;
  assert(out->next > out->at && self->start <= self->end);
  self->at = out->next;
  self->number++;
  return check_utf8(self, out);
}
