/* reference.c: every kernel once, in the plainest C that says what it computes. Sums run in
 * double. The fast kernels are held against these; nothing else uses them. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "kernels/table.h"

/* The index of a row's first element, as dropout counts. */
static int64_t first_of_row(int64_t row, int64_t width, ath_dropout_key2 dropout) {
  return (dropout.rows != NULL ? dropout.rows[row] : row) * width;
}

/* What dropout multiplies element `index` by: 0 or the scale. */
static float kept(int64_t index, ath_dropout_key2 dropout) {
  if (dropout.threshold == 0) return 1;
  return ath_dropout_hash((uint32_t)index, dropout.key) >= dropout.threshold ? dropout.scale : 0;
}

/* --- elementwise -------------------------------------------------------------------------- */

void ath_add_reference(const float *a, const float *b, float *y, int64_t n, int64_t b_period) {
  for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i % b_period];
}

void ath_multiply_reference(const float *a, const float *b, float *y, int64_t n,
                            int64_t b_period) {
  for (int64_t i = 0; i < n; i++) y[i] = a[i] * b[i % b_period];
}

void ath_scale_reference(const float *x, float factor, float *y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = x[i] * factor;
}

void ath_dropout_reference(const float *x, float *y, int64_t rows, int64_t width,
                           ath_dropout_key2 dropout) {
  for (int64_t i = 0; i < rows * width; i++)
    y[i] = x[i] * kept(first_of_row(i / width, width, dropout) + i % width, dropout);
}

/* act(x) and act'(x). */
static double activate(double x, int kind, double *slope) {
  const double root_half = 0.70710678118654752440, root_2_over_pi = 0.79788456080286535588;
  switch (kind) {
    case ATH_KERNEL_GELU: {
      double phi = 0.5 * erfc(-x * root_half);
      *slope = phi + x * 0.5 * root_2_over_pi * exp(-0.5 * x * x);
      return x * phi;
    }
    case ATH_KERNEL_GELU_TANH: {
      double t = tanh(root_2_over_pi * (x + 0.044715 * x * x * x));
      double inner = root_2_over_pi * (1 + 3 * 0.044715 * x * x);
      *slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner;
      return 0.5 * x * (1 + t);
    }
    case ATH_KERNEL_RELU:
      *slope = x > 0;
      return x < 0 ? 0 : x;
    case ATH_KERNEL_SILU: {
      double s = 1 / (1 + exp(-x));
      *slope = s + x * s * (1 - s);
      return x * s;
    }
    default: {
      assert(kind == ATH_KERNEL_TANH);
      double t = tanh(x);
      *slope = 1 - t * t;
      return t;
    }
  }
}

void ath_activation_reference(const float *x, const float *bias, float *y, int64_t rows,
                              int64_t width, int kind) {
  double slope;
  for (int64_t i = 0; i < rows * width; i++)
    y[i] = (float)activate(x[i] + (bias != NULL ? bias[i % width] : 0), kind, &slope);
}

void ath_activation_backward_reference(const float *x, const float *bias, const float *dy,
                                       float *dx, int64_t rows, int64_t width, int kind) {
  for (int64_t i = 0; i < rows * width; i++) {
    double slope;
    activate(x[i] + (bias != NULL ? bias[i % width] : 0), kind, &slope);
    dx[i] = (float)(dy[i] * slope);
  }
}

/* --- sums --------------------------------------------------------------------------------- */

void ath_reduce_rows_reference(const float *x, float *y, int64_t rows, int64_t width,
                               float *scratch) {
  (void)scratch;
  for (int64_t j = 0; j < width; j++) {
    double total = 0;
    for (int64_t i = 0; i < rows; i++) total += x[i * width + j];
    y[j] = (float)total;
  }
}

double ath_sum_reference(const float *x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i++) total += x[i];
  return total;
}

