/* crc32c_streams.h: the loop around a processor's CRC-32C instruction, for the files that name
 * one. They define, before including this:
 *
 *     CRC_TARGET             the attribute that allows the instruction
 *     CRC_STEP_8(s, byte)    the register after one more byte
 *     CRC_STEP_64(s, word)   … after eight more
 *
 * The instruction gives a result every cycle, but only three cycles after it began. Three blocks
 * side by side keep it busy; the two earlier results are then moved past the blocks that follow
 * them (crc(A B) = shift(crc(A)) ^ crc(B), Gopal et al., "Fast CRC computation for iSCSI
 * polynomial using CRC32 instruction", Intel 2011). */
#include <string.h>

#include "base/crc32c.h"

static inline uint32_t past(const ath_crc32c_shift *shift, uint32_t state) {
  return shift->of[0][state & 255] ^ shift->of[1][state >> 8 & 255] ^
         shift->of[2][state >> 16 & 255] ^ shift->of[3][state >> 24];
}

static inline uint64_t word_at(const uint8_t *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

/* Three blocks of `size` bytes. */
CRC_TARGET
static inline uint32_t three_blocks(uint32_t state, const uint8_t *bytes, size_t size,
                                    const ath_crc32c_shift *shift) {
  uint32_t first = state, second = 0, third = 0;
  for (size_t i = 0; i < size; i += 8) {
    first = CRC_STEP_64(first, word_at(bytes + i));
    second = CRC_STEP_64(second, word_at(bytes + size + i));
    third = CRC_STEP_64(third, word_at(bytes + 2 * size + i));
  }
  return past(shift, past(shift, first) ^ second) ^ third;
}

CRC_TARGET
uint32_t ath_crc32c_instruction(uint32_t state, const uint8_t *bytes, size_t count) {
  if (count >= 3 * ATH_CRC32C_SHORT) {
    const ath_crc32c_shifts *shifts = ath_crc32c_shifts_get();
    for (; count >= 3 * ATH_CRC32C_LONG; count -= 3 * ATH_CRC32C_LONG) {
      state = three_blocks(state, bytes, ATH_CRC32C_LONG, &shifts->over_long);
      bytes += 3 * ATH_CRC32C_LONG;
    }
    for (; count >= 3 * ATH_CRC32C_SHORT; count -= 3 * ATH_CRC32C_SHORT) {
      state = three_blocks(state, bytes, ATH_CRC32C_SHORT, &shifts->over_short);
      bytes += 3 * ATH_CRC32C_SHORT;
    }
  }
  for (; count >= 8; bytes += 8, count -= 8) state = CRC_STEP_64(state, word_at(bytes));
  for (; count > 0; bytes++, count--) state = CRC_STEP_8(state, *bytes);
  return state;
}
