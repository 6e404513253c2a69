/* tfrecord.c: TensorFlow's record files. A record of the one byte "a":
 *
 *      0  01 00 00 00 00 00 00 00   length, 64 bits
 *      8  01 75 de 41               masked CRC-32C of the 8 bytes before
 *     12  61                        the data
 *     13  78 6e e4 28               masked CRC-32C of the data
 *     17  the next record
 *
 * There is no header and no end mark: a file cut between two records is a shorter file, which is
 * why shards carry their count in the name. The mask keeps the checksum of data that itself holds
 * checksums from degenerating. */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "athanor/tfrecord.h"
#include "formats/tfrecord_frame.h"
#include "formats/wire.h"
#include "storage/file.h"

_Static_assert(ATH_TFRECORD_HEAD == 8 + 4, "a length and its checksum");

ath_tfrecord_frame ath_tfrecord_frame_make(const void *bytes, size_t length) {
  assert(bytes != NULL || length == 0);
  ath_tfrecord_frame frame;
  uint64_t length_field = length;
  memcpy(frame.head, &length_field, 8);
  uint32_t head_crc = ath_crc32c_masked(frame.head, 8);
  memcpy(frame.head + 8, &head_crc, 4);
  uint32_t data_crc = ath_crc32c_masked(bytes, length);
  memcpy(frame.tail, &data_crc, 4);
  return frame;
}

/* --- reading ------------------------------------------------------------------------------- */

struct ath_tfrecord_reader {
  ath_mapping file;
  uint64_t at, number; /* of the next record */
  char path[];
};

ath_status ath_tfrecord_open(const char *path, ath_tfrecord_reader **out) {
  size_t path_size = strlen(path) + 1;
  ath_tfrecord_reader *self = calloc(1, sizeof *self + path_size);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to read it", path);
  memcpy(self->path, path, path_size);
  ath_status status = ath_file_map(path, &self->file);
  if (status != ATH_OK) {
    free(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

/* A compressed file is a fault at the very first checksum, with these bytes in front:
 * RFC 1952 for gzip; RFC 1950 for zlib, whose first two bytes are a multiple of 31. */
static const char *compression_of(const ath_mapping *file) {
  const uint8_t *b = file->bytes;
  if (file->size >= 2 && b[0] == 0x1f && b[1] == 0x8b) return "gzip";
  if (file->size >= 2 && b[0] == 0x78 && (b[0] << 8 | b[1]) % 31 == 0) return "zlib";
  return NULL;
}

static ath_status fault(const ath_tfrecord_reader *self, const char *what) {
  const char *compression = self->at == 0 ? compression_of(&self->file) : NULL;
  if (compression != NULL)
    return ath_fail(ATH_UNSUPPORTED,
                    "%s: record 0 at byte 0: the file looks %s-compressed; decompress it first",
                    self->path, compression);
  return ath_fail(ATH_CORRUPT, "%s: record %llu at byte %llu: %s", self->path,
                  (unsigned long long)self->number, (unsigned long long)self->at, what);
}

static ath_status next_record(ath_tfrecord_reader *self, bool check_data, ath_record *out) {
  assert(self->at <= self->file.size);
  const uint8_t *frame = self->file.bytes + self->at;
  uint64_t left = self->file.size - self->at;
  *out = (ath_record){.number = self->number, .at = self->at};
  if (left == 0) return ATH_OK;
  if (left < ATH_TFRECORD_HEAD)
    return fault(self, "truncated: the file ends inside the record's length");
  if (ath_load_u32(frame + 8) != ath_crc32c_masked(frame, 8))
    return fault(self, "length checksum does not match");

  uint64_t length = ath_load_u64(frame);
  if (left < ATH_TFRECORD_HEAD + ATH_TFRECORD_TAIL ||
      length > left - ATH_TFRECORD_HEAD - ATH_TFRECORD_TAIL)
    return fault(self, "truncated: the file ends inside the record's data");
  const uint8_t *data = frame + ATH_TFRECORD_HEAD;
  if (check_data && ath_load_u32(data + length) != ath_crc32c_masked(data, length))
    return fault(self, "data checksum does not match");
  out->bytes = data;
  out->length = length;
  self->at += ATH_TFRECORD_HEAD + length + ATH_TFRECORD_TAIL;
  self->number++;
  assert(self->at <= self->file.size);
  return ATH_OK;
}

ath_status ath_tfrecord_next(ath_tfrecord_reader *self, ath_record *out) {
  return next_record(self, true, out);
}

ath_status ath_tfrecord_skip(ath_tfrecord_reader *self, ath_record *out) {
  return next_record(self, false, out);
}

ath_status ath_tfrecord_seek(ath_tfrecord_reader *self, uint64_t at, uint64_t number) {
  if (at > self->file.size)
    return ath_fail(ATH_INVALID, "%s: record %llu cannot be at byte %llu of a file of %llu bytes",
                    self->path, (unsigned long long)number, (unsigned long long)at,
                    (unsigned long long)self->file.size);
  self->at = at;
  self->number = number;
  return ATH_OK;
}

void ath_tfrecord_close(ath_tfrecord_reader *self) {
  if (self == NULL) return;
  ath_file_unmap(&self->file);
  free(self);
}

/* --- writing ------------------------------------------------------------------------------- */

struct ath_tfrecord_writer {
  ath_file_writer *file;
  uint64_t size;
  uint32_t crc;
};

ath_status ath_tfrecord_create(const char *path, ath_tfrecord_writer **out) {
  ath_tfrecord_writer *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to write it", path);
  ath_status status = ath_file_writer_open(path, &self->file);
  if (status != ATH_OK) {
    free(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

static ath_status put(ath_tfrecord_writer *self, const void *bytes, size_t count) {
  ATH_TRY(ath_file_writer_write(self->file, bytes, count));
  self->size += count;
  self->crc = ath_crc32c(self->crc, bytes, count);
  assert(self->size >= count);
  return ATH_OK;
}

ath_status ath_tfrecord_write(ath_tfrecord_writer *self, const void *bytes, size_t length) {
  ath_tfrecord_frame frame = ath_tfrecord_frame_make(bytes, length);
  ATH_TRY(put(self, frame.head, sizeof frame.head));
  ATH_TRY(put(self, bytes, length));
  return put(self, frame.tail, sizeof frame.tail);
}

uint64_t ath_tfrecord_size(const ath_tfrecord_writer *self) { return self->size; }

uint32_t ath_tfrecord_crc(const ath_tfrecord_writer *self) { return self->crc; }

/* Destroys the writer and hands over its file. */
static ath_file_writer *release(ath_tfrecord_writer *self) {
  ath_file_writer *file = self->file;
  assert(file != NULL);
  free(self);
  return file;
}

ath_status ath_tfrecord_commit(ath_tfrecord_writer *self) {
  return ath_file_writer_commit(release(self));
}

ath_status ath_tfrecord_commit_as(ath_tfrecord_writer *self, const char *path) {
  return ath_file_writer_commit_as(release(self), path);
}

void ath_tfrecord_abandon(ath_tfrecord_writer *self) {
  if (self != NULL) ath_file_writer_abandon(release(self));
}
