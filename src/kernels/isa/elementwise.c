/* elementwise.c: sums, products, dropout and the activations, with their slopes. */
#include "kernels/isa/dropout.h"
#include "kernels/isa/functions.h"

enum { CHUNK = 4096 }; /* elements of one work item */

/* Runs `body` over [begin, begin + count) of n elements, in chunks dealt to the threads. */
#define FOR_CHUNKS(n, begin, count)                                                       \
  _Pragma("omp parallel for schedule(static) if (n > PARALLEL_MINIMUM)")                  \
  for (int64_t begin = 0; begin < n; begin += CHUNK)                                      \
    for (int64_t count = minimum(CHUNK, n - begin); count > 0; count = 0)

/* --- binary operations -------------------------------------------------------------------- */

INLINE float combine(bool product, float a, float b) { return product ? a * b : a + b; }

/* y = a ∘ b where b repeats: element i meets b[i % period]. */
INLINE void binary(const bool product, const float *a, const float *b, float *y, int64_t n,
                   int64_t period) {
  assert(period > 0);
  FOR_CHUNKS(n, begin, count) {
    int64_t end = begin + count;
    for (int64_t i = begin, place = begin % period; i < end;) {
      int64_t run = minimum(period - place, end - i);
#pragma omp simd
      for (int64_t j = 0; j < run; j++) y[i + j] = combine(product, a[i + j], b[place + j]);
      i += run;
      place = 0;
    }
  }
}

void KERNEL(add)(const float *a, const float *b, float *y, int64_t n, int64_t b_period) {
  binary(false, a, b, y, n, b_period);
}

void KERNEL(multiply)(const float *a, const float *b, float *y, int64_t n, int64_t b_period) {
  binary(true, a, b, y, n, b_period);
}

void KERNEL(scale)(const float *x, float factor, float *y, int64_t n) {
  FOR_CHUNKS(n, begin, count) {
#pragma omp simd
    for (int64_t i = begin; i < begin + count; i++) y[i] = x[i] * factor;
  }
}

static void drop_in_rows(const float *x, float *y, int64_t rows, int64_t width,
                         ath_dropout_key2 dropout) {
#pragma omp parallel for schedule(static) if (rows * width > PARALLEL_MINIMUM)
  for (int64_t i = 0; i < rows; i++) {
    const float *from = x + i * width;
    float *to = y + i * width;
    uint32_t index = first_of_row(i, width, &dropout);
#pragma omp simd
    for (int64_t j = 0; j < width; j++) to[j] = from[j] * kept(index + (uint32_t)j, dropout);
  }
}

void KERNEL(dropout)(const float *x, float *y, int64_t rows, int64_t width,
                     ath_dropout_key2 dropout) {
  int64_t n = rows * width;
  if (dropout.threshold == 0) dropout.scale = 1;
  if (dropout.rows != NULL) {
    drop_in_rows(x, y, rows, width, dropout);
    return;
  }
  FOR_CHUNKS(n, begin, count) {
#pragma omp simd
    for (int64_t i = begin; i < begin + count; i++) y[i] = x[i] * kept((uint32_t)i, dropout);
  }
}

/* --- activations -------------------------------------------------------------------------- */

/* √(2/π) (x + 0.044715 x³) doubled: x * logistic of it is the tanh form of GELU, since
 * (1 + tanh u) / 2 = logistic(2u). */
INLINE float tanh_form(float x) { return 1.59576912f * x * (1 + 0.044715f * x * x); }

INLINE float activate(const int kind, float x) {
  float density;
  switch (kind) {
    case ATH_KERNEL_GELU: return x * normal_of(x, &density);
    case ATH_KERNEL_GELU_TANH: return x * logistic_of(tanh_form(x));
    case ATH_KERNEL_RELU: return x < 0 ? 0 : x; /* passes NaN */
    case ATH_KERNEL_SILU: return x * logistic_of(x);
    default: return tanh_of(x);
  }
}

INLINE float slope(const int kind, float x) {
  float density, s;
  switch (kind) {
    case ATH_KERNEL_GELU: s = normal_of(x, &density); return s + x * density;
    case ATH_KERNEL_GELU_TANH:
      s = logistic_of(tanh_form(x));
      return s + x * s * (1 - s) * 1.59576912f * (1 + 3 * 0.044715f * x * x);
    case ATH_KERNEL_RELU: return x > 0 ? 1 : 0;
    case ATH_KERNEL_SILU: s = logistic_of(x); return s + x * s * (1 - s);
    default: return 4 * logistic_of(2 * x) * logistic_of(-2 * x); /* 1 − tanh²: nothing cancels */
  }
}

/* One stretch of a row: y = act(x + bias), or y = dy act'(x + bias) where dy is given. */
INLINE void stretch(const int kind, const float *x, const float *bias, const float *dy, float *y,
                    int64_t n) {
  if (dy == NULL) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] = activate(kind, x[i] + bias[i]);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] = dy[i] * slope(kind, x[i] + bias[i]);
  }
}

/* `kind` becomes a constant, so that each has a loop of its own. It is chosen here, below the
 * parallel loop, because the compiler makes that loop's body a function before it inlines. */
static void stretch_of(int kind, const float *x, const float *bias, const float *dy, float *y,
                       int64_t n) {
  static const float zeros[CHUNK];
  if (bias == NULL) bias = zeros;
  switch (kind) {
    case ATH_KERNEL_GELU: stretch(ATH_KERNEL_GELU, x, bias, dy, y, n); break;
    case ATH_KERNEL_GELU_TANH: stretch(ATH_KERNEL_GELU_TANH, x, bias, dy, y, n); break;
    case ATH_KERNEL_RELU: stretch(ATH_KERNEL_RELU, x, bias, dy, y, n); break;
    case ATH_KERNEL_SILU: stretch(ATH_KERNEL_SILU, x, bias, dy, y, n); break;
    case ATH_KERNEL_TANH: stretch(ATH_KERNEL_TANH, x, bias, dy, y, n); break;
    default: assert(!"a known activation");
  }
}

static void all_rows(int kind, const float *x, const float *bias, const float *dy, float *y,
                     int64_t rows, int64_t width) {
  int64_t n = rows * width;
  FOR_CHUNKS(n, begin, count) {
    int64_t end = begin + count;
    for (int64_t i = begin, column = begin % width; i < end;) {
      int64_t run = minimum(width - column, end - i);
      stretch_of(kind, x + i, bias != NULL ? bias + column : NULL, dy != NULL ? dy + i : NULL,
                 y + i, run);
      i += run;
      column = 0;
    }
  }
}

void KERNEL(activation)(const float *x, const float *bias, float *y, int64_t rows, int64_t width,
                        int kind) {
  if (bias == NULL) width = rows * width, rows = 1;
  all_rows(kind, x, bias, NULL, y, rows, width);
}

void KERNEL(activation_backward)(const float *x, const float *bias, const float *dy, float *dx,
                                 int64_t rows, int64_t width, int kind) {
  if (bias == NULL) width = rows * width, rows = 1;
  all_rows(kind, x, bias, dy, dx, rows, width);
}
