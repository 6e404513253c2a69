/* bf16.h: bf16, the upper half of an f32: 1 sign bit, 8 of exponent, 7 of fraction.
 *
 *   f32   s eeeeeeee fffffff|ffffffffffffffff
 *   bf16  s eeeeeeee fffffff */
#ifndef ATHANOR_BASE_BF16_H
#define ATHANOR_BASE_BF16_H

#include <stdint.h>
#include <string.h>

static inline float ath_bf16_to_float(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* To the nearest, ties to even; beyond the largest it is an infinity. A NaN stays one: it keeps its
 * upper bits and is made quiet, for rounding could carry its fraction into the exponent or lose it.
 */
static inline uint16_t ath_bf16_from_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
  uint32_t quiet = bits >> 16 | 0x40u;
  return (uint16_t)((bits & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded);
}

#endif
