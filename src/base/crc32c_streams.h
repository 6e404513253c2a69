/* crc32c_streams.h: the loop around a processor's CRC-32C instruction, for the files that name
 * one. They define, before including this:
 *
 *     CRC_TARGET             the attribute that allows the instructions
 *     CRC_STEP_8(s, byte)    the register after one more byte
 *     CRC_STEP_64(s, word)   … after eight more
 *     CRC_PRODUCT(a, b)      the carry-less product of two numbers of 32 bits
 *
 * The instruction gives a result every cycle, but only three cycles after it began. Three blocks
 * side by side keep it busy; the two earlier results are then moved past the blocks that follow
 * them (crc(A B) = shift(crc(A)) ^ crc(B), Gopal et al., "Fast CRC computation for iSCSI
 * polynomial using CRC32 instruction", Intel 2011). The blocks are as long as the bytes allow: a
 * record of 128 tokens is about 370 bytes. */
#include <string.h>

#include "base/crc32c.h"

enum { CRC_WORD = 8, CRC_LEAST = 4 }; /* words of a block below which one stream is as fast */

static inline uint64_t word_at(const uint8_t *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

CRC_TARGET
static inline uint32_t past(uint32_t state, uint32_t factor) {
  return CRC_STEP_64(0, CRC_PRODUCT(state, factor));
}

/* Three blocks of as many words. */
CRC_TARGET
static inline uint32_t three_blocks(uint32_t state, const uint8_t *bytes, size_t words,
                                    const uint32_t *factors) {
  uint32_t first = state, second = 0, third = 0;
  size_t size = words * CRC_WORD;
  for (size_t i = 0; i < size; i += CRC_WORD) {
    first = CRC_STEP_64(first, word_at(bytes + i));
    second = CRC_STEP_64(second, word_at(bytes + size + i));
    third = CRC_STEP_64(third, word_at(bytes + 2 * size + i));
  }
  return past(first, factors[2 * words]) ^ past(second, factors[words]) ^ third;
}

CRC_TARGET
uint32_t ath_crc32c_instruction(uint32_t state, const uint8_t *bytes, size_t count) {
  if (count >= 3 * CRC_LEAST * CRC_WORD) {
    const uint32_t *factors = ath_crc32c_factors_get()->words;
    for (size_t words; (words = count / (3 * CRC_WORD)) >= CRC_LEAST;) {
      if (words > ATH_CRC32C_BLOCK) words = ATH_CRC32C_BLOCK;
      state = three_blocks(state, bytes, words, factors);
      bytes += 3 * words * CRC_WORD;
      count -= 3 * words * CRC_WORD;
    }
  }
  for (; count >= CRC_WORD; bytes += CRC_WORD, count -= CRC_WORD)
    state = CRC_STEP_64(state, word_at(bytes));
  for (; count > 0; bytes++, count--) state = CRC_STEP_8(state, *bytes);
  return state;
}

CRC_TARGET
uint32_t ath_crc32c_shift_instruction(uint32_t state, uint64_t bytes) {
  const ath_crc32c_factors *factors = ath_crc32c_factors_get();
  uint64_t words = bytes / CRC_WORD;
  if (words > 0 && words <= 2 * ATH_CRC32C_BLOCK) {
    state = past(state, factors->words[words]);
  } else {
    for (int k = 0; words > 0; words >>= 1, k++)
      if (words & 1) state = past(state, factors->powers[k]);
  }
  for (bytes %= CRC_WORD; bytes > 0; bytes--) state = CRC_STEP_8(state, 0);
  return state;
}
