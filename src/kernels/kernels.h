/* kernels.h: the arithmetic of the CPU engine, on plain pointers.
 *
 * The sources in src/kernels/isa/ are compiled once per instruction set (baseline x86-64-v2,
 * AVX2+FMA, AVX-512; portable C elsewhere) and one table is chosen at start-up, overridden by
 * ATHANOR_ISA=baseline|avx2|avx512 in the environment. All kernels parallelise inside with
 * OpenMP, allocate nothing, and give the same bits for the same inputs and thread count; those
 * that sum over rows cut the rows into ATH_ROW_BLOCKS fixed parts, so that they do not depend on
 * the thread count either. Matrices are row-major and dense.
 *
 * Beside each fast kernel stands a plain one in reference.c that says what it computes. */
#ifndef ATHANOR_KERNELS_H
#define ATHANOR_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

enum { ATH_ROW_BLOCKS = 16 };

/* Same order as ath_activation_kind in ops.h. */
enum { ATH_KERNEL_GELU, ATH_KERNEL_GELU_TANH, ATH_KERNEL_RELU, ATH_KERNEL_SILU, ATH_KERNEL_TANH };

typedef struct ath_dropout_key2 {
  uint32_t key[2];
  uint32_t threshold; /* 0: no dropout */
  float scale;        /* 1 / (1 − rate) */
  const int32_t *rows; /* row i is masked as row rows[i]; NULL: as row i. Not for attention */
} ath_dropout_key2;

typedef struct ath_attention_shape {
  int64_t batch, length, heads, head_size; /* hidden = heads * head_size */
} ath_attention_shape;

typedef struct ath_kernels {
  const char *isa; /* "AVX2" */

  /* --- elementwise, n elements ----------------------------------------------------------
   * y, or dx, may be the same memory as any input of n elements (never a part of one, and never a
   * bias or a repeated b): the plan of the CPU engine counts on it. Elsewhere outputs must not
   * overlap inputs but where it is said. */
  void (*add)(const float *a, const float *b, float *y, int64_t n, int64_t b_period);
  void (*multiply)(const float *a, const float *b, float *y, int64_t n, int64_t b_period);
  void (*scale)(const float *x, float factor, float *y, int64_t n);
  void (*dropout)(const float *x, float *y, int64_t rows, int64_t width,
                  ath_dropout_key2 dropout); /* n = rows * width */
  /* y = act(x + bias); bias [width] may be NULL; n = rows * width. The input x + bias is what
   * the backward pass recomputes from x and bias. */
  void (*activation)(const float *x, const float *bias, float *y, int64_t rows, int64_t width,
                     int kind);
  /* dx = dy * act'(x + bias) */
  void (*activation_backward)(const float *x, const float *bias, const float *dy, float *dx,
                              int64_t rows, int64_t width, int kind);

  /* --- sums ------------------------------------------------------------------------------ */
  /* y[width] = Σ_rows x[rows, width]; scratch of ATH_ROW_BLOCKS * width floats. */
  void (*reduce_rows)(const float *x, float *y, int64_t rows, int64_t width, float *scratch);
  /* Σ x and Σ x², in double, over fixed blocks. */
  double (*sum)(const float *x, int64_t n);
  double (*sum_of_squares)(const float *x, int64_t n);

  /* --- layer normalisation --------------------------------------------------------------- */
  /* z = residual + dropout(x + bias); y = (z − mean) * rstd * gamma + beta. residual, bias and z
   * may be NULL (z is needed for the backward pass when residual or bias or dropout is there;
   * without them the backward pass takes x itself), and z may be x or the residual. mean, rstd:
   * [rows]. */
  void (*layer_norm)(const float *x, const float *bias, const float *residual, const float *gamma,
                     const float *beta, float *z, float *y, float *mean, float *rstd,
                     int64_t rows, int64_t width, float epsilon, ath_dropout_key2 dropout);
  /* From dy and z: dz, dgamma[width], dbeta[width]; and, where not NULL, dx = dz through the
   * dropout mask and dbias[width] = Σ_rows dx. Scratch of 3 * ATH_ROW_BLOCKS * width floats. */
  void (*layer_norm_backward)(const float *z, const float *gamma, const float *mean,
                              const float *rstd, const float *dy, float *dz, float *dx,
                              float *dgamma, float *dbeta, float *dbias, int64_t rows,
                              int64_t width, ath_dropout_key2 dropout, float *scratch);

  /* --- attention ------------------------------------------------------------------------- */
  /* qkv [batch, length, 3 * hidden], mask i32 [batch, length], out [batch, length, hidden],
   * lse [batch, heads, length], 0 for a row without keys; element index of dropout as in ops.h.
   * scratch of attention_scratch(shape) bytes, 64-byte aligned. */
  size_t (*attention_scratch)(ath_attention_shape shape, int backward);
  void (*attention)(const float *qkv, const int32_t *mask, float *out, float *lse,
                    ath_attention_shape shape, ath_dropout_key2 dropout, void *scratch);
  void (*attention_backward)(const float *qkv, const int32_t *mask, const float *out,
                             const float *lse, const float *dout, float *dqkv,
                             ath_attention_shape shape, ath_dropout_key2 dropout, void *scratch);

  /* --- rows ------------------------------------------------------------------------------ */
  /* y[i] = table[ids[i]]; returns the index of the first id outside 0 … rows−1, or −1. */
  int64_t (*gather)(const float *table, int64_t rows, int64_t width, const int32_t *ids,
                    int64_t n, float *y);
  /* dtable += rows of dy (dtable is zeroed first); skips padding_index. Each thread owns a range
   * of columns, so that the order of additions is fixed. */
  void (*scatter_add)(float *dtable, int64_t rows, int64_t width, const int32_t *ids, int64_t n,
                      const float *dy, int64_t padding_index);

  /* --- loss ------------------------------------------------------------------------------ */
  /* Per row i of logits [n, classes] with weights[i] != 0: lse[i]; sums in out3: Σ weight * loss,
   * Σ weight, Σ weight * (argmax == label). Returns the first bad label's row or −1. */
  int64_t (*cross_entropy)(const float *logits, const int32_t *labels, const float *weights,
                           int64_t n, int64_t classes, float *lse, float out3[3]);
  /* dlogits = (softmax − onehot) * weight * dloss; zero rows where the weight is 0. dlogits may
   * be logits. */
  void (*cross_entropy_backward)(const float *logits, const int32_t *labels, const float *weights,
                                 const float *lse, float dloss, int64_t n, int64_t classes,
                                 float *dlogits);

  /* --- optimiser ------------------------------------------------------------------------- */
  void (*adamw)(float *p, float *m, float *v, const float *g, int64_t n, float gradient_scale,
                float rate, float correction1, float correction2, float beta1, float beta2,
                float epsilon, float weight_decay);
} ath_kernels;

