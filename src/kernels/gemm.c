/* gemm.c: plans of matrix products. */
#include <assert.h>
#include <stdlib.h>

#include "kernels/onednn.h"

struct ath_gemm {
  ath_gemm_shape shape;
  onednn_gemm *onednn;
};

ath_status ath_gemm_create(ath_gemm_shape shape, ath_gemm **out) {
  ath_gemm *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the plan of a product");
  self->shape = shape;
  ath_status status = onednn_gemm_create(shape, &self->onednn);
  if (status != ATH_OK) {
    ath_gemm_destroy(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_gemm_destroy(ath_gemm *self) {
  if (self == NULL) return;
  onednn_gemm_destroy(self->onednn);
  free(self);
}

size_t ath_gemm_scratch(const ath_gemm *self) { return onednn_gemm_scratch(self->onednn); }

ath_status ath_gemm_run(const ath_gemm *self, const float *a, const float *b, const float *bias,
                        float *c, void *scratch) {
  return onednn_gemm_run(self->onednn, a, b, bias, c, scratch);
}
