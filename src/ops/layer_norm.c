/* layer_norm.c: y = (x − mean) rstd gamma + beta over the last dimension, with
 * rstd = 1 / sqrt(variance + epsilon). mean and rstd [rows] are kept for the gradient.
 *
 * With h = (x − mean) rstd and u = dy gamma, per row of width w:
 *   dx = rstd (u − Σu / w − h Σ(u h) / w);  dgamma = Σ_rows dy h;  dbeta = Σ_rows dy. */
#include <assert.h>

#include "ops/common_stablehlo.h"

/* --- backward: x, gamma, mean, rstd, dy → dx, dgamma, dbeta ------------------------- */

static ath_status backward_infer(const void *attributes, const ath_type *inputs, int input_count,
                                 ath_type *outputs, int output_count) {
  (void)attributes;
  assert(input_count == 5 && output_count == 3);
  ATH_TRY(ath_want_same(&inputs[0], "x", &inputs[4], "dy"));
  outputs[0] = inputs[0];
  outputs[1] = outputs[2] = inputs[1];
  return ATH_OK;
}

static size_t backward_scratch(const ath_cpu_call *call) {
  return ath_row_sums_scratch(&call->input_types[0], ATH_NORM_ROW_SUMS);
}

static ath_status backward_cpu(const ath_cpu_call *call) {
  const ath_type *x = &call->input_types[0];
  void *const *in = call->inputs, *const *out = call->outputs;
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  /* The kernel of residual_norm.c with nothing but the norm in it: z is x. */
  kernels->layer_norm_backward(in[0], in[1], in[2], in[3], in[4], out[0], NULL, out[1], out[2],
                               NULL, ath_type_rows(x), ath_type_columns(x),
                               (ath_dropout_key2){.scale = 1}, call->scratch);
  return ATH_OK;
}

ath_hlo_norm_gradients ath_hlo_layer_norm_backward(ath_hlo *h, ath_hlo_value x,
                                                   ath_hlo_value gamma, ath_hlo_value mean,
                                                   ath_hlo_value rstd, ath_hlo_value dy) {
  if (x.rank == 0) return (ath_hlo_norm_gradients){x, x, x}; /* after a failure */
  double part = 1 / (double)x.dims[x.rank - 1];
  ath_hlo_value centred = ath_hlo_subtract(h, x, ath_hlo_per_row(h, mean, x));
  ath_hlo_value factor = ath_hlo_per_row(h, rstd, x);
  ath_hlo_value n = ath_hlo_multiply(h, centred, factor);
  ath_hlo_value u = ath_hlo_multiply(h, dy, ath_hlo_broadcast_rows(h, gamma, x));
  ath_hlo_value un = ath_hlo_multiply(h, u, n), dyn = ath_hlo_multiply(h, dy, n);
  ath_hlo_value mean_u = ath_hlo_times(h, ath_hlo_reduce_columns(h, "add", u), part);
  ath_hlo_value mean_un = ath_hlo_times(h, ath_hlo_reduce_columns(h, "add", un), part);
  ath_hlo_value along = ath_hlo_multiply(h, n, ath_hlo_broadcast_columns(h, mean_un, x));
  ath_hlo_value rest = ath_hlo_subtract(h, u, ath_hlo_broadcast_columns(h, mean_u, x));
  return (ath_hlo_norm_gradients){
    .dx = ath_hlo_multiply(h, factor, ath_hlo_subtract(h, rest, along)),
    .dgamma = ath_hlo_sum_rows(h, dyn), .dbeta = ath_hlo_sum_rows(h, dy)};
}

static ath_status backward_stablehlo(const ath_hlo_call *call) {
  ath_hlo_norm_gradients its = ath_hlo_layer_norm_backward(
      call->hlo, ath_hlo_in(call, 0), ath_hlo_in(call, 1), call->inputs[2], call->inputs[3],
      ath_hlo_in(call, 4));
  ath_hlo_out(call, 0, its.dx);
  ath_hlo_out(call, 1, its.dgamma);
  ath_hlo_out(call, 2, its.dbeta);
  return ath_hlo_status(call->hlo);
}

static const ath_op backward = {.name = "layer_norm_backward", .infer = backward_infer,
                                .cpu = backward_cpu, .cpu_scratch = backward_scratch,
  .stablehlo = backward_stablehlo};

/* --- forward: x, gamma, beta → y, mean, rstd ---------------------------------------- */

static ath_status infer(const void *attributes, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  (void)attributes;
  assert(input_count == 3 && output_count == 3);
  ATH_TRY(ath_want_rows(&inputs[0], "x"));
  ATH_TRY(ath_want_per_column(&inputs[1], "gamma", &inputs[0], "x"));
  ATH_TRY(ath_want_per_column(&inputs[2], "beta", &inputs[0], "x"));
  outputs[0] = inputs[0];
  outputs[1] = outputs[2] =
      (ath_type){.dtype = ATH_F32, .rank = 1, .dims = {ath_type_rows(&inputs[0])}};
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  ath_value inputs[5] = {node->inputs[0], node->inputs[1], node->outputs[1], node->outputs[2],
                         output_gradients[0]};
  ath_value outputs[3];
  /* mean and rstd are never given out, so that y alone can have brought us here. */
  assert(output_gradients[0] != ATH_NO_VALUE);
  ath_graph_add(g, &backward, NULL, 0, inputs, 5, outputs, 3);
  for (int i = 0; i < 3; i++)
    if (wanted[i]) input_gradients[i] = outputs[i];
}

