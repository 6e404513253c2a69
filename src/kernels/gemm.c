/* gemm.c: plans of matrix products, by our blocked product or by oneDNN. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/onednn.h"
#include "kernels/own.h"

struct ath_gemm {
  ath_gemm_shape shape;
  const own_gemm *own;  /* used where `onednn` is NULL */
  onednn_gemm *onednn;
};

/* Ours unless ATHANOR_GEMM=onednn. */
static ath_status wants_onednn(int *out) {
  const char *wanted = getenv("ATHANOR_GEMM");
  *out = 0;
  if (wanted == NULL || wanted[0] == '\0' || strcmp(wanted, "own") == 0) return ATH_OK;
  if (strcmp(wanted, "onednn") != 0)
    return ath_fail(ATH_USAGE, "ATHANOR_GEMM=%s: expected own or onednn", wanted);
  *out = 1;
  return ATH_OK;
}

static ath_status plan(ath_gemm *self) {
  int onednn;
  ATH_TRY(wants_onednn(&onednn));
  int empty = self->shape.m == 0 || self->shape.n == 0 || self->shape.k == 0;
  if (onednn && !empty) return onednn_gemm_create(self->shape, &self->onednn);
  return own_gemm_get(&self->own);
}

ath_status ath_gemm_create(ath_gemm_shape shape, ath_gemm **out) {
  assert(shape.m >= 0 && shape.n >= 0 && shape.k >= 0);
  ath_gemm *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the plan of a product");
  self->shape = shape;
  ath_status status = plan(self);
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

size_t ath_gemm_scratch(const ath_gemm *self) {
  return self->onednn != NULL ? onednn_gemm_scratch(self->onednn)
                              : self->own->scratch(self->shape);
}

ath_status ath_gemm_run(const ath_gemm *self, const float *a, const float *b, const float *bias,
                        float *c, void *scratch) {
  assert(!self->shape.bias || bias != NULL);
  if (self->onednn != NULL) return onednn_gemm_run(self->onednn, a, b, bias, c, scratch);
  self->own->run(self->shape, a, b, bias, c, scratch);
  return ATH_OK;
}
