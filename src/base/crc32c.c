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

static const uint32_t polynomial = 0x82f63b78; /* lowest bit first */
static uint32_t slices[8][256]; /* slices[k][b]: byte b followed by k zero bytes */
static ath_crc32c_shifts shifts;
static pthread_once_t once = PTHREAD_ONCE_INIT;

uint32_t ath_crc32c_plain(uint32_t state, const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    state ^= bytes[i];
    for (int bit = 0; bit < 8; bit++)
      state = (state >> 1) ^ ((state & 1) ? polynomial : 0);
  }
  return state;
}

/* A linear map of the register as the images of its 32 bits. */
typedef struct bit_matrix {
  uint32_t image[32];
} bit_matrix;

static uint32_t apply(const bit_matrix *matrix, uint32_t state) {
  uint32_t sum = 0;
  for (int bit = 0; bit < 32; bit++)
    if (state >> bit & 1) sum ^= matrix->image[bit];
  return sum;
}

/* "Append `count` zero bytes" by squaring "append one": count is a power of two. */
static void make_shift(size_t count, ath_crc32c_shift *out) {
  assert(count > 0 && (count & (count - 1)) == 0);
  static const uint8_t zero;
  bit_matrix matrix;
  for (int bit = 0; bit < 32; bit++)
    matrix.image[bit] = ath_crc32c_plain(UINT32_C(1) << bit, &zero, 1);
  for (; count > 1; count /= 2) {
    bit_matrix twice;
    for (int bit = 0; bit < 32; bit++) twice.image[bit] = apply(&matrix, matrix.image[bit]);
    matrix = twice;
  }
  for (int byte = 0; byte < 4; byte++)
    for (uint32_t value = 0; value < 256; value++)
      out->of[byte][value] = apply(&matrix, value << (8 * byte));
}

static void make_tables(void) {
  static const uint8_t zero;
  for (uint32_t value = 0; value < 256; value++) {
    slices[0][value] = ath_crc32c_plain(value, &zero, 1);
    for (int k = 1; k < 8; k++)
      slices[k][value] = ath_crc32c_plain(slices[k - 1][value], &zero, 1);
  }
  assert(slices[0][128] == polynomial); /* the top bit of a byte meets nothing but zeros */
  make_shift(ATH_CRC32C_LONG, &shifts.over_long);
  make_shift(ATH_CRC32C_SHORT, &shifts.over_short);
}

const ath_crc32c_shifts *ath_crc32c_shifts_get(void) {
  pthread_once(&once, make_tables);
  return &shifts;
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

uint32_t ath_crc32c(uint32_t crc, const void *bytes, size_t count) {
  static int by_instruction = -1; /* every thread finds the same, so a race is harmless */
  int fast = __atomic_load_n(&by_instruction, __ATOMIC_RELAXED);
  if (fast < 0) {
    fast = ath_crc32c_has_instruction();
    __atomic_store_n(&by_instruction, fast, __ATOMIC_RELAXED);
  }
  return ~(fast ? ath_crc32c_instruction : ath_crc32c_tables)(~crc, bytes, count);
}

uint32_t ath_crc32c_masked(const void *bytes, size_t count) {
  uint32_t crc = ath_crc32c(0, bytes, count);
  return ((crc >> 15) | (crc << 17)) + UINT32_C(0xa282ead8);
}
