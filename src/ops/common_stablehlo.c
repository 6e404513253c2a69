/* common_stablehlo.c: f32 inside, sums over rows and columns, the dropout mask. */
#include "ops/common_stablehlo.h"

#include <assert.h>

#include "base/random.h"

/* --- inputs and outputs ------------------------------------------------------------- */

ath_hlo_value ath_hlo_in(const ath_hlo_call *call, int input) {
  assert(input >= 0 && input < call->node->input_count);
  ath_hlo_value x = call->inputs[input];
  if (!ath_hlo_given(x) || x.dtype == ATH_HLO_F32) return x;
  return ath_hlo_convert(call->hlo, x, ATH_HLO_F32);
}

void ath_hlo_out(const ath_hlo_call *call, int output, ath_hlo_value value) {
  assert(output >= 0 && output < call->node->output_count);
  const ath_type *type = &call->output_types[output];
  if (value.dtype != (ath_hlo_dtype)type->dtype)
    value = ath_hlo_convert(call->hlo, value, (ath_hlo_dtype)type->dtype);
  call->outputs[output] = ath_hlo_reshape(call->hlo, value, type->rank, type->dims);
}

/* --- arithmetic and sums ------------------------------------------------------------ */

ath_hlo_value ath_hlo_plus(ath_hlo *h, ath_hlo_value x, double number) {
  return ath_hlo_add(h, x, ath_hlo_constant(h, x.dtype, number));
}

ath_hlo_value ath_hlo_times(ath_hlo *h, ath_hlo_value x, double number) {
  return ath_hlo_multiply(h, x, ath_hlo_constant(h, x.dtype, number));
}

ath_hlo_value ath_hlo_add_bias(ath_hlo *h, ath_hlo_value x, ath_hlo_value bias) {
  if (!ath_hlo_given(bias)) return x;
  return ath_hlo_add(h, x, ath_hlo_broadcast_rows(h, bias, x));
}

/* Bits for the dimensions 0 … count − 1. */
static uint32_t leading(int count) { return count > 0 ? (1u << count) - 1 : 0; }

ath_hlo_value ath_hlo_reduce_columns(ath_hlo *h, const char *op, ath_hlo_value x) {
  if (x.rank == 0) return x; /* after a failure */
  return ath_hlo_reduce(h, op, x, 1u << (x.rank - 1));
}

ath_hlo_value ath_hlo_sum_rows(ath_hlo *h, ath_hlo_value x) {
  return x.rank > 1 ? ath_hlo_reduce(h, "add", x, leading(x.rank - 1)) : x;
}

ath_hlo_value ath_hlo_sum_all(ath_hlo *h, ath_hlo_value x) {
  return x.rank > 0 ? ath_hlo_reduce(h, "add", x, leading(x.rank)) : x;
}

ath_hlo_value ath_hlo_per_row(ath_hlo *h, ath_hlo_value statistic, ath_hlo_value x) {
  if (x.rank == 0) return x; /* after a failure */
  return ath_hlo_broadcast_columns(
      h, ath_hlo_reshape(h, statistic, x.rank - 1, x.dims), x);
}

ath_hlo_value ath_hlo_matrix(ath_hlo *h, ath_hlo_value x) {
  int64_t dims[2] = {1, x.rank > 0 ? x.dims[x.rank - 1] : 1};
  for (int i = 0; i + 1 < x.rank; i++) dims[0] *= x.dims[i];
  return ath_hlo_reshape(h, x, 2, dims);
}

ath_hlo_value ath_hlo_rows_in_parts(ath_hlo *h, ath_hlo_value x, int parts) {
  x = ath_hlo_matrix(h, x);
  int64_t dims[3] = {parts, x.rank == 2 ? x.dims[0] / parts : 1, x.rank == 2 ? x.dims[1] : 1};
  return ath_hlo_reshape(h, x, 3, dims);
}

/* --- dropout ------------------------------------------------------------------------ */

static ath_hlo_value word(ath_hlo *h, uint32_t value) {
  return ath_hlo_constant(h, ATH_HLO_U32, value);
}

/* x ^ (x >> bits) */
static ath_hlo_value fold(ath_hlo *h, ath_hlo_value x, uint32_t bits) {
  ath_hlo_value shifted = ath_hlo_binary(h, "shift_right_logical", x, word(h, bits));
  return ath_hlo_binary(h, "xor", x, shifted);
}

