/* stream.c: reading a file through the codec that its first bytes ask for. */
#include "storage/stream.h"

#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/codec.h"
#include "storage/file.h"

enum { PACKED_BYTES = 1 << 17 };

struct ath_stream {
  int file;
  bool known;             /* the first bytes were looked at */
  bool ended;             /* nothing more to read from the file */
  bool complete;          /* the codec has nothing unfinished */
  const ath_codec *codec; /* NULL: the bytes are read as they are */
  void *state;            /* the codec's */
  char *packed;           /* what was read and not yet used: */
  size_t start, end;
  uint64_t taken;         /* bytes of the file before `start` */
  char path[ATH_PATH_MAX];
};

static ath_status open_file(ath_stream *self) {
  self->file = open(self->path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (self->file < 0 || fstat(self->file, &info) != 0)
    return ath_fail_errno(errno, "%s", self->path);
  if (S_ISDIR(info.st_mode))
    return ath_fail(ATH_INVALID, "%s: is a folder; name the text files in it", self->path);
  return ATH_OK;
}

ath_status ath_stream_open(const char *path, ath_stream **out) {
  size_t length = strlen(path);
  if (length >= ATH_PATH_MAX) return ath_fail(ATH_INVALID, "%.60s…: path too long", path);
  ath_stream *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to read it", path);
  memcpy(self->path, path, length + 1);
  self->file = -1;
  ath_status status = open_file(self);
  if (status == ATH_OK) *out = self;
  else ath_stream_close(self);
  return status;
}

void ath_stream_close(ath_stream *self) {
  if (self == NULL) return;
  if (self->codec != NULL) self->codec->close(self->state);
  if (self->file >= 0) close(self->file);
  free(self->packed);
  free(self);
}

uint64_t ath_stream_taken(const ath_stream *self) { return self->taken; }

static ath_status read_file(ath_stream *self, void *bytes, size_t room, size_t *count) {
  ssize_t got;
  do {
    got = read(self->file, bytes, room);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return ath_fail_errno(errno, "cannot read");
  *count = (size_t)got;
  self->ended = got == 0;
  return ATH_OK;
}

/* --- the first bytes ----------------------------------------------------------------------- */

static ath_status fill(ath_stream *self) {
  size_t count;
  if (self->start > 0) {
    memmove(self->packed, self->packed + self->start, self->end - self->start);
    self->end -= self->start;
    self->start = 0;
  }
  ATH_TRY(read_file(self, self->packed + self->end, PACKED_BYTES - self->end, &count));
  self->end += count;
  return ATH_OK;
}

/* What was read to find out is used first. */
static ath_status find_codec(ath_stream *self) {
  if (self->packed == NULL) self->packed = malloc(PACKED_BYTES);
  if (self->packed == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to read");
  while (self->end < ATH_CODEC_MAGIC_MAX && !self->ended) ATH_TRY(fill(self));
  self->known = true;
  self->codec = ath_codec_of_bytes(self->packed, self->end);
  const ath_codec *named = ath_codec_of_name(self->path);
  if (self->codec == NULL && named != NULL)
    return ath_fail(ATH_CORRUPT, "its name says %s, but it does not begin as such a file does",
                    named->name);
  if (self->codec == NULL) return ATH_OK;
  ath_status status = self->codec->open(&self->state);
  if (status != ATH_OK) self->codec = NULL;
  return status;
}

/* --- reading ------------------------------------------------------------------------------- */

static ath_status read_plain(ath_stream *self, char *bytes, size_t room, size_t *count) {
  size_t left = self->end - self->start;
  if (left == 0) {
    ATH_TRY(read_file(self, bytes, room, count));
  } else {
    *count = left < room ? left : room;
    memcpy(bytes, self->packed + self->start, *count);
    self->start += *count;
  }
  self->taken += *count;
  return ATH_OK;
}

/* Ends when there is something to hand out, or nothing more to come: each step takes something, or
 * the file is read on, and of that there is an end. */
static ath_status read_packed(ath_stream *self, char *bytes, size_t room, size_t *count) {
  for (*count = 0; *count == 0;) {
    if (self->start == self->end && !self->ended) ATH_TRY(fill(self));
    size_t before = self->end - self->start;
    ath_codec_step step = {.in = self->packed + self->start, .in_length = before, .out = bytes,
                           .out_room = room, .last = self->ended, .complete = self->complete};
    ATH_TRY_CONTEXT(self->codec->unpack(self->state, &step), "near byte %llu of the file",
                    (unsigned long long)self->taken);
    self->complete = step.complete;
    *count = room - step.out_room;
    self->start += before - step.in_length;
    self->taken += before - step.in_length;
    bool moved = *count > 0 || step.in_length < before;
    if (moved || !self->ended) {
      if (!moved && before > 0) ATH_TRY(fill(self));
      continue;
    }
    if (self->complete) return ATH_OK;
    return ath_fail(ATH_CORRUPT, "cut short: the file ends, at byte %llu, before its %s data do",
                    (unsigned long long)self->taken, self->codec->name);
  }
  return ATH_OK;
}

ath_status ath_stream_read(ath_stream *self, void *bytes, size_t room, size_t *count) {
  assert(room > 0);
  if (!self->known) ATH_TRY(find_codec(self));
  return self->codec == NULL ? read_plain(self, bytes, room, count)
                             : read_packed(self, bytes, room, count);
}

/* --- going elsewhere ----------------------------------------------------------------------- */

static ath_status go_to(ath_stream *self, uint64_t at) {
  if (lseek(self->file, (off_t)at, SEEK_SET) < 0)
    return ath_fail_errno(errno, "cannot go to byte %llu", (unsigned long long)at);
  self->start = self->end = 0;
  self->taken = at;
  self->ended = self->complete = false;
  return ATH_OK;
}

static ath_status unpack_up_to(ath_stream *self, uint64_t at) {
  char thrown[1 << 14];
  while (at > 0) {
    size_t count, room = at < sizeof thrown ? (size_t)at : sizeof thrown;
    ATH_TRY(ath_stream_read(self, thrown, room, &count));
    if (count == 0)
      return ath_fail(ATH_INVALID, "it ends before the place where reading is to go on");
    at -= count;
  }
  return ATH_OK;
}

ath_status ath_stream_seek(ath_stream *self, uint64_t at) {
  if (!self->known && at == 0) return ATH_OK;
  if (!self->known) ATH_TRY(find_codec(self));
  if (self->codec == NULL) return go_to(self, at);
  self->codec->close(self->state);
  self->codec = NULL;
  self->known = false;
  ATH_TRY(go_to(self, 0));
  return unpack_up_to(self, at);
}
