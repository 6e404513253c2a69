/* crc32c.c: CRC-32C (Castagnoli), the checksum of TFRecord files (RFC 3720, appendix B.4).
 *
 * Three versions that agree: bit by bit from the definition, slicing-by-8 with tables (Kounavis
 * and Berry, "A systematic approach to building high performance software-based CRC generators",
 * ISCC 2005), and the processor's instruction, in a file for each processor. */
#include "base/crc32c.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "athanor/tfrecord.h"

static const uint32_t polynomial = 0x82f63b78; /* lowest bit first: x^0 is the top bit */
static uint32_t slices[8][256]; /* slices[k][b]: byte b followed by k zero bytes */
static ath_crc32c_factors factors;
static pthread_once_t once = PTHREAD_ONCE_INIT;

uint32_t ath_crc32c_plain(uint32_t state, const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    state ^= bytes[i];
    for (int bit = 0; bit < 8; bit++)
      state = (state >> 1) ^ ((state & 1) ? polynomial : 0);
  }
  return state;
}

/* The product of two polynomials modulo that of the checksum. */
static uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (int bit = 31; bit >= 0; bit--) {
    if (a >> bit & 1) product ^= b;
    b = (b >> 1) ^ ((b & 1) ? polynomial : 0);
  }
  return product;
}

static uint32_t power_of_x(int exponent) {
  assert(exponent >= 0 && exponent < 64);
  uint32_t power = UINT32_C(1) << 31;
  while (exponent-- > 0) power = multiply(power, UINT32_C(1) << 30);
  return power;
}

uint32_t ath_crc32c_shift_plain(uint32_t state, uint64_t bytes) {
  for (uint32_t factor = power_of_x(8); bytes > 0; bytes >>= 1) {
    if (bytes & 1) state = multiply(factor, state);
    factor = multiply(factor, factor);
  }
  return state;
}

/* A carry-less product of two such numbers, taken as a word of the message, is their product by
 * x^33; so that the factor past 64 n bits is x^(64 n − 33). */
static void make_factors(void) {
  uint32_t word = power_of_x(31);
  for (int n = 1; n <= 2 * ATH_CRC32C_BLOCK; n++) {
    factors.words[n] = word;
    word = ath_crc32c_shift_plain(word, 8);
  }
  factors.powers[0] = power_of_x(31);
  uint32_t x33 = power_of_x(33);
  for (int k = 1; k < ATH_CRC32C_POWERS; k++)
    factors.powers[k] = multiply(x33, multiply(factors.powers[k - 1], factors.powers[k - 1]));
}

static void make_tables(void) {
  static const uint8_t zero;
  for (uint32_t value = 0; value < 256; value++) {
    slices[0][value] = ath_crc32c_plain(value, &zero, 1);
    for (int k = 1; k < 8; k++)
      slices[k][value] = ath_crc32c_plain(slices[k - 1][value], &zero, 1);
  }
  assert(slices[0][128] == polynomial); /* the top bit of a byte meets nothing but zeros */
  make_factors();
}

const ath_crc32c_factors *ath_crc32c_factors_get(void) {
  pthread_once(&once, make_tables);
  return &factors;
}

uint32_t ath_crc32c_tables(uint32_t state, const uint8_t *bytes, size_t count) {
  pthread_once(&once, make_tables);
  for (; count >= 8; bytes += 8, count -= 8) {
    uint32_t low, high;
    memcpy(&low, bytes, 4);
    memcpy(&high, bytes + 4, 4);
    low ^= state;
    state = slices[7][low & 255] ^ slices[6][low >> 8 & 255] ^ slices[5][low >> 16 & 255] ^
            slices[4][low >> 24] ^ slices[3][high & 255] ^ slices[2][high >> 8 & 255] ^
            slices[1][high >> 16 & 255] ^ slices[0][high >> 24];
  }
  for (; count > 0; bytes++, count--) state = (state >> 8) ^ slices[0][(state ^ *bytes) & 255];
  return state;
}

static bool by_instruction(void) {
  static int known = -1; /* every thread finds the same, so a race is harmless */
  int fast = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (fast < 0) {
    fast = ath_crc32c_has_instruction();
    __atomic_store_n(&known, fast, __ATOMIC_RELAXED);
  }
  return fast;
}

uint32_t ath_crc32c(uint32_t crc, const void *bytes, size_t count) {
  return ~(by_instruction() ? ath_crc32c_instruction : ath_crc32c_tables)(~crc, bytes, count);
}

/* The inversions before and after cancel out: the first register's shift takes those of both. */
uint32_t ath_crc32c_join(uint32_t first, uint32_t second, uint64_t second_bytes) {
  uint32_t moved = by_instruction() ? ath_crc32c_shift_instruction(first, second_bytes)
                                    : ath_crc32c_shift_plain(first, second_bytes);
  return moved ^ second;
}

uint32_t ath_crc32c_masked(const void *bytes, size_t count) {
  return ath_crc32c_mask(ath_crc32c(0, bytes, count));
}
