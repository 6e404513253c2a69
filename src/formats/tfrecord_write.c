/* tfrecord_write.c: writing record files, plain or compressed. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/tfrecord.h"
#include "base/crc32c.h"
#include "formats/deflate.h"
#include "formats/tfrecord_frame.h"
#include "storage/file.h"

ath_tfrecord_frame ath_tfrecord_frame_around(size_t length, uint32_t crc) {
  ath_tfrecord_frame frame;
  uint64_t length_field = length;
  memcpy(frame.head, &length_field, 8);
  uint32_t head_crc = ath_crc32c_masked(frame.head, 8), data_crc = ath_crc32c_mask(crc);
  memcpy(frame.head + 8, &head_crc, 4);
  memcpy(frame.tail, &data_crc, 4);
  return frame;
}

ath_tfrecord_frame ath_tfrecord_frame_make(const void *bytes, size_t length) {
  assert(bytes != NULL || length == 0);
  return ath_tfrecord_frame_around(length, ath_crc32c(0, bytes, length));
}

struct ath_tfrecord_writer {
  ath_file_writer *file;
  ath_deflater *deflater; /* or NULL */
  uint64_t record_max;
  uint64_t size; /* of the frames */
  uint32_t crc;  /* of the frames, where the file holds them as they are */
};

ath_status ath_tfrecord_create(const char *path, ath_tfrecord_writer **out) {
  return ath_tfrecord_create_with(path, NULL, out);
}

ath_status ath_tfrecord_create_with(const char *path, const ath_tfrecord_options *options,
                                    ath_tfrecord_writer **out) {
  static const ath_tfrecord_options defaults;
  if (options == NULL) options = &defaults;
  ath_tfrecord_writer *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to write it", path);
  self->record_max = options->record_max > 0 ? options->record_max : ATH_RECORD_MAX;
  ath_status status = ath_file_writer_open(path, &self->file);
  if (status == ATH_OK && options->compression > ATH_COMPRESSION_NONE) {
    status = ath_context(ath_deflater_open(options->compression, self->file, &self->deflater),
                         "%s", path);
    if (status != ATH_OK) ath_file_writer_abandon(self->file);
  }
  if (status != ATH_OK) {
    free(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

static ath_status put(ath_tfrecord_writer *self, const void *bytes, size_t count) {
  self->size += count;
  return self->deflater != NULL ? ath_deflater_write(self->deflater, bytes, count)
                                : ath_file_writer_write(self->file, bytes, count);
}

/* The data are gone over once: the file's checksum takes theirs as computed for the frame. */
ath_status ath_tfrecord_write(ath_tfrecord_writer *self, const void *bytes, size_t length) {
  assert(bytes != NULL || length == 0);
  if (length > self->record_max)
    return ath_fail(ATH_INVALID, "a record of %zu bytes is over the limit of %llu", length,
                    (unsigned long long)self->record_max);
  uint32_t crc = ath_crc32c(0, bytes, length);
  ath_tfrecord_frame frame = ath_tfrecord_frame_around(length, crc);
  ATH_TRY(put(self, frame.head, sizeof frame.head));
  ATH_TRY(put(self, bytes, length));
  self->crc = ath_crc32c_join(ath_crc32c(self->crc, frame.head, sizeof frame.head), crc, length);
  self->crc = ath_crc32c(self->crc, frame.tail, sizeof frame.tail);
  return put(self, frame.tail, sizeof frame.tail);
}

uint64_t ath_tfrecord_size(const ath_tfrecord_writer *self) { return self->size; }

ath_status ath_tfrecord_end(ath_tfrecord_writer *self) {
  return self->deflater != NULL ? ath_deflater_end(self->deflater) : ATH_OK;
}

uint64_t ath_tfrecord_file_size(const ath_tfrecord_writer *self) {
  return self->deflater != NULL ? ath_deflater_size(self->deflater) : self->size;
}

uint32_t ath_tfrecord_crc(const ath_tfrecord_writer *self) {
  return self->deflater != NULL ? ath_deflater_crc(self->deflater) : self->crc;
}

/* Destroys the writer and hands over its file. */
static ath_file_writer *release(ath_tfrecord_writer *self) {
  ath_file_writer *file = self->file;
  assert(file != NULL);
  ath_deflater_close(self->deflater);
  free(self);
  return file;
}

/* Ends the file, and gives it up where that fails. */
static ath_status finish(ath_tfrecord_writer *self, ath_file_writer **file) {
  ath_status status = ath_tfrecord_end(self);
  *file = release(self);
  if (status != ATH_OK) ath_file_writer_abandon(*file);
  return status;
}

ath_status ath_tfrecord_commit(ath_tfrecord_writer *self) {
  ath_file_writer *file;
  ATH_TRY(finish(self, &file));
  return ath_file_writer_commit(file);
}

ath_status ath_tfrecord_commit_as(ath_tfrecord_writer *self, const char *path) {
  ath_file_writer *file;
  ATH_TRY(finish(self, &file));
  return ath_file_writer_commit_as(file, path);
}

void ath_tfrecord_abandon(ath_tfrecord_writer *self) {
  if (self != NULL) ath_file_writer_abandon(release(self));
}
