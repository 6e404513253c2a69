/* common.c: checks for shape rules, and what else the operations share. */
#include "ops/common.h"

#include <assert.h>

#include "base/random.h"

ath_status ath_want_float(const ath_type *type, const char *name) {
  char text[96];
  if (!ath_type_given(type)) return ath_fail(ATH_INVALID, "%s is missing", name);
  if (type->dtype == ATH_F32 || type->dtype == ATH_BF16) return ATH_OK;
  return ath_fail(ATH_INVALID, "%s is %s, not floating point", name, ath_type_text(type, text));
}

ath_status ath_want_dtype(const ath_type *type, const char *name, ath_dtype dtype) {
  char text[96];
  if (!ath_type_given(type)) return ath_fail(ATH_INVALID, "%s is missing", name);
  if (type->dtype == dtype) return ATH_OK;
  return ath_fail(ATH_INVALID, "%s is %s, not %s", name, ath_type_text(type, text),
                  ath_dtype_name(dtype));
}

ath_status ath_want_scalar(const ath_type *type, const char *name, ath_dtype dtype) {
  char text[96];
  ATH_TRY(ath_want_dtype(type, name, dtype));
  if (type->rank == 0) return ATH_OK;
  return ath_fail(ATH_INVALID, "%s is %s, not a scalar", name, ath_type_text(type, text));
}

ath_status ath_want_rows(const ath_type *type, const char *name) {
  ATH_TRY(ath_want_float(type, name));
  if (type->rank > 0) return ATH_OK;
  return ath_fail(ATH_INVALID, "%s is a scalar, not rows of columns", name);
}

ath_status ath_want_per_column(const ath_type *type, const char *name, const ath_type *of,
                               const char *of_name) {
  char texts[2][96];
  ATH_TRY(ath_want_float(type, name));
  if (type->rank == 1 && type->dims[0] == ath_type_columns(of) && type->dtype == ATH_F32)
    return ATH_OK;
  return ath_fail(ATH_INVALID, "%s is %s, but %s %s wants f32[%lld]", name,
                  ath_type_text(type, texts[0]), of_name, ath_type_text(of, texts[1]),
                  (long long)ath_type_columns(of));
}

ath_status ath_want_same(const ath_type *a, const char *a_name, const ath_type *b,
                         const char *b_name) {
  char texts[2][96];
  if (!ath_type_given(a)) return ath_fail(ATH_INVALID, "%s is missing", a_name);
  if (!ath_type_given(b)) return ath_fail(ATH_INVALID, "%s is missing", b_name);
  if (ath_type_equal(a, b)) return ATH_OK;
  return ath_fail(ATH_INVALID, "%s is %s, but %s is %s", a_name, ath_type_text(a, texts[0]),
                  b_name, ath_type_text(b, texts[1]));
}

ath_status ath_want_suffix(const ath_type *a, const char *a_name, const ath_type *b,
                           const char *b_name) {
  char texts[2][96];
  ATH_TRY(ath_want_float(a, a_name));
  ATH_TRY(ath_want_float(b, b_name));
  int leading = a->rank - b->rank;
  bool fits = leading >= 0 && a->dtype == b->dtype;
  for (int i = 0; fits && i < b->rank; i++) fits = b->dims[i] == a->dims[leading + i];
  if (fits) return ATH_OK;
  return ath_fail(ATH_INVALID, "%s %s cannot be repeated over %s %s", b_name,
                  ath_type_text(b, texts[0]), a_name, ath_type_text(a, texts[1]));
}

ath_status ath_infer_repeated(const void *attributes, const ath_type *inputs, int input_count,
                              ath_type *outputs, int output_count) {
  (void)attributes;
  assert(input_count == 2 && output_count == 1);
  ATH_TRY(ath_want_suffix(&inputs[0], "a", &inputs[1], "b"));
  outputs[0] = inputs[0];
  return ATH_OK;
}

int64_t ath_type_columns(const ath_type *type) {
  assert(type->rank > 0);
  return type->dims[type->rank - 1];
}

int64_t ath_type_rows(const ath_type *type) {
  return ath_type_count(type) / ath_type_columns(type);
}

ath_type ath_type_vector(int64_t n) {
  return (ath_type){.dtype = ATH_F32, .rank = 1, .dims = {n}};
}

