/* dropout.h: dropout's hash in a form that `omp simd` loops take. */
#ifndef ATHANOR_KERNELS_DROPOUT_H
#define ATHANOR_KERNELS_DROPOUT_H

#include "base/random.h"
#include "kernels/isa/isa.h"

/* What dropout multiplies the element by: 0 or the scale; with threshold 0 always the scale,
 * which is then expected to be 1. */
INLINE float kept(uint32_t index, ath_dropout_key2 dropout) {
  return ath_dropout_hash(index, dropout.key) >= dropout.threshold ? dropout.scale : 0;
}

/* The index of the first element of row `row`, modulo 2^32. */
INLINE uint32_t first_of_row(int64_t row, int64_t width, const ath_dropout_key2 *dropout) {
  return (uint32_t)((dropout->rows != NULL ? dropout->rows[row] : row) * width);
}

#endif