/* ath_dropout_hash, statement for statement. */
static ath_hlo_value hash(ath_hlo *h, ath_hlo_value index, ath_hlo_value key0,
                          ath_hlo_value key1) {
  ath_hlo_value x = ath_hlo_binary(h, "xor", index, key0);
  x = ath_hlo_multiply(h, fold(h, x, 16), word(h, 0x7feb352du));
  x = ath_hlo_add(h, fold(h, x, 15), key1);
  return fold(h, ath_hlo_multiply(h, x, word(h, 0x846ca68bu)), 16);
}

/* ath_dropout_key likewise, on scalars. */
static void keys(ath_hlo *h, const ath_dropout_place *place, ath_hlo_value step,
                 ath_hlo_value out[2]) {
  uint32_t low = (uint32_t)place->seed, high = (uint32_t)(place->seed >> 32);
  ath_hlo_value first = hash(h, step, word(h, low), word(h, high));
  first = ath_hlo_binary(h, "xor", first, word(h, place->site * 0x9E3779B9u));
  ath_hlo_value mixed = word(h, high + place->site);
  out[0] = hash(h, word(h, place->site), first, mixed);
  out[1] = hash(h, ath_hlo_add(h, step, word(h, 0x6C8E9CF5u)),
                ath_hlo_binary(h, "xor", out[0], step), mixed);
}

/* The element's index in row-major order modulo 2^32. Built dimension by dimension, so that a
 * partitioned tensor needs no reshape, and all but the last addition is work per row. */
static ath_hlo_value index_of(ath_hlo *h, ath_hlo_value like) {
  if (like.rank == 0) return word(h, 0);
  ath_hlo_value index = ath_hlo_iota(h, ATH_HLO_U32, 1, like.dims, 0);
  for (int d = 1; d < like.rank; d++) {
    ath_hlo_value column = ath_hlo_iota(h, ATH_HLO_U32, d + 1, like.dims, d);
    ath_hlo_value row = ath_hlo_multiply(h, index, word(h, (uint32_t)like.dims[d]));
    index = ath_hlo_add(h, ath_hlo_broadcast_columns(h, row, column), column);
  }
  return index;
}

/* The same of a matrix whose row i counts as row rows[i]. */
static ath_hlo_value index_in_rows(ath_hlo *h, ath_hlo_value rows, ath_hlo_value like) {
  if (like.rank != 2) return word(h, 0); /* after a failure */
  ath_hlo_value first = ath_hlo_convert(h, rows, ATH_HLO_U32);
  first = ath_hlo_multiply(h, first, word(h, (uint32_t)like.dims[1]));
  ath_hlo_value column = ath_hlo_iota(h, ATH_HLO_U32, 2, like.dims, 1);
  return ath_hlo_add(h, ath_hlo_broadcast_columns(h, first, column), column);
}

static ath_hlo_value keep(ath_hlo *h, const ath_dropout_place *place, ath_hlo_value step,
                          ath_hlo_value index) {
  assert(place->rate > 0 && place->rate < 1);
  ath_hlo_value key[2];
  keys(h, place, step, key);
  ath_hlo_value bits = hash(h, index, key[0], key[1]);
  return ath_hlo_compare(h, "GE", bits, word(h, ath_dropout_threshold((double)place->rate)));
}

ath_hlo_value ath_hlo_dropout_keep(ath_hlo *h, const ath_dropout_place *place, ath_hlo_value step,
                                   ath_hlo_value like) {
  return keep(h, place, step, index_of(h, like));
}

ath_hlo_value ath_hlo_dropout_rows(ath_hlo *h, const ath_dropout_place *place, ath_hlo_value step,
                                   ath_hlo_value rows, ath_hlo_value x) {
  if (place->rate == 0) return x;
  ath_hlo_value index = place->by_rows ? index_in_rows(h, rows, x) : index_of(h, x);
  ath_hlo_value kept = keep(h, place, step, index);
  ath_hlo_value scaled = ath_hlo_times(h, x, (double)ath_dropout_scale(place));
  return ath_hlo_select(h, kept, scaled, ath_hlo_fill(h, x, 0));
}
