/* stream.h: a file's bytes from front to back, unpacked on the way where it is compressed.
 *
 * gzip, zstd, xz and bzip2 are known by their first bytes, whatever the name; a name that ends as
 * theirs do and a content that does not begin so are refused. Memory does not grow with the
 * file. */
#ifndef ATHANOR_STORAGE_STREAM_H
#define ATHANOR_STORAGE_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

typedef struct ath_stream ath_stream;

/* ATH_NOT_FOUND, ATH_DENIED, or ATH_INVALID for a folder. A pipe is read like a file, though only
 * once; a FIFO is waited for, until somebody writes. One thread at a time. */
ath_status ath_stream_open(const char *path, ath_stream **out) ATH_MUST_CHECK;
void ath_stream_close(ath_stream *self); /* NULL is allowed */

/* As many bytes as are at hand, at most `room` (> 0); *count = 0 at the end. ATH_CORRUPT for
 * compressed data that are damaged, cut short, or followed by something else. What a failure of
 * these two says begins behind the name of the file: who reads has more to say of the place. */
ath_status ath_stream_read(ath_stream *self, void *bytes, size_t room, size_t *count)
    ATH_MUST_CHECK;

/* Goes to byte `at` of what is read; in compressed data by unpacking again what comes before. */
ath_status ath_stream_seek(ath_stream *self, uint64_t at) ATH_MUST_CHECK;

/* How many of the file's own bytes have been taken, for a progress bar. */
uint64_t ath_stream_taken(const ath_stream *self);

#endif
