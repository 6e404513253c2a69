/* tfrecord.c: reading TensorFlow's record files. A record of the one byte "a":
 *
 *      0  01 00 00 00 00 00 00 00   length, 64 bits
 *      8  01 75 de 41               masked CRC-32C of the 8 bytes before
 *     12  61                        the data
 *     13  78 6e e4 28               masked CRC-32C of the data
 *     17  the next record
 *
 * There is no header and no end mark: a file cut between two records is a shorter file, which is
 * why shards carry their count in the name. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "athanor/tfrecord.h"
#include "base/crc32c.h"
#include "formats/deflate.h"
#include "formats/tfrecord_frame.h"
#include "formats/wire.h"
#include "storage/file.h"

_Static_assert(ATH_TFRECORD_HEAD == 8 + 4, "a length and its checksum");

enum { AROUND = ATH_TFRECORD_HEAD + ATH_TFRECORD_TAIL, LEAST_INFLATED = 1 << 16 };

struct ath_tfrecord_reader {
  ath_mapping file;
  uint64_t at, number; /* of the next record */
  uint64_t failed;     /* 1 + length of the record at `at` whose data were found damaged, or 0 */
  uint64_t record_max;
  ath_compression compression;
  ath_inflater *inflater; /* of a compressed file that is not unpacked, or NULL; then … */
  ath_buffer inflated;    /* … decompressed bytes from `inflated_at` on */
  uint64_t inflated_at;
  char path[];
};

/* --- opening ------------------------------------------------------------------------------- */

/* A frame at the beginning makes a plain file, whatever its bytes look like. */
static ath_compression find_compression(const ath_mapping *file) {
  if (file->size >= ATH_TFRECORD_HEAD &&
      ath_load_u32(file->bytes + 8) == ath_crc32c_masked(file->bytes, 8))
    return ATH_COMPRESSION_NONE;
  return ath_compression_guess(file->bytes, file->size);
}

static ath_status write_fully(int file, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    ssize_t put = write(file, bytes, count);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return ath_fail_errno(put < 0 ? errno : EIO, "cannot write a temporary file");
    bytes += put;
    count -= (size_t)put;
  }
  return ATH_OK;
}

static ath_status inflate_to(ath_inflater *inflater, int file) {
  size_t got;
  do {
    uint8_t chunk[LEAST_INFLATED];
    ATH_TRY(ath_inflater_read(inflater, chunk, sizeof chunk, &got));
    ATH_TRY(write_fully(file, chunk, got));
  } while (got == LEAST_INFLATED);
  return ATH_OK;
}

/* The file has no name from the start, so that nothing is left behind whatever happens. */
static ath_status open_nameless(int *file) {
  char path[ATH_PATH_MAX];
  const char *folder = getenv("TMPDIR");
  ATH_TRY(ath_path_join(path, folder != NULL && *folder != '\0' ? folder : "/tmp",
                        "athanor-records-XXXXXX"));
  *file = mkstemp(path);
  if (*file < 0) return ath_fail_errno(errno, "%s: cannot make a temporary file", path);
  unlink(path);
  return ATH_OK;
}

/* Puts a mapping of the decompressed content in the place of the file's. */
static ath_status unpack(ath_tfrecord_reader *self) {
  int file;
  char path[64];
  ath_mapping plain;
  ATH_TRY(open_nameless(&file));
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  ath_status status = inflate_to(self->inflater, file);
  if (status == ATH_OK) status = ath_file_map(path, &plain);
  close(file);
  ATH_TRY(status);
  ath_file_unmap(&self->file);
  self->file = plain;
  ath_inflater_close(self->inflater);
  self->inflater = NULL;
  return ATH_OK;
}

static ath_status open_file(ath_tfrecord_reader *self, const ath_tfrecord_options *options) {
  ATH_TRY(ath_file_map(self->path, &self->file));
  self->compression = options->compression != ATH_COMPRESSION_AUTO
                          ? options->compression : find_compression(&self->file);
  self->record_max = options->record_max > 0 ? options->record_max : ATH_RECORD_MAX;
  if (self->compression == ATH_COMPRESSION_NONE) return ATH_OK;
  uint64_t most = self->record_max < SIZE_MAX / 4 ? self->record_max : SIZE_MAX / 4;
  self->inflated = ath_buffer_make((size_t)most + AROUND + LEAST_INFLATED);
  ATH_TRY_CONTEXT(ath_inflater_open(self->file.bytes, self->file.size, self->compression,
                                    &self->inflater), "%s", self->path);
  return options->random_access ? ath_context(unpack(self), "%s", self->path) : ATH_OK;
}