/* The table for this machine. ATH_UNSUPPORTED if ATHANOR_ISA names one it cannot run. */
ath_status ath_kernels_get(const ath_kernels **out) ATH_MUST_CHECK;

/* The table of one instruction set, by the name ATHANOR_ISA takes; NULL where this machine cannot
 * run it. For tests, which hold every table that runs against the reference. */
const ath_kernels *ath_kernels_named(const char *isa);

/* --- matrix products (gemm.c) -------------------------------------------------------------- */

/* A product planned ahead: c[m, n] = op(a) op(b) (+ bias[n]) (+ c if accumulate); op = transpose
 * where asked. Matrices are dense. Running it allocates nothing: scratch of ath_gemm_scratch
 * bytes, 64-byte aligned, is the caller's. A plan runs once at a time. gemm.c says which engine
 * is taken, by measurement; ATHANOR_GEMM=own|onednn overrides. Ours gives the same bits for any
 * number of threads. */
typedef struct ath_gemm ath_gemm;
typedef struct ath_gemm_shape {
  int64_t m, n, k;
  int transpose_a, transpose_b;
  int bias;        /* 1: a bias of n floats is added to each row */
  int accumulate;  /* 1: adds to c */
} ath_gemm_shape;
ath_status ath_gemm_create(ath_gemm_shape shape, ath_gemm **out) ATH_MUST_CHECK;
void ath_gemm_destroy(ath_gemm *self);
size_t ath_gemm_scratch(const ath_gemm *self);
ath_status ath_gemm_run(const ath_gemm *self, const float *a, const float *b, const float *bias,
                        float *c, void *scratch) ATH_MUST_CHECK;

#endif
