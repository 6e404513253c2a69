/* common_stablehlo.h: what the StableHLO entries of src/ops/ share.
 *
 * All of them compute in f32, whatever their tensors are: ath_hlo_in widens, ath_hlo_out rounds
 * once, and XLA fuses both into their neighbours. Only matrix products take bf16 as it is, because
 * that is what accelerators multiply, and give f32. */
#ifndef ATHANOR_OPS_COMMON_STABLEHLO_H
#define ATHANOR_OPS_COMMON_STABLEHLO_H

#include "ops/common.h"
#include "stablehlo/hlo.h"

/* A floating input as f32; ATH_HLO_NONE if it was left out. */
ath_hlo_value ath_hlo_in(const ath_hlo_call *call, int input);
/* Gives an output, in the element type and the shape that the graph expects. */
void ath_hlo_out(const ath_hlo_call *call, int output, ath_hlo_value value);

/* Arithmetic by name; a scalar operand is broadcast. */
static inline ath_hlo_value ath_hlo_add(ath_hlo *h, ath_hlo_value a, ath_hlo_value b) {
  return ath_hlo_binary(h, "add", a, b);
}
static inline ath_hlo_value ath_hlo_subtract(ath_hlo *h, ath_hlo_value a, ath_hlo_value b) {
  return ath_hlo_binary(h, "subtract", a, b);
}
static inline ath_hlo_value ath_hlo_multiply(ath_hlo *h, ath_hlo_value a, ath_hlo_value b) {
  return ath_hlo_binary(h, "multiply", a, b);
}
static inline ath_hlo_value ath_hlo_divide(ath_hlo *h, ath_hlo_value a, ath_hlo_value b) {
  return ath_hlo_binary(h, "divide", a, b);
}
/* x + number, x * number. */
ath_hlo_value ath_hlo_plus(ath_hlo *h, ath_hlo_value x, double number);
ath_hlo_value ath_hlo_times(ath_hlo *h, ath_hlo_value x, double number);

/* x + bias repeated over the rows; x itself without a bias. */
ath_hlo_value ath_hlo_add_bias(ath_hlo *h, ath_hlo_value x, ath_hlo_value bias);
/* "add" or "maximum" over the last dimension; the sum over all but the last, and over all. */
ath_hlo_value ath_hlo_reduce_columns(ath_hlo *h, const char *op, ath_hlo_value x);
ath_hlo_value ath_hlo_sum_rows(ath_hlo *h, ath_hlo_value x);
ath_hlo_value ath_hlo_sum_all(ath_hlo *h, ath_hlo_value x);
/* A per-row value of the graph, [rows], in x's leading dimensions, repeated over its columns. */
ath_hlo_value ath_hlo_per_row(ath_hlo *h, ath_hlo_value statistic, ath_hlo_value x);
/* Leading dimensions counted as rows: [rows, columns]; and those cut into parts that divide them:
 * [parts, rows / parts, columns]. */
ath_hlo_value ath_hlo_matrix(ath_hlo *h, ath_hlo_value x);
ath_hlo_value ath_hlo_rows_in_parts(ath_hlo *h, ath_hlo_value x, int parts);

/* Which elements dropout keeps: i1 in the shape of `like`, bit-equal to ath_dropout_hash for any
 * number of devices, since each element's bits depend on its global index alone. The keys are
 * computed from `step` (u32 []) in the program: no step compiles anew. */
ath_hlo_value ath_hlo_dropout_keep(ath_hlo *h, const ath_dropout_place *place, ath_hlo_value step,
                                   ath_hlo_value like);
/* x through that mask and scaled; x itself at rate 0. `rows` as in ath_dropout_place, or none. */
ath_hlo_value ath_hlo_dropout_rows(ath_hlo *h, const ath_dropout_place *place, ath_hlo_value step,
                                   ath_hlo_value rows, ath_hlo_value x);

/* What operations of different files leave for each other (ath_hlo_keep).
 * PARTS: the parts of equal width that were joined; sums over rows are then taken of each, where it
 * is made. FACTORS: x, w and bias (or none) of a linear; a part of its columns is then computed by
 * itself, in the layout that is wanted. WEIGHTS: see attention.c. */
enum { ATH_HLO_KEPT_PARTS, ATH_HLO_KEPT_FACTORS, ATH_HLO_KEPT_WEIGHTS };
enum { ATH_HLO_PARTS = 3, ATH_HLO_FACTORS = 3 };

/* What a plain operation and its fused form both print; each lies with the plain one. */
ath_hlo_value ath_hlo_activation(ath_hlo *h, ath_hlo_value x, ath_activation_kind kind);
ath_hlo_value ath_hlo_activation_slope(ath_hlo *h, ath_hlo_value x, ath_activation_kind kind);

typedef struct ath_hlo_norm {
  ath_hlo_value y, mean, rstd; /* mean, rstd: [rows] */
} ath_hlo_norm;
ath_hlo_norm ath_hlo_layer_norm(ath_hlo *h, ath_hlo_value x, ath_hlo_value gamma,
                                ath_hlo_value beta, double epsilon);
typedef struct ath_hlo_norm_gradients {
  ath_hlo_value dx, dgamma, dbeta;
} ath_hlo_norm_gradients;
ath_hlo_norm_gradients ath_hlo_layer_norm_backward(ath_hlo *h, ath_hlo_value x,
                                                   ath_hlo_value gamma, ath_hlo_value mean,
                                                   ath_hlo_value rstd, ath_hlo_value dy);

#endif
