/* own.h: our blocked matrix product, one build per instruction set. Internal to kernels/. */
#ifndef ATHANOR_KERNELS_OWN_H
#define ATHANOR_KERNELS_OWN_H

#include "kernels/kernels.h"

typedef struct own_gemm {
  size_t (*scratch)(ath_gemm_shape shape); /* bytes */
  void (*run)(ath_gemm_shape shape, const float *a, const float *b, const float *bias, float *c,
              float *scratch);
} own_gemm;

/* One per instruction set, in isa/gemm.c. */
extern const own_gemm own_gemm_baseline, own_gemm_avx2, own_gemm_avx512;

/* The one that belongs to the table of ath_kernels_get; fails as that does. */
ath_status own_gemm_get(const own_gemm **out) ATH_MUST_CHECK;

#endif
