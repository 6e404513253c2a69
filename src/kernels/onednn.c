/* onednn.c: matrix products by oneDNN. The library is opened when the first plan asks for it:
 * linking it would cost every start of the program 2.5 ms (it is 40 MB with its relocations). */
#include "kernels/onednn.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include <oneapi/dnnl/dnnl.h>

#define FUNCTIONS(X)                                                                       \
  X(dnnl_engine_create) X(dnnl_stream_create) X(dnnl_memory_desc_init_by_strides)          \
  X(dnnl_matmul_desc_init) X(dnnl_primitive_attr_create) X(dnnl_primitive_attr_destroy)    \
  X(dnnl_primitive_attr_set_scratchpad_mode) X(dnnl_primitive_attr_set_post_ops)           \
  X(dnnl_post_ops_create) X(dnnl_post_ops_destroy) X(dnnl_post_ops_append_sum)             \
  X(dnnl_primitive_desc_create) X(dnnl_primitive_desc_destroy)                             \
  X(dnnl_primitive_desc_query_md) X(dnnl_memory_desc_get_size) X(dnnl_primitive_create)    \
  X(dnnl_primitive_destroy) X(dnnl_memory_create) X(dnnl_memory_destroy)                   \
  X(dnnl_memory_set_data_handle) X(dnnl_primitive_execute) X(dnnl_stream_wait)

/* The library's functions, its one engine and its one stream, opened once per process. */
static struct {
#define MEMBER(name) __typeof__(name) *name;
  FUNCTIONS(MEMBER)
#undef MEMBER
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  bool ready;
} library;

static void open_library(void) {
  void *handle = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return;
#define FIND(name)                                             \
  library.name = (__typeof__(name) *)dlsym(handle, #name);     \
  if (library.name == NULL) return;
  FUNCTIONS(FIND)
#undef FIND
  if (library.dnnl_engine_create(&library.engine, dnnl_cpu, 0) != dnnl_success) return;
  if (library.dnnl_stream_create(&library.stream, library.engine,
                                 dnnl_stream_default_flags) != dnnl_success) return;
  library.ready = true;
}

enum { PLACE_A, PLACE_B, PLACE_BIAS, PLACE_C, PLACE_SCRATCH, PLACES };
static const int argument_of[PLACES] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS,
                                        DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD};

struct onednn_gemm {
  dnnl_primitive_t primitive;
  dnnl_memory_t memory[PLACES]; /* NULL where the product has no such argument */
  size_t scratch;
};

static dnnl_memory_desc_t matrix(int64_t rows, int64_t columns, int transposed) {
  dnnl_memory_desc_t out;
  dnnl_dims_t dims = {rows, columns};
  dnnl_dims_t strides = {transposed ? 1 : columns, transposed ? rows : 1};
  dnnl_status_t status =
      library.dnnl_memory_desc_init_by_strides(&out, 2, dims, dnnl_f32, strides);
  assert(status == dnnl_success);
  (void)status;
  return out;
}

/* Scratch comes from the caller; accumulation is a sum after the product. */
static dnnl_status_t make_attributes(int accumulate, dnnl_primitive_attr_t *out) {
  dnnl_status_t status = library.dnnl_primitive_attr_create(out);
  if (status != dnnl_success) return status;
  status = library.dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
  if (status != dnnl_success || !accumulate) return status;
  dnnl_post_ops_t after;
  status = library.dnnl_post_ops_create(&after);
  if (status != dnnl_success) return status;
  status = library.dnnl_post_ops_append_sum(after, 1.0f);
  if (status == dnnl_success) status = library.dnnl_primitive_attr_set_post_ops(*out, after);
  library.dnnl_post_ops_destroy(after);
  return status;
}

