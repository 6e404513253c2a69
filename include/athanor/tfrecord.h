/* tfrecord.h: TensorFlow's record files. The messages that they usually hold, tf.train.Example, are
 * those of athanor/example.h, which this header includes.
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/example.h"
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

/* A file may be compressed as a whole, as TensorFlow's TFRecordOptions has it. Reading tells the
 * kinds apart by the first bytes, unless told; `auto` is not for writing. */
typedef enum ath_compression {
  ATH_COMPRESSION_AUTO, ATH_COMPRESSION_NONE, ATH_COMPRESSION_GZIP, ATH_COMPRESSION_ZLIB
} ath_compression;

/* Protocol buffers end at 2 GiB, so that no reader of Examples takes a longer record. */
#define ATH_RECORD_MAX ((uint64_t)INT32_MAX)

typedef struct ath_tfrecord_options {
  ath_compression compression;
  uint64_t record_max; /* longer records are refused, ATH_INVALID; 0: ATH_RECORD_MAX */
  bool random_access;  /* a compressed file is unpacked first, to a file without a name in $TMPDIR
                        * or /tmp: for reading that goes back */
} ath_tfrecord_options;

/* Reading maps the file; records point into it and stay valid until close. Of a compressed file a
 * record is valid until the next call, and `at` counts decompressed bytes; memory does not grow
 * with the file, only with its longest record. Both checksums are verified. ATH_CORRUPT names file,
 * record, byte and the check that failed; a cut inside a record is "truncated". One reader belongs
 * to one thread at a time. */
typedef struct ath_tfrecord_reader ath_tfrecord_reader;
ath_status ath_tfrecord_open(const char *path, ath_tfrecord_reader **out) ATH_MUST_CHECK;
/* NULL options are all zero. */
ath_status ath_tfrecord_open_with(const char *path, const ath_tfrecord_options *options,
                                  ath_tfrecord_reader **out) ATH_MUST_CHECK;
/* What the file was found to be; never `auto`. */
ath_compression ath_tfrecord_compression(const ath_tfrecord_reader *self);
ath_status ath_tfrecord_next(ath_tfrecord_reader *self, ath_record *out) ATH_MUST_CHECK;
/* As next, without looking at the data: only the length is verified. For building an index. */
ath_status ath_tfrecord_skip(ath_tfrecord_reader *self, ath_record *out) ATH_MUST_CHECK;
/* Goes over a record whose data did not match their checksum, so that reading can go on behind it;
 * true where that was the reason of the last failure. */
bool ath_tfrecord_pass(ath_tfrecord_reader *self);
/* Continues at a frame that begins at byte `at`, as record `number`; ATH_INVALID past the end, and
 * for going back in a compressed file without random access. Where no frame begins there the next
 * read fails by its checksum. */
ath_status ath_tfrecord_seek(ath_tfrecord_reader *self, uint64_t at, uint64_t number)
    ATH_MUST_CHECK;
void ath_tfrecord_close(ath_tfrecord_reader *self); /* NULL is allowed */

/* Writing goes to a temporary name; commit flushes to disk and renames, so that a file of the final
 * name is whole. After a failed write (ATH_NO_SPACE, ATH_IO) only abandon is of use: commit fails
 * too. A record above the limit is ATH_INVALID and leaves the file as it was. One writer belongs to
 * one thread at a time. */
typedef struct ath_tfrecord_writer ath_tfrecord_writer;
ath_status ath_tfrecord_create(const char *path, ath_tfrecord_writer **out) ATH_MUST_CHECK;
/* NULL options, or `auto`, are a file without compression. */
ath_status ath_tfrecord_create_with(const char *path, const ath_tfrecord_options *options,
                                    ath_tfrecord_writer **out) ATH_MUST_CHECK;
ath_status ath_tfrecord_write(ath_tfrecord_writer *self, const void *bytes, size_t length)
    ATH_MUST_CHECK;
/* Bytes of the frames written so far, before compression. */
uint64_t ath_tfrecord_size(const ath_tfrecord_writer *self);
/* Ends a compressed stream, so that the two below speak of the whole file; nothing can be written
 * afterwards. Without compression it does nothing. Commit includes it. */
ath_status ath_tfrecord_end(ath_tfrecord_writer *self) ATH_MUST_CHECK;
/* Bytes in the file, and CRC-32C of all of them. */
uint64_t ath_tfrecord_file_size(const ath_tfrecord_writer *self);
uint32_t ath_tfrecord_crc(const ath_tfrecord_writer *self);
/* All three close and destroy the writer, whether they succeed or not. */
ath_status ath_tfrecord_commit(ath_tfrecord_writer *self) ATH_MUST_CHECK;
/* As commit, but under another final name in the same folder (a shard's count is known late). */
ath_status ath_tfrecord_commit_as(ath_tfrecord_writer *self, const char *path) ATH_MUST_CHECK;
/* Destroys the writer and removes what it wrote; NULL is allowed. */
void ath_tfrecord_abandon(ath_tfrecord_writer *self);

#ifdef __cplusplus
}
#endif

#endif
