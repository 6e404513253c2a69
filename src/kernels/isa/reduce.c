/* reduce.c: sums over rows and over everything, in ATH_ROW_BLOCKS fixed parts, so that the order
 * of the additions does not depend on the number of threads. */
#include "kernels/isa/isa.h"

void KERNEL(reduce_rows)(const float *x, float *y, int64_t rows, int64_t width, float *scratch) {
  assert(rows >= 0 && width > 0 && scratch != NULL);
#pragma omp parallel for schedule(static) if (rows * width > PARALLEL_MINIMUM)
  for (int part = 0; part < ATH_ROW_BLOCKS; part++) {
    float *sum = scratch + part * width;
    memset(sum, 0, sizeof(float) * (size_t)width);
    for (int64_t i = cut(rows, part, ATH_ROW_BLOCKS); i < cut(rows, part + 1, ATH_ROW_BLOCKS); i++)
#pragma omp simd
      for (int64_t j = 0; j < width; j++) sum[j] += x[i * width + j];
  }
  add_parts(scratch, width, y);
}

/* Σ x, or Σ x² if `square`. */
INLINE double sum_all(const bool square, const float *x, int64_t n) {
  double sums[ATH_ROW_BLOCKS], total = 0;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MINIMUM)
  for (int part = 0; part < ATH_ROW_BLOCKS; part++) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = cut(n, part, ATH_ROW_BLOCKS); i < cut(n, part + 1, ATH_ROW_BLOCKS); i++)
      sum += square ? (double)x[i] * (double)x[i] : (double)x[i];
    sums[part] = sum;
  }
  for (int part = 0; part < ATH_ROW_BLOCKS; part++) total += sums[part];
  return total;
}

double KERNEL(sum)(const float *x, int64_t n) { return sum_all(false, x, n); }

double KERNEL(sum_of_squares)(const float *x, int64_t n) { return sum_all(true, x, n); }