double ath_sum_of_squares_reference(const float *x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i++) total += (double)x[i] * x[i];
  return total;
}

/* --- layer normalisation ------------------------------------------------------------------- */

void ath_layer_norm_reference(const float *x, const float *bias, const float *residual,
                              const float *gamma, const float *beta, float *z, float *y,
                              float *mean, float *rstd, int64_t rows, int64_t width,
                              float epsilon, ath_dropout_key2 dropout) {
  for (int64_t i = 0; i < rows; i++) {
    float *row = z != NULL ? z + i * width : y + i * width;
    double total = 0, square = 0;
    for (int64_t j = 0; j < width; j++) {
      float value = x[i * width + j] + (bias != NULL ? bias[j] : 0);
      value *= kept(first_of_row(i, width, dropout) + j, dropout);
      row[j] = residual != NULL ? residual[i * width + j] + value : value;
      total += row[j];
    }
    double middle = total / (double)width;
    for (int64_t j = 0; j < width; j++) square += (row[j] - middle) * (row[j] - middle);
    double inverse = 1 / sqrt(square / (double)width + epsilon);
    for (int64_t j = 0; j < width; j++)
      y[i * width + j] = (float)((row[j] - middle) * inverse * gamma[j] + beta[j]);
    mean[i] = (float)middle;
    rstd[i] = (float)inverse;
  }
}

/* With n the normalised row and g = dy * gamma: dz = rstd (g − mean(g) − n mean(g n)). */
void ath_layer_norm_backward_reference(const float *z, const float *gamma, const float *mean,
                                       const float *rstd, const float *dy, float *dz, float *dx,
                                       float *dgamma, float *dbeta, float *dbias, int64_t rows,
                                       int64_t width, ath_dropout_key2 dropout, float *scratch) {
  (void)scratch;
  memset(dgamma, 0, sizeof(float) * (size_t)width);
  memset(dbeta, 0, sizeof(float) * (size_t)width);
  if (dbias != NULL) memset(dbias, 0, sizeof(float) * (size_t)width);
  for (int64_t i = 0; i < rows; i++) {
    double sum_g = 0, sum_gn = 0;
    for (int64_t j = 0; j < width; j++) {
      double n = ((double)z[i * width + j] - mean[i]) * rstd[i];
      double g = (double)dy[i * width + j] * gamma[j];
      sum_g += g;
      sum_gn += g * n;
    }
    for (int64_t j = 0; j < width; j++) {
      int64_t at = i * width + j;
      double n = ((double)z[at] - mean[i]) * rstd[i], d = dy[at];
      dgamma[j] += (float)(d * n);
      dbeta[j] += (float)d;
      double slope = rstd[i] * (d * gamma[j] - (sum_g + n * sum_gn) / (double)width);
      dz[at] = (float)slope;
      float through = (float)slope * kept(first_of_row(i, width, dropout) + j, dropout);
      if (dx != NULL) dx[at] = through;
      if (dbias != NULL) dbias[j] += through;
    }
  }
}

/* --- attention ----------------------------------------------------------------------------- */

/* One query row: its place in the batch and what belongs to it. */
typedef struct attention_row {
  const float *q, *k, *v; /* this query; the first key and value of this head */
  const int32_t *mask;
  int64_t stride;         /* floats between neighbouring keys */
  int64_t index;          /* dropout's index of key 0 */
  int64_t output;         /* place of the row in out */
  int64_t statistic;      /* place of the row in lse */
} attention_row;

static attention_row row_of(const float *qkv, const int32_t *mask, ath_attention_shape s,
                            int64_t b, int64_t h, int64_t i) {
  int64_t hidden = s.heads * s.head_size;
  const float *base = qkv + b * s.length * 3 * hidden + h * s.head_size;
  int64_t statistic = (b * s.heads + h) * s.length + i;
  return (attention_row){.q = base + i * 3 * hidden, .k = base + hidden, .v = base + 2 * hidden,
                         .mask = mask + b * s.length, .stride = 3 * hidden,
                         .index = statistic * s.length,
                         .output = (b * s.length + i) * hidden + h * s.head_size,
                         .statistic = statistic};
}

