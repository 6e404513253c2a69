/* tfrecord.h: TensorFlow's record files and the tf.train.Example messages in them.
 *
 * A TFRecord file is a row of records, each framed like this (little-endian):
 *
 *     uint64 length | uint32 masked crc32c(length) | length bytes | uint32 masked crc32c(bytes)
 *
 * masked crc = ((crc >> 15) | (crc << 17)) + 0xa282ead8. The format is documented at
 * tensorflow.org/tutorials/load_data/tfrecord; CRC-32C is RFC 3720, appendix B.4.
 *
 * Example
 *
 *     ath_status count_records(const char *path, uint64_t *count) {
 *       ath_tfrecord_reader *reader = NULL;
 *       ATH_TRY(ath_tfrecord_open(path, &reader));
 *       ath_record record;
 *       ath_status status;
 *       *count = 0;
 *       while ((status = ath_tfrecord_next(reader, &record)) == ATH_OK && record.bytes != NULL)
 *         ++*count;
 *       ath_tfrecord_close(reader);
 *       return status;
 *     }
 */
#ifndef ATHANOR_TFRECORD_H
#define ATHANOR_TFRECORD_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CRC-32C of `count` bytes continuing from `crc` (0 to begin), by the processor's instruction
 * where it has one; and the masked form that TFRecord stores. */
uint32_t ath_crc32c(uint32_t crc, const void *bytes, size_t count);
uint32_t ath_crc32c_masked(const void *bytes, size_t count);

typedef struct ath_record {
  const uint8_t *bytes; /* NULL at the end of the file */
  size_t length;
  uint64_t number;      /* counted from 0 */
  uint64_t at;          /* byte offset of the record's frame in the file */
} ath_record;

/* Reading maps the file; records point into it and stay valid until close. Both checksums are
 * verified. ATH_CORRUPT names file, record, byte and the check that failed; a cut inside a record
 * is "truncated"; a gzip- or zlib-compressed file is ATH_UNSUPPORTED and said to be one. One
 * reader belongs to one thread at a time. */
typedef struct ath_tfrecord_reader ath_tfrecord_reader;
ath_status ath_tfrecord_open(const char *path, ath_tfrecord_reader **out) ATH_MUST_CHECK;
ath_status ath_tfrecord_next(ath_tfrecord_reader *self, ath_record *out) ATH_MUST_CHECK;
/* As next, without looking at the data: only the length is verified. For building an index. */
ath_status ath_tfrecord_skip(ath_tfrecord_reader *self, ath_record *out) ATH_MUST_CHECK;
/* Continues at a frame that begins at byte `at`, as record `number`; ATH_INVALID past the end.
 * Where no frame begins there the next read fails by its checksum. */
ath_status ath_tfrecord_seek(ath_tfrecord_reader *self, uint64_t at, uint64_t number)
    ATH_MUST_CHECK;
void ath_tfrecord_close(ath_tfrecord_reader *self); /* NULL is allowed */

/* Writing goes to a temporary name; commit flushes to disk and renames, so that a file of the final
 * name is whole. After a failed write (ATH_NO_SPACE, ATH_IO) only abandon is of use: commit fails
 * too. One writer belongs to one thread at a time. */
typedef struct ath_tfrecord_writer ath_tfrecord_writer;
ath_status ath_tfrecord_create(const char *path, ath_tfrecord_writer **out) ATH_MUST_CHECK;
ath_status ath_tfrecord_write(ath_tfrecord_writer *self, const void *bytes, size_t length)
    ATH_MUST_CHECK;
/* Bytes written so far, framing included, and CRC-32C of all of them. */
uint64_t ath_tfrecord_size(const ath_tfrecord_writer *self);
uint32_t ath_tfrecord_crc(const ath_tfrecord_writer *self);
/* All three close and destroy the writer, whether they succeed or not. */
ath_status ath_tfrecord_commit(ath_tfrecord_writer *self) ATH_MUST_CHECK;
/* As commit, but under another final name in the same folder (a shard's count is known late). */
ath_status ath_tfrecord_commit_as(ath_tfrecord_writer *self, const char *path) ATH_MUST_CHECK;
/* Destroys the writer and removes what it wrote; NULL is allowed. */
void ath_tfrecord_abandon(ath_tfrecord_writer *self);

/* --- tf.train.Example --------------------------------------------------------------------
 *
 * These functions keep nothing between calls and are safe from any thread. */

/* Appends an Example with int64-list features to a buffer (base/buffer.h). Keys are written in
 * the order given (TensorFlow sorts them; give them sorted), lists packed. */
typedef struct ath_int64_feature {
  const char *name;
  const int32_t *values;
  size_t count;
} ath_int64_feature;
struct ath_buffer;
ath_status ath_example_write(const ath_int64_feature *features, size_t count,
                             struct ath_buffer *out) ATH_MUST_CHECK;

/* Reads the int64 list `name` of an Example into values[capacity], sets *count. Lists may be
 * packed or not, map entries in any order, unknown fields are skipped. ATH_NOT_FOUND if the
 * feature is missing; ATH_INVALID if it is of another kind, longer than `capacity`, or has a
 * value that does not fit 32 bits; ATH_CORRUPT if the message is malformed. The text does not
 * name the record: the caller adds it. */
ath_status ath_example_read_int64(const void *bytes, size_t length, const char *name,
                                  int32_t *values, size_t capacity, size_t *count) ATH_MUST_CHECK;

/* Walks all features, of every kind, calling `visit` for each until it fails; for inspecting files.
 * What a view points to lies in `bytes`; `name` is not NUL-terminated. */
typedef enum ath_feature_kind {
  ATH_FEATURE_EMPTY, ATH_FEATURE_BYTES, ATH_FEATURE_FLOAT, ATH_FEATURE_INT64
} ath_feature_kind;
typedef struct ath_feature_view {
  const char *name;
  size_t name_length;
  ath_feature_kind kind;
  size_t count;           /* values */
  const uint8_t *list;    /* the encoded list message, and its length */
  size_t list_length;
} ath_feature_view;
ath_status ath_example_visit(const void *bytes, size_t length,
                             ath_status (*visit)(void *context, const ath_feature_view *feature),
                             void *context) ATH_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
