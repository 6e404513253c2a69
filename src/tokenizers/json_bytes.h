/* json_bytes.h: the bytes of JSON's strings, eight at once. */
#ifndef ATHANOR_TOKENIZERS_JSON_BYTES_H
#define ATHANOR_TOKENIZERS_JSON_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ATH_EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bit of each byte that is 0. Those above the lowest that is may be set as well (Mycroft
 * 1987), so that the lowest alone counts. */
static inline uint64_t ath_zero_bytes(uint64_t bytes) {
  return (bytes - ATH_EACH_BYTE(1)) & ~bytes & ATH_EACH_BYTE(0x80);
}

static inline uint64_t ath_eight_bytes(const char *at) {
  uint64_t bytes;
  memcpy(&bytes, at, sizeof bytes);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
  bytes = __builtin_bswap64(bytes);
#endif
  return bytes;
}

/* Of eight bytes, those that are quotes or backslashes; and with these, those that are control
 * characters or not ASCII. The place of the first is what counts. */
static inline uint64_t ath_string_ends(uint64_t bytes) {
  return ath_zero_bytes(bytes ^ ATH_EACH_BYTE('"')) | ath_zero_bytes(bytes ^ ATH_EACH_BYTE('\\'));
}

static inline uint64_t ath_string_stops(uint64_t bytes) {
  uint64_t controls = (bytes - ATH_EACH_BYTE(0x20)) & ~bytes;
  return ath_string_ends(bytes) | ((controls | bytes) & ATH_EACH_BYTE(0x80));
}

static inline size_t ath_first_byte(uint64_t found) { return (size_t)__builtin_ctzll(found) / 8; }

#endif