static double dot(const float *a, const float *b, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i++) total += (double)a[i] * b[i];
  return total;
}

/* The scaled score of key j, or −∞ where the mask hides it. */
static double score(const attention_row *row, ath_attention_shape s, int64_t j) {
  if (row->mask[j] == 0) return -INFINITY;
  return dot(row->q, row->k + j * row->stride, s.head_size) / sqrt((double)s.head_size);
}

size_t ath_attention_scratch_reference(ath_attention_shape shape, int backward) {
  (void)shape, (void)backward;
  return 0;
}

static void attend(const attention_row *row, ath_attention_shape s, ath_dropout_key2 dropout,
                   float *out, float *lse) {
  double highest = -INFINITY, total = 0;
  for (int64_t j = 0; j < s.length; j++) highest = fmax(highest, score(row, s, j));
  memset(out, 0, sizeof(float) * (size_t)s.head_size);
  *lse = 0; /* what a row without keys keeps; the mask hides it in the backward pass */
  if (highest == -INFINITY) return;
  for (int64_t j = 0; j < s.length; j++) total += exp(score(row, s, j) - highest);
  *lse = (float)(highest + log(total));
  for (int64_t d = 0; d < s.head_size; d++) {
    double value = 0;
    for (int64_t j = 0; j < s.length; j++)
      value += exp(score(row, s, j) - highest) / total * kept(row->index + j, dropout) *
               row->v[j * row->stride + d];
    out[d] = (float)value;
  }
}

void ath_attention_reference(const float *qkv, const int32_t *mask, float *out, float *lse,
                             ath_attention_shape shape, ath_dropout_key2 dropout, void *scratch) {
  (void)scratch;
  for (int64_t b = 0; b < shape.batch; b++)
    for (int64_t h = 0; h < shape.heads; h++)
      for (int64_t i = 0; i < shape.length; i++) {
        attention_row row = row_of(qkv, mask, shape, b, h, i);
        attend(&row, shape, dropout, out + row.output, lse + row.statistic);
      }
}

/* dP = dropout(dO Vᵀ); dS = P ∘ (dP − rowsum(dO ∘ O)); dQ = dS K, dK = dSᵀ Q, dV = drop(P)ᵀ dO.
 * dq, dk and dv are the places in dqkv that belong to this query and to key 0. */
static void attend_backward(const attention_row *row, ath_attention_shape s,
                            ath_dropout_key2 dropout, const float *out, float lse,
                            const float *dout, float *dq, float *dk, float *dv) {
  double correction = dot(dout, out, s.head_size), factor = 1 / sqrt((double)s.head_size);
  for (int64_t j = 0; j < s.length; j++) {
    if (row->mask[j] == 0) continue;
    int64_t at = j * row->stride;
    double p = exp(score(row, s, j) - lse), keep = kept(row->index + j, dropout);
    double ds = p * (keep * dot(dout, row->v + at, s.head_size) - correction) * factor;
    for (int64_t d = 0; d < s.head_size; d++) {
      dq[d] += (float)(ds * row->k[at + d]);
      dk[at + d] += (float)(ds * row->q[d]);
      dv[at + d] += (float)(p * keep * dout[d]);
    }
  }
}

void ath_attention_backward_reference(const float *qkv, const int32_t *mask, const float *out,
                                      const float *lse, const float *dout, float *dqkv,
                                      ath_attention_shape shape, ath_dropout_key2 dropout,
                                      void *scratch) {
  (void)scratch;
  int64_t hidden = shape.heads * shape.head_size;
  memset(dqkv, 0, sizeof(float) * (size_t)(shape.batch * shape.length * 3 * hidden));
  for (int64_t b = 0; b < shape.batch; b++)
    for (int64_t h = 0; h < shape.heads; h++)
      for (int64_t i = 0; i < shape.length; i++) {
        attention_row row = row_of(qkv, mask, shape, b, h, i);
        attend_backward(&row, shape, dropout, out + row.output, lse[row.statistic],
                        dout + row.output, dqkv + (row.q - qkv), dqkv + (row.k - qkv),
                        dqkv + (row.v - qkv));
      }
}