static ath_status cpu(const ath_cpu_call *call) {
  const ath_layer_norm_attributes *its = call->node->attributes;
  const ath_type *x = &call->input_types[0];
  void *const *in = call->inputs, *const *out = call->outputs;
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->layer_norm(in[0], NULL, NULL, in[1], in[2], NULL, out[0], out[1], out[2],
                      ath_type_rows(x), ath_type_columns(x), its->epsilon,
                      (ath_dropout_key2){.scale = 1});
  return ATH_OK;
}

static ath_status describe(const void *given, ath_buffer *out) {
  const ath_layer_norm_attributes *its = given;
  return ath_buffer_format(out, "epsilon=%g", (double)its->epsilon);
}

/* The first element of each row, in the leading dimensions. */
static ath_hlo_value first_column(ath_hlo *h, ath_hlo_value x) {
  int64_t start[ATH_HLO_MAX_RANK] = {0}, limit[ATH_HLO_MAX_RANK];
  for (int i = 0; i < x.rank; i++) limit[i] = i == x.rank - 1 ? 1 : x.dims[i];
  return ath_hlo_reshape(h, ath_hlo_slice(h, x, start, limit), x.rank - 1, x.dims);
}

/* Mean and variance in one pass over memory: Σ d and Σ d² of d = x − the row's first element. The
 * shift keeps the difference of squares from cancelling where a row lies far from 0. Rows that are
 * rounded to bf16 are not worth it (64 deviations from 0 cost 2^-12 of the variance), and without
 * it the sums need no pass of their own. */
ath_hlo_norm ath_hlo_layer_norm(ath_hlo *h, ath_hlo_value x, ath_hlo_value gamma,
                                ath_hlo_value beta, double epsilon) {
  ath_hlo_dtype stored = x.dtype;
  if (x.rank == 0) return (ath_hlo_norm){x, x, x}; /* after a failure */
  if (stored != ATH_HLO_F32) x = ath_hlo_convert(h, x, ATH_HLO_F32);
  double part = 1 / (double)x.dims[x.rank - 1];
  ath_hlo_value shift = first_column(h, x);
  if (stored != ATH_HLO_F32) shift = ath_hlo_fill(h, shift, 0);
  ath_hlo_value d = ath_hlo_subtract(h, x, ath_hlo_broadcast_columns(h, shift, x));
  ath_hlo_value sum = ath_hlo_reduce_columns(h, "add", d);
  ath_hlo_value squares = ath_hlo_reduce_columns(h, "add", ath_hlo_multiply(h, d, d));
  ath_hlo_value mean = ath_hlo_times(h, sum, part);
  ath_hlo_value variance = ath_hlo_subtract(h, ath_hlo_times(h, squares, part),
                                            ath_hlo_multiply(h, mean, mean));
  variance = ath_hlo_binary(h, "maximum", variance, ath_hlo_constant(h, ATH_HLO_F32, 0));
  ath_hlo_value rstd = ath_hlo_unary(h, "rsqrt", ath_hlo_plus(h, variance, epsilon));
  ath_hlo_value n = ath_hlo_multiply(
      h, ath_hlo_subtract(h, d, ath_hlo_broadcast_columns(h, mean, x)),
      ath_hlo_broadcast_columns(h, rstd, x));
  ath_hlo_value y = ath_hlo_multiply(h, n, ath_hlo_broadcast_rows(h, gamma, x));
  return (ath_hlo_norm){.y = ath_hlo_add_bias(h, y, beta), .mean = ath_hlo_add(h, mean, shift),
                        .rstd = rstd};
}

static ath_status stablehlo(const ath_hlo_call *call) {
  const ath_layer_norm_attributes *its = call->node->attributes;
  ath_hlo_norm norm = ath_hlo_layer_norm(call->hlo, call->inputs[0], ath_hlo_in(call, 1),
                                         ath_hlo_in(call, 2), (double)its->epsilon);
  ath_hlo_out(call, 0, norm.y);
  ath_hlo_out(call, 1, norm.mean);
  ath_hlo_out(call, 2, norm.rstd);
  return ath_hlo_status(call->hlo);
}

const ath_op ath_op_layer_norm = {.name = "layer_norm", .infer = infer, .grad = grad, .cpu = cpu,
                                  .fuse = ath_fuse_residual_norm, .describe = describe,
  .stablehlo = stablehlo};

ath_value ath_layer_norm(ath_graph *g, ath_value x, ath_value gamma, ath_value beta,
                         float epsilon) {
  ath_layer_norm_attributes its = {.epsilon = epsilon};
  ath_value inputs[3] = {x, gamma, beta}, outputs[3];
  ath_graph_add(g, &ath_op_layer_norm, &its, sizeof its, inputs, 3, outputs, 3);
  return outputs[0];
}
