/* deflate.c: gzip and zlib streams by zlib. */
#include "formats/deflate.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

enum {
  PIECE_MAX = 1 << 30, /* zlib counts in 32 bits */
  CHUNK = 1 << 16,
  GZIP_WINDOW = MAX_WBITS + 16, /* zlib's way of saying gzip */
};

ath_compression ath_compression_guess(const uint8_t *b, size_t size) {
  if (size >= 2 && b[0] == 0x1f && b[1] == 0x8b) return ATH_COMPRESSION_GZIP;
  if (size >= 2 && b[0] == 0x78 && (b[0] << 8 | b[1]) % 31 == 0) return ATH_COMPRESSION_ZLIB;
  return ATH_COMPRESSION_NONE;
}

const char *ath_compression_name(ath_compression self) {
  static const char *const names[] = {[ATH_COMPRESSION_NONE] = "none", [ATH_COMPRESSION_AUTO] =
                                      "auto", [ATH_COMPRESSION_GZIP] = "gzip",
                                      [ATH_COMPRESSION_ZLIB] = "zlib"};
  return names[self];
}

static int window_bits(ath_compression compression) {
  assert(compression == ATH_COMPRESSION_GZIP || compression == ATH_COMPRESSION_ZLIB);
  return compression == ATH_COMPRESSION_GZIP ? GZIP_WINDOW : MAX_WBITS;
}

/* --- reading ------------------------------------------------------------------------------- */

struct ath_inflater {
  z_stream stream;
  const uint8_t *bytes; /* of the whole stream */
  size_t size;
  ath_compression compression;
  bool ended;
};

ath_status ath_inflater_open(const uint8_t *bytes, size_t size, ath_compression compression,
                             ath_inflater **out) {
  ath_inflater *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to decompress");
  self->bytes = bytes;
  self->size = size;
  self->compression = compression;
  self->stream.next_in = (Bytef *)(uintptr_t)bytes;
  if (inflateInit2(&self->stream, window_bits(compression)) != Z_OK) {
    free(self);
    return ath_fail(ATH_NO_MEMORY, "no memory to decompress");
  }
  *out = self;
  return ATH_OK;
}

static size_t used(const ath_inflater *self) {
  return (size_t)(self->stream.next_in - self->bytes);
}

/* Behind the end of a gzip member another one may begin. */
static ath_status next_member(ath_inflater *self) {
  size_t left = self->size - used(self);
  if (left == 0) {
    self->ended = true;
    return ATH_OK;
  }
  if (self->compression != ATH_COMPRESSION_GZIP ||
      ath_compression_guess(self->stream.next_in, left) != ATH_COMPRESSION_GZIP)
    return ath_fail(ATH_CORRUPT, "something stands behind the end of the %s stream, at its byte "
                    "%zu", ath_compression_name(self->compression), used(self));
  if (inflateReset(&self->stream) != Z_OK)
    return ath_fail(ATH_INTERNAL, "zlib cannot begin another gzip member");
  return ATH_OK;
}

static ath_status inflate_some(ath_inflater *self) {
  z_stream *stream = &self->stream;
  size_t left = self->size - used(self), room = stream->avail_out;
  stream->avail_in = left < PIECE_MAX ? (uInt)left : PIECE_MAX;
  int code = inflate(stream, Z_NO_FLUSH);
  if (code == Z_STREAM_END) return next_member(self);
  if (code == Z_MEM_ERROR) return ath_fail(ATH_NO_MEMORY, "no memory to decompress");
  if (code != Z_OK && code != Z_BUF_ERROR)
    return ath_fail(ATH_CORRUPT, "the %s stream is damaged at its byte %zu: %s",
                    ath_compression_name(self->compression), used(self),
                    stream->msg != NULL ? stream->msg : "not a stream of this kind");
  if (used(self) == self->size && stream->avail_out == room)
    return ath_fail(ATH_CORRUPT, "truncated: the %s stream ends too early, at its byte %zu",
                    ath_compression_name(self->compression), self->size);
  return ATH_OK;
}

ath_status ath_inflater_read(ath_inflater *self, uint8_t *out, size_t room, size_t *got) {
  z_stream *stream = &self->stream;
  for (*got = 0; *got < room && !self->ended;) {
    uInt piece = room - *got < PIECE_MAX ? (uInt)(room - *got) : PIECE_MAX;
    stream->next_out = out + *got;
    stream->avail_out = piece;
    ATH_TRY(inflate_some(self));
    *got += piece - stream->avail_out;
  }
  return ATH_OK;
}

void ath_inflater_close(ath_inflater *self) {
  if (self == NULL) return;
  inflateEnd(&self->stream);
  free(self);
}

/* --- writing ------------------------------------------------------------------------------- */

struct ath_deflater {
  z_stream stream;
  ath_file_writer *file;
  uint64_t size;
  uint32_t crc;
  bool ended;
  uint8_t chunk[CHUNK];
};

ath_status ath_deflater_open(ath_compression compression, ath_file_writer *file,
                             ath_deflater **out) {
  enum { MEMORY_LEVEL = 9 };
  ath_deflater *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to compress");
  self->file = file;
  if (deflateInit2(&self->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits(compression),
                   MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
    free(self);
    return ath_fail(ATH_NO_MEMORY, "no memory to compress");
  }
  *out = self;
  return ATH_OK;
}

/* One call of zlib, and its output to the file. */
static ath_status deflate_some(ath_deflater *self, int flush, int *code) {
  self->stream.next_out = self->chunk;
  self->stream.avail_out = CHUNK;
  *code = deflate(&self->stream, flush);
  assert(*code == Z_OK || *code == Z_STREAM_END || *code == Z_BUF_ERROR);
  size_t made = CHUNK - self->stream.avail_out;
  self->size += made;
  self->crc = ath_crc32c(self->crc, self->chunk, made);
  return ath_file_writer_write(self->file, self->chunk, made);
}

ath_status ath_deflater_write(ath_deflater *self, const void *bytes, size_t count) {
  assert(!self->ended);
  int code;
  for (const uint8_t *at = bytes; count > 0;) {
    uInt piece = count < PIECE_MAX ? (uInt)count : PIECE_MAX;
    self->stream.next_in = (Bytef *)(uintptr_t)at;
    self->stream.avail_in = piece;
    while (self->stream.avail_in > 0) ATH_TRY(deflate_some(self, Z_NO_FLUSH, &code));
    at += piece;
    count -= piece;
  }
  return ATH_OK;
}

ath_status ath_deflater_end(ath_deflater *self) {
  int code = self->ended ? Z_STREAM_END : Z_OK;
  while (code != Z_STREAM_END) ATH_TRY(deflate_some(self, Z_FINISH, &code));
  self->ended = true;
  return ATH_OK;
}

uint64_t ath_deflater_size(const ath_deflater *self) { return self->size; }

uint32_t ath_deflater_crc(const ath_deflater *self) { return self->crc; }

void ath_deflater_close(ath_deflater *self) {
  if (self == NULL) return;
  deflateEnd(&self->stream);
  free(self);
}
