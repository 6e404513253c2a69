/* varints.c: lists of varints: the plain versions, and the choice. */
#include "formats/varints.h"

#include <assert.h>

#include "formats/wire.h"

/* A negative number is written as 64 bits. */
static uint64_t as_varint(int32_t value) { return (uint64_t)(int64_t)value; }

size_t ath_varints_size_plain(const int32_t *values, size_t count) {
  size_t size = 0;
  for (size_t i = 0; i < count; i++) size += ath_wire_varint_size(as_varint(values[i]));
  return size;
}

uint8_t *ath_varints_put_plain(uint8_t *out, size_t size, const int32_t *values, size_t count) {
  uint8_t *end = out + size;
  for (size_t i = 0; i < count; i++) out = ath_wire_put_varint(out, as_varint(values[i]));
  assert(out == end);
  return end;
}

void ath_varints_take_plain(const uint8_t *bytes, size_t length, size_t *at, int32_t *values,
                            size_t capacity, size_t *count) {
  while (*at < length && *count < capacity) {
    uint32_t value = 0;
    size_t used = 0;
    uint8_t byte = 128;
    for (; byte >= 128 && used < 4 && *at + used < length; used++) {
      byte = bytes[*at + used];
      value |= (uint32_t)(byte & 127) << (7 * used);
    }
    if (byte >= 128) return;
    values[(*count)++] = (int32_t)value;
    *at += used;
  }
}

#if !defined(__x86_64__)
bool ath_varints_has_fast(void) { return false; }
size_t ath_varints_size_fast(const int32_t *values, size_t count) {
  return ath_varints_size_plain(values, count);
}
uint8_t *ath_varints_put_fast(uint8_t *out, size_t size, const int32_t *values, size_t count) {
  return ath_varints_put_plain(out, size, values, count);
}
void ath_varints_take_fast(const uint8_t *bytes, size_t length, size_t *at, int32_t *values,
                           size_t capacity, size_t *count) {
  ath_varints_take_plain(bytes, length, at, values, capacity, count);
}
#endif

static bool use_fast(void) {
  static int known = -1; /* every thread finds the same, so a race is harmless */
  int fast = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (fast < 0) {
    fast = ath_varints_has_fast();
    __atomic_store_n(&known, fast, __ATOMIC_RELAXED);
  }
  return fast;
}

size_t ath_varints_size(const int32_t *values, size_t count) {
  return (use_fast() ? ath_varints_size_fast : ath_varints_size_plain)(values, count);
}

uint8_t *ath_varints_put(uint8_t *out, size_t size, const int32_t *values, size_t count) {
  return (use_fast() ? ath_varints_put_fast : ath_varints_put_plain)(out, size, values, count);
}

void ath_varints_take(const uint8_t *bytes, size_t length, size_t *at, int32_t *values,
                      size_t capacity, size_t *count) {
  if (use_fast()) ath_varints_take_fast(bytes, length, at, values, capacity, count);
  ath_varints_take_plain(bytes, length, at, values, capacity, count);
}
