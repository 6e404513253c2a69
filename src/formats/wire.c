/* wire.c: reading fields of protocol-buffer messages that come from outside. */
#include "formats/wire.h"

#include <assert.h>

enum { VARINT_BYTES_MAX = 10, GROUP_DEPTH_MAX = 16 };

ath_status ath_wire_varint_fault(const ath_wire *self) {
  if (ath_wire_left(self) >= VARINT_BYTES_MAX)
    return ath_fail(ATH_CORRUPT, "a varint is longer than %d bytes", VARINT_BYTES_MAX);
  return ath_fail(ATH_CORRUPT, "the message ends inside a varint");
}

static ath_status read_tag(ath_wire *self, ath_wire_field *field) {
  uint64_t tag;
  ATH_TRY(ath_wire_varint(self, &tag));
  if (tag > UINT32_MAX || tag >> 3 == 0)
    return ath_fail(ATH_CORRUPT, "a message has the impossible tag %llu", (unsigned long long)tag);
  field->number = (uint32_t)(tag >> 3);
  field->kind = (ath_wire_kind)(tag & 7);
  return ATH_OK;
}

static ath_status read_bytes(ath_wire *self, ath_wire *inside) {
  uint64_t length;
  ATH_TRY(ath_wire_varint(self, &length));
  if (length > ath_wire_left(self))
    return ath_fail(ATH_CORRUPT, "a field of %llu bytes has only %zu left in its message",
                    (unsigned long long)length, ath_wire_left(self));
  *inside = ath_wire_make(self->at, (size_t)length);
  self->at += length;
  assert(self->at <= self->end);
  return ATH_OK;
}

static ath_status read_fixed(ath_wire *self, size_t size, uint64_t *value) {
  assert(size == 4 || size == 8);
  if (ath_wire_left(self) < size)
    return ath_fail(ATH_CORRUPT, "the message ends inside a number of %zu bytes", size);
  *value = size == 4 ? ath_load_u32(self->at) : ath_load_u64(self->at);
  self->at += size;
  return ATH_OK;
}

static ath_status read_field(ath_wire *self, ath_wire_field *field, int depth);

static ath_status skip_group(ath_wire *self, uint32_t number, int depth) {
  if (depth > GROUP_DEPTH_MAX)
    return ath_fail(ATH_CORRUPT, "groups are nested deeper than %d", GROUP_DEPTH_MAX);
  while (self->at < self->end) {
    ath_wire_field field;
    ATH_TRY(read_field(self, &field, depth));
    if (field.kind == ATH_WIRE_GROUP_END && field.number == number) return ATH_OK;
    if (field.kind == ATH_WIRE_GROUP_END) break;
  }
  return ath_fail(ATH_CORRUPT, "group %u is not closed", (unsigned)number);
}

static ath_status read_field(ath_wire *self, ath_wire_field *field, int depth) {
  ATH_TRY(read_tag(self, field));
  switch (field->kind) {
    case ATH_WIRE_VARINT: return ath_wire_varint(self, &field->value);
    case ATH_WIRE_64: return read_fixed(self, 8, &field->value);
    case ATH_WIRE_32: return read_fixed(self, 4, &field->value);
    case ATH_WIRE_BYTES: return read_bytes(self, &field->inside);
    case ATH_WIRE_GROUP: return skip_group(self, field->number, depth + 1);
    case ATH_WIRE_GROUP_END: return ATH_OK;
  }
  return ath_fail(ATH_CORRUPT, "field %u is of the unknown kind %d", (unsigned)field->number,
                  (int)field->kind);
}

ath_status ath_wire_next_any(ath_wire *self, ath_wire_field *field) {
  assert(self->at < self->end);
  ATH_TRY(read_field(self, field, 0));
  if (field->kind == ATH_WIRE_GROUP_END)
    return ath_fail(ATH_CORRUPT, "a group ends that did not begin");
  return ATH_OK;
}
