/* cross_entropy.c: softmax cross entropy of chosen rows, summed in ATH_ROW_BLOCKS fixed parts. */
#include "kernels/isa/functions.h"

INLINE float highest_of(const float *x, int64_t n) {
  float highest = -INFINITY;
#pragma omp simd reduction(max : highest)
  for (int64_t j = 0; j < n; j++) highest = x[j] > highest ? x[j] : highest;
  return highest;
}

INLINE float log_sum_exp(const float *x, int64_t n, float highest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; j++) sum += exp_of(x[j] - highest);
  return highest + logf(sum);
}

/* Whether the label is the lowest id with the highest logit. */
static bool is_first_highest(const float *x, int64_t label, float highest) {
  if (x[label] != highest) return false;
  for (int64_t j = 0; j < label; j++)
    if (x[j] == highest) return false;
  return true;
}

static int64_t first_bad_label(const int32_t *labels, const float *weights, int64_t n,
                               int64_t classes) {
  for (int64_t i = 0; i < n; i++)
    if (weights[i] != 0 && (labels[i] < 0 || labels[i] >= classes)) return i;
  return -1;
}

int64_t KERNEL(cross_entropy)(const float *logits, const int32_t *labels, const float *weights,
                              int64_t n, int64_t classes, float *lse, float out3[3]) {
  assert(classes > 0);
  int64_t bad = first_bad_label(labels, weights, n, classes);
  if (bad >= 0) return bad;
  double sums[ATH_ROW_BLOCKS][3] = {{0}};
#pragma omp parallel for schedule(dynamic) if (n * classes > PARALLEL_MINIMUM)
  for (int part = 0; part < ATH_ROW_BLOCKS; part++) {
    double loss = 0, weight = 0, correct = 0;
    int64_t end = cut(n, part + 1, ATH_ROW_BLOCKS);
    for (int64_t i = cut(n, part, ATH_ROW_BLOCKS); i < end; i++) {
      lse[i] = 0;
      if (weights[i] == 0) continue;
      const float *row = logits + i * classes;
      float highest = highest_of(row, classes);
      lse[i] = log_sum_exp(row, classes, highest);
      loss += (double)weights[i] * ((double)lse[i] - row[labels[i]]);
      weight += weights[i];
      correct += is_first_highest(row, labels[i], highest) ? weights[i] : 0;
    }
    sums[part][0] = loss, sums[part][1] = weight, sums[part][2] = correct;
  }
  for (int k = 0; k < 3; k++) {
    double total = 0;
    for (int part = 0; part < ATH_ROW_BLOCKS; part++) total += sums[part][k];
    out3[k] = (float)total;
  }
  return -1;
}

void KERNEL(cross_entropy_backward)(const float *logits, const int32_t *labels,
                                    const float *weights, const float *lse, float dloss,
                                    int64_t n, int64_t classes, float *dlogits) {
#pragma omp parallel for schedule(dynamic) if (n * classes > PARALLEL_MINIMUM)
  for (int64_t i = 0; i < n; i++) {
    const float *row = logits + i * classes;
    float *out = dlogits + i * classes, factor = weights[i] * dloss, log_sum = lse[i];
    if (weights[i] == 0) {
      memset(out, 0, sizeof(float) * (size_t)classes);
      continue;
    }
    assert(labels[i] >= 0 && labels[i] < classes);
#pragma omp simd
    for (int64_t j = 0; j < classes; j++) out[j] = exp_of(row[j] - log_sum) * factor;
    out[labels[i]] -= factor;
  }
}
