/* wire.h: little-endian numbers, and the protocol buffers' wire format (protobuf.dev/programming-
 * guides/encoding): a message is a row of fields, each a varint tag (number << 3 | kind) followed
 * by
 *
 *     kind 0: a varint    1: 8 bytes    2: a varint length and that many bytes    5: 4 bytes
 */
#ifndef ATHANOR_FORMATS_WIRE_H
#define ATHANOR_FORMATS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "athanor/status.h"
#include "base/buffer.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files are mapped and used as they are: a little-endian machine is needed");

static inline uint32_t ath_load_u32(const void *bytes) {
  uint32_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

static inline uint64_t ath_load_u64(const void *bytes) {
  uint64_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

/* --- reading ------------------------------------------------------------------------------ */

typedef enum ath_wire_kind {
  ATH_WIRE_VARINT = 0, ATH_WIRE_64 = 1, ATH_WIRE_BYTES = 2,
  ATH_WIRE_GROUP = 3, ATH_WIRE_GROUP_END = 4, ATH_WIRE_32 = 5,
} ath_wire_kind;

/* What is left of a message. */
typedef struct ath_wire {
  const uint8_t *at, *end;
} ath_wire;

typedef struct ath_wire_field {
  uint32_t number;
  ath_wire_kind kind;
  uint64_t value;  /* of the number kinds */
  ath_wire inside; /* of ATH_WIRE_BYTES */
} ath_wire_field;

static inline ath_wire ath_wire_make(const void *bytes, size_t length) {
  const uint8_t *at = bytes;
  return (ath_wire){at, length > 0 ? at + length : at}; /* NULL + 0 is undefined */
}

static inline size_t ath_wire_left(const ath_wire *self) {
  return (size_t)(self->end - self->at);
}

/* The fault of a varint that does not end, with its failure text set. */
ath_status ath_wire_varint_fault(const ath_wire *self);

/* Reads a varint of at most ten bytes; bits past the 64th are dropped, as protobuf does. */
static inline ath_status ath_wire_varint(ath_wire *self, uint64_t *value) {
  uint64_t sum = 0;
  const uint8_t *at = self->at;
  for (int shift = 0; shift < 70 && at < self->end; shift += 7) {
    uint8_t byte = *at++;
    sum |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) {
      self->at = at;
      *value = sum;
      return ATH_OK;
    }
  }
  *value = 0;
  return ath_wire_varint_fault(self);
}

/* Reads the next field; groups (an abandoned kind) are passed over. ATH_CORRUPT when it is
 * malformed. There must be something left. */
ath_status ath_wire_next_any(ath_wire *self, ath_wire_field *field) ATH_MUST_CHECK;

/* The same, inline for what nearly all fields of our messages are: bytes, below 16 by number and
 * below 16,384 by length. */
static inline ATH_MUST_CHECK ath_status ath_wire_next(ath_wire *self, ath_wire_field *field) {
  const uint8_t *at = self->at;
  size_t left = ath_wire_left(self);
  if (left >= 3 && at[0] >= 8 && at[0] < 128 && (at[0] & 7) == ATH_WIRE_BYTES &&
      (at[1] < 128 || at[2] < 128)) {
    size_t head = at[1] < 128 ? 2 : 3;
    size_t length = at[1] < 128 ? at[1] : (at[1] & 127u) | (size_t)at[2] << 7;
    if (length <= left - head) {
      field->number = at[0] >> 3;
      field->kind = ATH_WIRE_BYTES;
      field->inside = (ath_wire){at + head, at + head + length};
      self->at = at + head + length;
      return ATH_OK;
    }
  }
  return ath_wire_next_any(self, field);
}

/* --- writing ------------------------------------------------------------------------------ */

static inline uint32_t ath_wire_tag(uint32_t number, ath_wire_kind kind) {
  return number << 3 | (uint32_t)kind;
}

/* Bytes that a varint takes. */
static inline size_t ath_wire_varint_size(uint64_t value) {
  int bits = 64 - __builtin_clzll(value | 1);
  return (size_t)(bits + 6) / 7;
}

/* Puts a varint at `out` and returns the place behind it. */
static inline uint8_t *ath_wire_put_varint(uint8_t *out, uint64_t value) {
  for (; value >= 128; value >>= 7) *out++ = (uint8_t)(value | 128);
  *out++ = (uint8_t)value;
  return out;
}

/* Puts the tag and the length that begin a field of bytes. */
static inline uint8_t *ath_wire_put_head(uint8_t *out, uint32_t number, uint64_t length) {
  out = ath_wire_put_varint(out, ath_wire_tag(number, ATH_WIRE_BYTES));
  return ath_wire_put_varint(out, length);
}

#endif
