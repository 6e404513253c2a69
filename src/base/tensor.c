/* tensor.c: element types and shapes. */
#include "athanor/tensor.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static const struct { const char *name; size_t size; } dtypes[ATH_DTYPE_COUNT] = {
  [ATH_F32] = {"f32", 4}, [ATH_BF16] = {"bf16", 2}, [ATH_I32] = {"i32", 4}, [ATH_U32] = {"u32", 4},
};

size_t ath_dtype_size(ath_dtype dtype) {
  assert(dtype < ATH_DTYPE_COUNT);
  return dtypes[dtype].size;
}

const char *ath_dtype_name(ath_dtype dtype) {
  assert(dtype < ATH_DTYPE_COUNT);
  return dtypes[dtype].name;
}

ath_type ath_type_make(ath_dtype dtype, int rank, ...) {
  assert(rank >= 0 && rank <= ATH_MAX_RANK);
  ath_type type = {.dtype = dtype, .rank = rank};
  va_list dims;
  va_start(dims, rank);
  for (int i = 0; i < rank; i++) type.dims[i] = va_arg(dims, int);
  va_end(dims);
  return type;
}

bool ath_type_equal(const ath_type *a, const ath_type *b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

int64_t ath_type_count(const ath_type *type) {
  int64_t count = 1;
  for (int i = 0; i < type->rank; i++) count *= type->dims[i];
  return count;
}

size_t ath_type_bytes(const ath_type *type) {
  return (size_t)ath_type_count(type) * ath_dtype_size(type->dtype);
}

const char *ath_type_text(const ath_type *type, char out[96]) {
  int at = snprintf(out, 96, "%s[", ath_dtype_name(type->dtype));
  for (int i = 0; i < type->rank && at < 96; i++)
    at += snprintf(out + at, (size_t)(96 - at), "%s%lld", i > 0 ? ", " : "",
                   (long long)type->dims[i]);
  if (at < 96) snprintf(out + at, (size_t)(96 - at), "]");
  return out;
}
