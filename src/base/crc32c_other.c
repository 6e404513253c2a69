/* crc32c_other.c: processors whose CRC-32C instruction is not used. */
#include "base/crc32c.h"

#if !defined(__x86_64__) && !defined(__aarch64__)

bool ath_crc32c_has_instruction(void) { return false; }

uint32_t ath_crc32c_instruction(uint32_t state, const uint8_t *bytes, size_t count) {
  return ath_crc32c_tables(state, bytes, count);
}

uint32_t ath_crc32c_shift_instruction(uint32_t state, uint64_t bytes) {
  return ath_crc32c_shift_plain(state, bytes);
}

#endif