ath_status ath_tfrecord_open_with(const char *path, const ath_tfrecord_options *options,
                                  ath_tfrecord_reader **out) {
  static const ath_tfrecord_options defaults;
  size_t path_size = strlen(path) + 1;
  ath_tfrecord_reader *self = calloc(1, sizeof *self + path_size);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to read it", path);
  memcpy(self->path, path, path_size);
  ath_status status = open_file(self, options != NULL ? options : &defaults);
  if (status != ATH_OK) {
    ath_tfrecord_close(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

ath_status ath_tfrecord_open(const char *path, ath_tfrecord_reader **out) {
  return ath_tfrecord_open_with(path, NULL, out);
}

ath_compression ath_tfrecord_compression(const ath_tfrecord_reader *self) {
  return self->compression;
}

void ath_tfrecord_close(ath_tfrecord_reader *self) {
  if (self == NULL) return;
  ath_inflater_close(self->inflater);
  ath_buffer_free(&self->inflated);
  if (self->file.bytes != NULL) ath_file_unmap(&self->file);
  free(self);
}

/* --- bytes --------------------------------------------------------------------------------- */

static ath_status fault(const ath_tfrecord_reader *self, ath_status status, const char *what) {
  return ath_fail(status, "%s: record %" PRIu64 " at byte %" PRIu64 "%s: %s", self->path,
                  self->number, self->at, self->inflater != NULL ? " of its content" : "", what);
}

/* Forgets what lies before the place, and decompresses until `wanted` bytes are there. They come in
 * pieces, so that a length that is not true does not cost its memory. */
static ath_status inflate_until(ath_tfrecord_reader *self, uint64_t wanted) {
  ath_buffer *b = &self->inflated;
  assert(self->at >= self->inflated_at && self->at - self->inflated_at <= b->length);
  size_t passed = (size_t)(self->at - self->inflated_at);
  if (passed > 0) memmove(b->bytes, b->bytes + passed, b->length - passed);
  b->length -= passed;
  self->inflated_at = self->at;
  while (b->length < wanted) {
    size_t piece = b->length > LEAST_INFLATED ? b->length : LEAST_INFLATED, got;
    size_t room = b->maximum - b->length;
    if (piece > room) piece = room;
    ATH_TRY(ath_buffer_reserve(b, piece));
    ATH_TRY(ath_inflater_read(self->inflater, (uint8_t *)b->bytes + b->length, piece, &got));
    b->length += got;
    if (got < piece) break;
  }
  return ATH_OK;
}

/* The bytes at the place, `wanted` of them or, at the end of the file, what is left. */
static ath_status look(ath_tfrecord_reader *self, uint64_t wanted, const uint8_t **bytes,
                       uint64_t *left) {
  if (self->inflater == NULL) {
    *bytes = self->file.bytes + self->at;
    *left = self->file.size - self->at;
    return ATH_OK;
  }
  if (self->inflated_at + self->inflated.length < self->at + wanted) {
    ath_status status = inflate_until(self, wanted);
    if (status != ATH_OK)
      return ath_context(status, "%s: record %" PRIu64 " at byte %" PRIu64 " of its content",
                         self->path, self->number, self->at);
  }
  size_t offset = (size_t)(self->at - self->inflated_at);
  *bytes = (const uint8_t *)self->inflated.bytes + offset;
  *left = self->inflated.length - offset;
  return ATH_OK;
}

/* --- records ------------------------------------------------------------------------------- */

/* What every Riegeli file begins with, and so every ArrayRecord file: the hash of its first block's
 * header (github.com/google/riegeli, doc/riegeli_records_file_format.md). */
static bool is_array_record(const ath_mapping *file) {
  static const uint8_t signature[] = {0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f};
  return file->size >= sizeof signature && memcmp(file->bytes, signature, sizeof signature) == 0;
}

static ath_status bad_length(const ath_tfrecord_reader *self) {
  if (self->at == 0 && is_array_record(&self->file))
    return ath_fail(ATH_UNSUPPORTED, "%s: an ArrayRecord file, for which there is no C library; "
                    "write its records to a TFRecord file by the Python package array_record",
                    self->path);
  return fault(self, ATH_CORRUPT, "length checksum does not match");
}

static bool fits(uint64_t length, uint64_t left) {
  return left >= AROUND && length <= left - AROUND;
}

static ath_status truncated(const ath_tfrecord_reader *self) {
  return fault(self, ATH_CORRUPT, "truncated: the file ends inside the record's data");
}

/* The frame at the place, all of it, and the length of its data. A mapped file shows at once
 * whether a length can be true; of a compressed one no more is unpacked than the limit allows. */
static ath_status find_frame(ath_tfrecord_reader *self, const uint8_t **frame, uint64_t *length) {
  uint64_t left = 0;
  ATH_TRY(look(self, ATH_TFRECORD_HEAD, frame, &left));
  if (left == 0) {
    *frame = NULL;
    return ATH_OK;
  }
  if (left < ATH_TFRECORD_HEAD)
    return fault(self, ATH_CORRUPT, "truncated: the file ends inside the record's length");
  if (ath_load_u32(*frame + 8) != ath_crc32c_masked(*frame, 8))
    return bad_length(self);
  *length = ath_load_u64(*frame);
  if (self->inflater == NULL && !fits(*length, left)) return truncated(self);
  if (*length > self->record_max) {
    char text[128];
    snprintf(text, sizeof text, "%" PRIu64 " bytes long, over the limit of %" PRIu64, *length,
             self->record_max);
    return fault(self, ATH_INVALID, text);
  }
  if (self->inflater == NULL) return ATH_OK;
  ATH_TRY(look(self, *length + AROUND, frame, &left));
  return fits(*length, left) ? ATH_OK : truncated(self);
}

static ath_status next_record(ath_tfrecord_reader *self, bool check_data, ath_record *out) {
  const uint8_t *frame = NULL;
  uint64_t length = 0;
  *out = (ath_record){.number = self->number, .at = self->at};
  self->failed = 0;
  ATH_TRY(find_frame(self, &frame, &length));
  if (frame == NULL) return ATH_OK;
  const uint8_t *data = frame + ATH_TFRECORD_HEAD;
  if (check_data && ath_load_u32(data + length) != ath_crc32c_masked(data, length)) {
    self->failed = length + 1;
    return fault(self, ATH_CORRUPT, "data checksum does not match");
  }
  out->bytes = data;
  out->length = length;
  self->at += AROUND + length;
  self->number++;
  return ATH_OK;
}

ath_status ath_tfrecord_next(ath_tfrecord_reader *self, ath_record *out) {
  return next_record(self, true, out);
}

ath_status ath_tfrecord_skip(ath_tfrecord_reader *self, ath_record *out) {
  return next_record(self, false, out);
}

bool ath_tfrecord_pass(ath_tfrecord_reader *self) {
  if (self->failed == 0) return false;
  self->at += AROUND + (self->failed - 1);
  self->number++;
  self->failed = 0;
  return true;
}

ath_status ath_tfrecord_seek(ath_tfrecord_reader *self, uint64_t at, uint64_t number) {
  uint64_t size = self->file.size;
  if (self->inflater != NULL) {
    if (at < self->at)
      return ath_fail(ATH_INVALID, "%s: cannot go back in a compressed file", self->path);
    while (self->inflated_at + self->inflated.length < at) { /* piece by piece */
      uint64_t before = self->inflated_at + self->inflated.length;
      self->at = before;
      ATH_TRY_CONTEXT(inflate_until(self, 1), "%s", self->path);
      if (self->inflated.length == 0) break;
    }
    size = self->inflated_at + self->inflated.length;
  }
  if (at > size)
    return ath_fail(ATH_INVALID, "%s: record %" PRIu64 " cannot be at byte %" PRIu64
                    " of a file of %" PRIu64 " bytes", self->path, number, at, size);
  self->at = at;
  self->number = number;
  self->failed = 0;
  return ATH_OK;
}