/* --- rows ----------------------------------------------------------------------------------- */

int64_t ath_gather_reference(const float *table, int64_t rows, int64_t width, const int32_t *ids,
                             int64_t n, float *y) {
  for (int64_t i = 0; i < n; i++) {
    if (ids[i] < 0 || ids[i] >= rows) return i;
    memcpy(y + i * width, table + ids[i] * width, sizeof(float) * (size_t)width);
  }
  return -1;
}

void ath_scatter_add_reference(float *dtable, int64_t rows, int64_t width, const int32_t *ids,
                               int64_t n, const float *dy, int64_t padding_index) {
  memset(dtable, 0, sizeof(float) * (size_t)(rows * width));
  for (int64_t i = 0; i < n; i++) {
    if (ids[i] == padding_index) continue;
    assert(ids[i] >= 0 && ids[i] < rows);
    for (int64_t j = 0; j < width; j++) dtable[ids[i] * width + j] += dy[i * width + j];
  }
}

/* --- loss ----------------------------------------------------------------------------------- */

int64_t ath_cross_entropy_reference(const float *logits, const int32_t *labels,
                                    const float *weights, int64_t n, int64_t classes, float *lse,
                                    float out3[3]) {
  double loss = 0, weight = 0, correct = 0;
  for (int64_t i = 0; i < n; i++) {
    lse[i] = 0;
    if (weights[i] == 0) continue;
    if (labels[i] < 0 || labels[i] >= classes) return i;
    const float *row = logits + i * classes;
    int64_t best = 0;
    for (int64_t j = 1; j < classes; j++)
      if (row[j] > row[best]) best = j;
    double total = 0;
    for (int64_t j = 0; j < classes; j++) total += exp((double)row[j] - row[best]);
    double log_sum = row[best] + log(total);
    lse[i] = (float)log_sum;
    loss += weights[i] * (log_sum - row[labels[i]]);
    weight += weights[i];
    correct += best == labels[i] ? weights[i] : 0;
  }
  out3[0] = (float)loss;
  out3[1] = (float)weight;
  out3[2] = (float)correct;
  return -1;
}

void ath_cross_entropy_backward_reference(const float *logits, const int32_t *labels,
                                          const float *weights, const float *lse, float dloss,
                                          int64_t n, int64_t classes, float *dlogits) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < classes; j++) {
      int64_t at = i * classes + j;
      double slope = 0;
      if (weights[i] != 0)
        slope = (exp((double)logits[at] - lse[i]) - (j == labels[i])) * weights[i] * dloss;
      dlogits[at] = (float)slope;
    }
}

/* --- optimiser ------------------------------------------------------------------------------ */

void ath_adamw_reference(float *p, float *m, float *v, const float *g, int64_t n,
                         float gradient_scale, float rate, float correction1, float correction2,
                         float beta1, float beta2, float epsilon, float weight_decay) {
  for (int64_t i = 0; i < n; i++) {
    double slope = (double)g[i] * gradient_scale;
    double m1 = (double)beta1 * m[i] + (1 - (double)beta1) * slope;
    double v1 = (double)beta2 * v[i] + (1 - (double)beta2) * slope * slope;
    double decayed = p[i] * (1 - (double)rate * weight_decay);
    p[i] = (float)(decayed - rate * (m1 / correction1) / (sqrt(v1 / correction2) + epsilon));
    m[i] = (float)m1;
    v[i] = (float)v1;
  }
}
