/* crc32c.h: the ways to compute CRC-32C that ath_crc32c (athanor/tfrecord.h) chooses from.
 * All of them work on the raw register: the caller inverts it before and after. */
#ifndef ATHANOR_BASE_CRC32C_H
#define ATHANOR_BASE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bit after bit from the definition: the plain version that the others are tested against. */
uint32_t ath_crc32c_plain(uint32_t state, const uint8_t *bytes, size_t count);

/* Eight table look-ups for eight bytes, on any processor. */
uint32_t ath_crc32c_tables(uint32_t state, const uint8_t *bytes, size_t count);

/* The processor's instruction; only where ath_crc32c_has_instruction() says so. */
bool ath_crc32c_has_instruction(void);
uint32_t ath_crc32c_instruction(uint32_t state, const uint8_t *bytes, size_t count);

/* The form in which TFRecord stores a checksum: so that data which hold checksums themselves do not
 * make it degenerate. */
static inline uint32_t ath_crc32c_mask(uint32_t crc) {
  return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

/* The checksum of two runs of bytes, one behind the other, from the checksums of each: what a
 * file's own checksum takes of its records', which are computed anyway. */
uint32_t ath_crc32c_join(uint32_t first, uint32_t second, uint64_t second_bytes);

/* --- moving a register past bytes that it has not seen ---------------------------------------
 *
 * Appending n zero bytes multiplies the register, a polynomial modulo that of the checksum, by
 * x^(8n). By the definition, and by the instruction: a carry-less product with a factor from the
 * tables below, which one more step of the instruction reduces. */
uint32_t ath_crc32c_shift_plain(uint32_t state, uint64_t bytes);
uint32_t ath_crc32c_shift_instruction(uint32_t state, uint64_t bytes);

/* Words of eight bytes in the longest blocks that three instruction streams work at together. */
enum { ATH_CRC32C_BLOCK = 128, ATH_CRC32C_POWERS = 61 };

typedef struct ath_crc32c_factors {
  uint32_t words[2 * ATH_CRC32C_BLOCK + 1]; /* [n]: past n words, n > 0 */
  uint32_t powers[ATH_CRC32C_POWERS];       /* [k]: past 2^k words */
} ath_crc32c_factors;
const ath_crc32c_factors *ath_crc32c_factors_get(void);

#endif
