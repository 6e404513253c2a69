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

/* Lengths of the blocks that three instruction streams work on side by side. */
enum { ATH_CRC32C_LONG = 4096, ATH_CRC32C_SHORT = 128 };
_Static_assert(ATH_CRC32C_SHORT % 8 == 0 && ATH_CRC32C_LONG % 8 == 0, "blocks are whole words");

/* What appending a block of zero bytes does to the register, for each value of each of its four
 * bytes: moving one stream's result past the next stream's block is four look-ups. */
typedef struct ath_crc32c_shift {
  uint32_t of[4][256];
} ath_crc32c_shift;

typedef struct ath_crc32c_shifts {
  ath_crc32c_shift over_long, over_short;
} ath_crc32c_shifts;
const ath_crc32c_shifts *ath_crc32c_shifts_get(void);

#endif
