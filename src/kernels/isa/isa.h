/* isa.h: what the sources in isa/ share. They are compiled once per instruction set with
 * ATH_ISA = baseline, avx2 or avx512, which ends the name of every function; the width of a
 * vector follows from the compiler's flags. Most kernels are plain loops under `omp simd`; the
 * matrix kernels use GCC's vector types through the few names below. */
#ifndef ATHANOR_KERNELS_ISA_H
#define ATHANOR_KERNELS_ISA_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/table.h"

#define ISA_JOIN2(name, isa) ath_##name##_##isa
#define ISA_JOIN(name, isa) ISA_JOIN2(name, isa)
#define KERNEL(name) ISA_JOIN(name, ATH_ISA)

/* The types of all kernels of this instruction set. */
#define ISA_LIST(isa) ATH_KERNEL_LIST(ATH_KERNEL_DECLARE, isa)
ISA_LIST(ATH_ISA)

#define INLINE static inline __attribute__((always_inline))

/* Floats in a vector, and the register block of the matrix kernels: rows x two vectors. The rows
 * are as many as leave registers for the two vectors and a broadcast. */
#if defined __AVX512F__
enum { VEC = 16, GEMM_ROWS = 14, ATTENTION_ROWS = 8, WIDEST_PANEL = 32 };
#elif defined __AVX2__
enum { VEC = 8, GEMM_ROWS = 6, ATTENTION_ROWS = 6, WIDEST_PANEL = 16 };
#else
enum { VEC = 4, GEMM_ROWS = 6, ATTENTION_ROWS = 6, WIDEST_PANEL = 8 };
#endif
enum { BLOCK_COLUMNS = 2 * VEC, CACHE_LINE = 64 };

typedef float vec __attribute__((vector_size(sizeof(float) * VEC), may_alias));
typedef float vec_anywhere
    __attribute__((vector_size(sizeof(float) * VEC), may_alias, aligned(sizeof(float))));

INLINE vec load(const float *p) { return *(const vec_anywhere *)p; }
INLINE void store(float *p, vec x) { *(vec_anywhere *)p = x; }
INLINE vec load_aligned(const float *p) { return *(const vec *)p; }
INLINE void store_aligned(float *p, vec x) { *(vec *)p = x; }
INLINE vec splat(float x) { return x - (vec){0}; }

/* Below this many elements a kernel stays on the calling thread: waking the others costs more
 * than it saves. */
enum { PARALLEL_MINIMUM = 1 << 14 };

INLINE int64_t minimum(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
INLINE int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

/* y[j] = Σ of the ATH_ROW_BLOCKS rows of partial sums, in their order. */
static inline void add_parts(const float *parts, int64_t width, float *y) {
  memcpy(y, parts, sizeof(float) * (size_t)width);
  for (int part = 1; part < ATH_ROW_BLOCKS; part++)
#pragma omp simd
    for (int64_t j = 0; j < width; j++) y[j] += parts[part * width + j];
}

/* Where part `part` of `parts` begins when n things are cut evenly. */
INLINE int64_t cut(int64_t n, int64_t part, int64_t parts) { return n * part / parts; }

#endif
