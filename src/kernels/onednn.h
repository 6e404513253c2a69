/* onednn.h: matrix products by oneDNN's matmul primitive. Internal to kernels/. */
#ifndef ATHANOR_KERNELS_ONEDNN_H
#define ATHANOR_KERNELS_ONEDNN_H

#include "kernels/kernels.h"

typedef struct onednn_gemm onednn_gemm;

/* Plans the product. ATH_UNSUPPORTED if the library is not installed. */
ath_status onednn_gemm_create(ath_gemm_shape shape, onednn_gemm **out) ATH_MUST_CHECK;
void onednn_gemm_destroy(onednn_gemm *self); /* NULL is allowed */
size_t onednn_gemm_scratch(const onednn_gemm *self);
/* Not from two threads at once with the same plan. */
ath_status onednn_gemm_run(onednn_gemm *self, const float *a, const float *b, const float *bias,
                           float *c, void *scratch) ATH_MUST_CHECK;

#endif