/* --- dropout ------------------------------------------------------------------------ */

ath_status ath_want_dropout(const ath_dropout_place *place, const ath_type *step) {
  if (!(place->rate >= 0 && place->rate < 1))
    return ath_fail(ATH_INVALID, "a dropout rate of %g is not in 0 … 1 (1 excluded)",
                    (double)place->rate);
  if (place->rate > 0 && place->by_rows)
    return ath_fail(ATH_INVALID, "dropout by rows, where there are none");
  return place->rate > 0 ? ath_want_scalar(step, "the dropout step", ATH_U32) : ATH_OK;
}

ath_status ath_want_dropout_rows(const ath_dropout_place *place, const ath_type *step,
                                 const ath_type *rows, const ath_type *x) {
  char texts[2][96];
  ath_dropout_place plain = *place;
  plain.by_rows = false;
  ATH_TRY(ath_want_dropout(&plain, step));
  if (place->rate <= 0 || !place->by_rows) return ATH_OK;
  ATH_TRY(ath_want_dtype(rows, "the dropout rows", ATH_I32));
  if (x->rank == 2 && rows->rank == 1 && rows->dims[0] == x->dims[0]) return ATH_OK;
  return ath_fail(ATH_INVALID, "the dropout rows %s are not one for each row of x %s",
                  ath_type_text(rows, texts[0]), ath_type_text(x, texts[1]));
}

ath_value ath_dropout_rows(const ath_dropout_place *place) {
  return place->rate > 0 && place->by_rows ? place->rows : ATH_NO_VALUE;
}

float ath_dropout_scale(const ath_dropout_place *place) {
  return (float)(1.0 / (1.0 - (double)place->rate));
}

ath_dropout_key2 ath_dropout_at(const ath_dropout_place *place, const uint32_t *step) {
  ath_dropout_key2 dropout = {.scale = 1};
  if (place->rate <= 0) return dropout;
  assert(step != NULL && place->rate < 1);
  ath_dropout_key(place->seed, *step, place->site, dropout.key);
  dropout.threshold = ath_dropout_threshold((double)place->rate);
  dropout.scale = ath_dropout_scale(place);
  return dropout;
}

ath_dropout_key2 ath_dropout_at_rows(const ath_dropout_place *place, const uint32_t *step,
                                     const int32_t *rows) {
  ath_dropout_key2 dropout = ath_dropout_at(place, step);
  assert(place->rate <= 0 || place->by_rows == (rows != NULL));
  dropout.rows = rows;
  return dropout;
}

ath_status ath_dropout_describe(const ath_dropout_place *place, ath_buffer *out) {
  return ath_buffer_format(out, "dropout=%g site=%u", (double)place->rate, place->site);
}

/* --- gradients, fusion, memory ------------------------------------------------------ */

/* As a matrix with one row per repetition, so that one operation serves every shape. */
ath_value ath_reduce_to(ath_graph *g, ath_value x, ath_type type) {
  ath_type from = ath_graph_type(g, x);
  if (x == ATH_NO_VALUE || ath_type_equal(&from, &type)) return x;
  int64_t columns = ath_type_count(&type), rows = ath_type_count(&from) / columns;
  ath_type matrix = {.dtype = from.dtype, .rank = 2, .dims = {rows, columns}};
  ath_value sum = ath_reduce_rows(g, ath_reshape(g, x, matrix));
  return ath_reshape(g, ath_convert(g, sum, type.dtype), type);
}

const ath_node *ath_single_use(const ath_graph *g, ath_value value, const ath_op *op) {
  if (value == ATH_NO_VALUE || ath_graph_kind(g, value) != ATH_VALUE_RESULT) return NULL;
  const ath_node *node = ath_graph_producer(g, value);
  return node->op == op && ath_graph_uses(g, value) == 1 ? node : NULL;
}

size_t ath_row_sums_scratch(const ath_type *x, int sums) {
  assert(sums > 0);
  return (size_t)ath_type_columns(x) * ATH_ROW_BLOCKS * (size_t)sums * sizeof(float);
}

uint32_t ath_any_in_place(const ath_node *node, int output) {
  assert(output == 0 && node->input_count < 32);
  (void)output;
  return (1u << node->input_count) - 1;
}
