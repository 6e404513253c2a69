/* layer_norm.c: layer normalisation of residual + dropout(x + bias), one pass over memory. */
#include "kernels/isa/dropout.h"

/* row = residual + dropout(x + bias), with what is absent left out at compile time. */
INLINE void compose(const bool has_bias, const bool has_residual, const bool drops,
                    const float *x, const float *bias, const float *residual, float *row,
                    int64_t width, uint32_t index, ath_dropout_key2 dropout) {
#pragma omp simd
  for (int64_t j = 0; j < width; j++) {
    float value = has_bias ? x[j] + bias[j] : x[j];
    if (drops) value *= kept(index + (uint32_t)j, dropout);
    row[j] = has_residual ? residual[j] + value : value;
  }
}

static void compose_row(const float *x, const float *bias, const float *residual, float *row,
                        int64_t width, uint32_t index, ath_dropout_key2 dropout) {
  int shape = (bias != NULL) << 2 | (residual != NULL) << 1 | (dropout.threshold != 0);
#define CASE(number)                                                                       \
  case number:                                                                             \
    compose(number & 4, number & 2, number & 1, x, bias, residual, row, width, index, dropout); \
    break;
  switch (shape) { CASE(0) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) }
#undef CASE
}

/* The mean and 1/deviation of a row, in two passes, since Σx² − (Σx)²/n cancels. The second
 * also finds by how much the first mean was off. */
INLINE void moments(const float *row, int64_t width, float epsilon, float *mean, float *rstd) {
  float sum = 0, off = 0, square = 0, n = (float)width;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < width; j++) sum += row[j];
  float middle = sum / n;
#pragma omp simd reduction(+ : off, square)
  for (int64_t j = 0; j < width; j++) {
    float d = row[j] - middle;
    off += d;
    square += d * d;
  }
  off /= n;
  float variance = square / n - off * off;
  *mean = middle + off;
  *rstd = 1 / sqrtf((variance > 0 ? variance : 0) + epsilon);
}

void KERNEL(layer_norm)(const float *x, const float *bias, const float *residual,
                        const float *gamma, const float *beta, float *z, float *y, float *mean,
                        float *rstd, int64_t rows, int64_t width, float epsilon,
                        ath_dropout_key2 dropout) {
  assert(width > 0 && x != NULL && y != NULL);
  bool plain = bias == NULL && residual == NULL && dropout.threshold == 0 && z == NULL;
#pragma omp parallel for schedule(static) if (rows * width > PARALLEL_MINIMUM)
  for (int64_t i = 0; i < rows; i++) {
    const float *row = x + i * width;
    float *out = y + i * width, *composed = z != NULL ? z + i * width : out;
    if (!plain) {
      compose_row(row, bias, residual != NULL ? residual + i * width : NULL, composed, width,
                  first_of_row(i, width, &dropout), dropout);
      row = composed;
    }
    moments(row, width, epsilon, &mean[i], &rstd[i]);
    float middle = mean[i], inverse = rstd[i];
#pragma omp simd
    for (int64_t j = 0; j < width; j++) out[j] = (row[j] - middle) * inverse * gamma[j] + beta[j];
  }
}

/* --- backward ------------------------------------------------------------------------------ */

/* The partial sums over one part of the rows. */
typedef struct sums {
  float *gamma, *beta, *bias;
} sums;

/* With n the normalised row and g = dy * gamma: dz = rstd (g − mean(g) − n mean(g n)). */
INLINE void slope_row(const float *z, const float *gamma, float mean, float rstd, const float *dy,
                      float *dz, sums total, int64_t width) {
  float sum_g = 0, sum_gn = 0;
#pragma omp simd reduction(+ : sum_g, sum_gn)
  for (int64_t j = 0; j < width; j++) {
    float n = (z[j] - mean) * rstd, g = dy[j] * gamma[j];
    total.gamma[j] += dy[j] * n;
    total.beta[j] += dy[j];
    sum_g += g;
    sum_gn += g * n;
  }
  sum_g /= (float)width;
  sum_gn /= (float)width;
#pragma omp simd
  for (int64_t j = 0; j < width; j++)
    dz[j] = rstd * (dy[j] * gamma[j] - sum_g - (z[j] - mean) * rstd * sum_gn);
}

/* dx = dz through the dropout mask, and its sum over rows; either may be absent. */
INLINE void through_dropout(const float *dz, float *dx, float *dbias, int64_t width,
                            uint32_t index, ath_dropout_key2 dropout) {
  if (dx != NULL && dropout.threshold != 0) {
#pragma omp simd
    for (int64_t j = 0; j < width; j++) dx[j] = dz[j] * kept(index + (uint32_t)j, dropout);
  } else if (dx != NULL && dx != dz) {
    memcpy(dx, dz, sizeof(float) * (size_t)width);
  }
  if (dbias == NULL) return;
  if (dx == NULL && dropout.threshold != 0) {
#pragma omp simd
    for (int64_t j = 0; j < width; j++) dbias[j] += dz[j] * kept(index + (uint32_t)j, dropout);
  } else {
    const float *from = dx != NULL ? dx : dz;
#pragma omp simd
    for (int64_t j = 0; j < width; j++) dbias[j] += from[j];
  }
}

void KERNEL(layer_norm_backward)(const float *z, const float *gamma, const float *mean,
                                 const float *rstd, const float *dy, float *dz, float *dx,
                                 float *dgamma, float *dbeta, float *dbias, int64_t rows,
                                 int64_t width, ath_dropout_key2 dropout, float *scratch) {
  assert(width > 0 && dz != NULL && scratch != NULL);
  const int64_t size = ATH_ROW_BLOCKS * width;
  memset(scratch, 0, sizeof(float) * (size_t)(3 * size));
#pragma omp parallel for schedule(static) if (rows * width > PARALLEL_MINIMUM)
  for (int part = 0; part < ATH_ROW_BLOCKS; part++) {
    sums total = {scratch + part * width, scratch + size + part * width,
                  scratch + 2 * size + part * width};
    int64_t end = cut(rows, part + 1, ATH_ROW_BLOCKS);
    for (int64_t i = cut(rows, part, ATH_ROW_BLOCKS); i < end; i++) {
      int64_t at = i * width;
      slope_row(z + at, gamma, mean[i], rstd[i], dy + at, dz + at, total, width);
      through_dropout(dz + at, dx != NULL ? dx + at : NULL, dbias != NULL ? total.bias : NULL,
                      width, first_of_row(i, width, &dropout), dropout);
    }
  }
  add_parts(scratch, width, dgamma);
  add_parts(scratch + size, width, dbeta);
  if (dbias != NULL) add_parts(scratch + 2 * size, width, dbias);
}
