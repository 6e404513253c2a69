/* deflate.h: gzip (RFC 1952) and zlib (RFC 1950) streams, read from memory, written to a file. */
#ifndef ATHANOR_FORMATS_DEFLATE_H
#define ATHANOR_FORMATS_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/tfrecord.h"
#include "storage/file.h"

/* What a file's first bytes look like: gzip, zlib or neither. Two bytes are little to go by, zlib's
 * are above all: ask only where something else has failed. */
ath_compression ath_compression_guess(const uint8_t *bytes, size_t size);
const char *ath_compression_name(ath_compression self);

/* A compressed stream in memory that is read from its beginning to its end. A gzip file may have
 * several members, one behind the other. */
typedef struct ath_inflater ath_inflater;
ath_status ath_inflater_open(const uint8_t *bytes, size_t size, ath_compression compression,
                             ath_inflater **out) ATH_MUST_CHECK;
/* Fills `out` as far as it goes; fewer bytes than `room` are there at the end only. ATH_CORRUPT
 * with the byte of the compressed stream, for damage found by the stream's checksum too, and for a
 * stream that is cut off. */
ath_status ath_inflater_read(ath_inflater *self, uint8_t *out, size_t room, size_t *got)
    ATH_MUST_CHECK;
void ath_inflater_close(ath_inflater *self); /* NULL is allowed */

/* A stream being written to a file, which stays the caller's. Equal content gives equal bytes: no
 * time is noted. */
typedef struct ath_deflater ath_deflater;
ath_status ath_deflater_open(ath_compression compression, ath_file_writer *file,
                             ath_deflater **out) ATH_MUST_CHECK;
ath_status ath_deflater_write(ath_deflater *self, const void *bytes, size_t count) ATH_MUST_CHECK;
ath_status ath_deflater_end(ath_deflater *self) ATH_MUST_CHECK;
/* Of what has been written to the file, everything after the end. */
uint64_t ath_deflater_size(const ath_deflater *self);
uint32_t ath_deflater_crc(const ath_deflater *self); /* CRC-32C */
void ath_deflater_close(ath_deflater *self); /* NULL is allowed */

#endif
