/* tfrecord_frame.h: the bytes around a record, shared by shards and event files. */
#ifndef ATHANOR_FORMATS_TFRECORD_FRAME_H
#define ATHANOR_FORMATS_TFRECORD_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum { ATH_TFRECORD_HEAD = 12, ATH_TFRECORD_TAIL = 4 };

typedef struct ath_tfrecord_frame {
  uint8_t head[ATH_TFRECORD_HEAD]; /* length and its checksum */
  uint8_t tail[ATH_TFRECORD_TAIL]; /* the data's checksum */
} ath_tfrecord_frame;

ath_tfrecord_frame ath_tfrecord_frame_make(const void *bytes, size_t length);
/* The same for data whose CRC-32C is known. */
ath_tfrecord_frame ath_tfrecord_frame_around(size_t length, uint32_t crc);

#endif
