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

typedef enum engine { ENGINE_BEST, ENGINE_OWN, ENGINE_ONEDNN } engine;

static ath_status wanted_engine(engine *out) {
  const char *wanted = getenv("ATHANOR_GEMM");
  *out = ENGINE_BEST;
  if (wanted == NULL || wanted[0] == '\0') return ATH_OK;
  if (strcmp(wanted, "own") == 0) *out = ENGINE_OWN;
  else if (strcmp(wanted, "onednn") == 0) *out = ENGINE_ONEDNN;
  else return ath_fail(ATH_USAGE, "ATHANOR_GEMM=%s: expected own or onednn", wanted);
  return ATH_OK;
}

/* The rule, by measurement on AVX2 (Zen 3, FMA peak 95 GFLOP/s a thread; calls of both in turn on
 * data outside the caches, medians, in GFLOP/s of one thread, oneDNN 2.6.3 second):
 *   forward 1024 x 2304 x 768: 75, 72      dx 4096 x 256 x 1024: 72, 56
 *   forward 200 x 32000 x 768: 59, 50      dw 3072 x 768 x 1024: 72, 65
 *   Ours gives the same bits for any number of threads and spares loading a library of 40 MB.
 *   AVX-512: oneDNN reaches 93 % of the peak there (Zen 4); ours has not been measured. */
static int prefers_onednn(const own_gemm *own) {
#if defined __x86_64__
  return own == &own_gemm_avx512;
#else
  return own == NULL;
#endif
}

static ath_status plan(ath_gemm *self) {
  engine wanted;
  ATH_TRY(wanted_engine(&wanted));
  ATH_TRY(own_gemm_get(&self->own));
  if (self->shape.m == 0 || self->shape.n == 0 || self->shape.k == 0) return ATH_OK;
  if (wanted == ENGINE_ONEDNN) return onednn_gemm_create(self->shape, &self->onednn);
  if (wanted == ENGINE_OWN || !prefers_onednn(self->own)) return ATH_OK;
  /* Ours serves where the library is not installed. */
  ath_status status = onednn_gemm_create(self->shape, &self->onednn);
  return status == ATH_UNSUPPORTED ? ATH_OK : status;
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