static dnnl_status_t plan(onednn_gemm *self, ath_gemm_shape s) {
  dnnl_memory_desc_t descs[PLACES] = {
      [PLACE_A] = matrix(s.m, s.k, s.transpose_a), [PLACE_B] = matrix(s.k, s.n, s.transpose_b),
      [PLACE_BIAS] = matrix(1, s.n, 0), [PLACE_C] = matrix(s.m, s.n, 0)};
  dnnl_primitive_attr_t attributes = NULL;
  dnnl_primitive_desc_t primitive = NULL;
  dnnl_matmul_desc_t product;
  dnnl_status_t status =
      library.dnnl_matmul_desc_init(&product, &descs[PLACE_A], &descs[PLACE_B],
                                    s.bias ? &descs[PLACE_BIAS] : NULL, &descs[PLACE_C]);
  if (status == dnnl_success) status = make_attributes(s.accumulate, &attributes);
  if (status == dnnl_success)
    status = library.dnnl_primitive_desc_create(&primitive, &product, attributes, library.engine,
                                                NULL);
  if (status == dnnl_success)
    status = library.dnnl_primitive_create(&self->primitive, primitive);
  if (status == dnnl_success) {
    descs[PLACE_SCRATCH] =
        *library.dnnl_primitive_desc_query_md(primitive, dnnl_query_scratchpad_md, 0);
    self->scratch = library.dnnl_memory_desc_get_size(&descs[PLACE_SCRATCH]);
  }
  for (int i = 0; i < PLACES && status == dnnl_success; i++) {
    if ((i == PLACE_BIAS && !s.bias) || (i == PLACE_SCRATCH && self->scratch == 0)) continue;
    status = library.dnnl_memory_create(&self->memory[i], &descs[i], library.engine,
                                        DNNL_MEMORY_NONE);
  }
  if (primitive != NULL) library.dnnl_primitive_desc_destroy(primitive);
  if (attributes != NULL) library.dnnl_primitive_attr_destroy(attributes);
  return status;
}

ath_status onednn_gemm_create(ath_gemm_shape shape, onednn_gemm **out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_library);
  if (!library.ready)
    return ath_fail(ATH_UNSUPPORTED, "libdnnl.so.2 cannot be opened or lacks a function; "
                    "install oneDNN 2.6 or set ATHANOR_GEMM=own");
  onednn_gemm *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the plan of a product");
  dnnl_status_t status = plan(self, shape);
  if (status != dnnl_success) {
    onednn_gemm_destroy(self);
    return ath_fail(ATH_INTERNAL, "oneDNN cannot plan a product of %lld x %lld x %lld (status %d)",
                    (long long)shape.m, (long long)shape.n, (long long)shape.k, (int)status);
  }
  *out = self;
  return ATH_OK;
}

void onednn_gemm_destroy(onednn_gemm *self) {
  if (self == NULL) return;
  for (int i = 0; i < PLACES; i++)
    if (self->memory[i] != NULL) library.dnnl_memory_destroy(self->memory[i]);
  if (self->primitive != NULL) library.dnnl_primitive_destroy(self->primitive);
  free(self);
}

size_t onednn_gemm_scratch(const onednn_gemm *self) { return self->scratch; }

ath_status onednn_gemm_run(onednn_gemm *self, const float *a, const float *b, const float *bias,
                           float *c, void *scratch) {
  /* The library takes all pointers as void *, also those it only reads. */
  assert(scratch != NULL || self->scratch == 0);
  void *pointers[PLACES] = {(void *)(uintptr_t)a, (void *)(uintptr_t)b, (void *)(uintptr_t)bias,
                            c, scratch};
  dnnl_exec_arg_t arguments[PLACES];
  int count = 0;
  for (int i = 0; i < PLACES; i++) {
    if (self->memory[i] == NULL) continue;
    if (library.dnnl_memory_set_data_handle(self->memory[i], pointers[i]) != dnnl_success)
      return ath_fail(ATH_INTERNAL, "oneDNN does not take a pointer");
    arguments[count++] = (dnnl_exec_arg_t){argument_of[i], self->memory[i]};
  }
  dnnl_status_t status =
      library.dnnl_primitive_execute(self->primitive, library.stream, count, arguments);
  if (status == dnnl_success) status = library.dnnl_stream_wait(library.stream);
  if (status != dnnl_success)
    return ath_fail(ATH_INTERNAL, "a matrix product failed in oneDNN (status %d)", (int)status);
  return ATH_OK;
}
