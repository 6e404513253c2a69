/* residual_norm.c: y = layer_norm(z), z = residual + dropout(x + bias), in one pass, its gradient,
 * and the pattern it replaces. z is kept for the gradient, in x's memory where the plan allows.
 *
 * dz as in layer_norm.c; dresidual = dz; dx = dz through the mask; dbias = Σ_rows dx. */
#include <assert.h>

#include "ops/common_stablehlo.h"

typedef struct attributes {
  float epsilon;
  bool has_bias;
  ath_dropout_place dropout;
} attributes;

/* --- backward: z, gamma, mean, rstd, dy, step, rows → dz, dgamma, dbeta [, dx] [, dbias] ---
 *
 * dz is the residual's gradient. dx is dz through the dropout mask: without dropout it is dz. */

static int dx_output(const attributes *its) { return its->dropout.rate > 0 ? 3 : 0; }
static int dbias_output(const attributes *its) { return its->dropout.rate > 0 ? 4 : 3; }
static int backward_outputs(const attributes *its) {
  return 3 + (its->dropout.rate > 0) + its->has_bias;
}

static ath_status backward_infer(const void *given, const ath_type *inputs, int input_count,
                                 ath_type *outputs, int output_count) {
  const attributes *its = given;
  assert(input_count == 7 && output_count == backward_outputs(its));
  ATH_TRY(ath_want_same(&inputs[0], "z", &inputs[4], "dy"));
  outputs[0] = inputs[0];
  outputs[1] = outputs[2] = inputs[1];
  if (its->dropout.rate > 0) outputs[dx_output(its)] = inputs[0];
  if (its->has_bias) outputs[dbias_output(its)] = inputs[1];
  return ATH_OK;
}

static size_t backward_scratch(const ath_cpu_call *call) {
  return ath_row_sums_scratch(&call->input_types[0], ATH_NORM_ROW_SUMS);
}

static ath_status backward_cpu(const ath_cpu_call *call) {
  const attributes *its = call->node->attributes;
  const ath_type *z = &call->input_types[0];
  void *const *in = call->inputs, *const *out = call->outputs;
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->layer_norm_backward(in[0], in[1], in[2], in[3], in[4], out[0],
                               its->dropout.rate > 0 ? out[dx_output(its)] : NULL, out[1], out[2],
                               its->has_bias ? out[dbias_output(its)] : NULL, ath_type_rows(z),
                               ath_type_columns(z),
                               ath_dropout_at_rows(&its->dropout, in[5], in[6]), call->scratch);
  return ATH_OK;
}

static ath_status backward_stablehlo(const ath_hlo_call *call) {
  const attributes *its = call->node->attributes;
  ath_hlo *h = call->hlo;
  ath_hlo_norm_gradients norm =
      ath_hlo_layer_norm_backward(h, ath_hlo_in(call, 0), ath_hlo_in(call, 1), call->inputs[2],
                                  call->inputs[3], ath_hlo_in(call, 4));
  ath_hlo_value dx =
      ath_hlo_dropout_rows(h, &its->dropout, call->inputs[5], call->inputs[6], norm.dx);
  ath_hlo_out(call, 0, norm.dx);
  ath_hlo_out(call, 1, norm.dgamma);
  ath_hlo_out(call, 2, norm.dbeta);
  if (its->dropout.rate > 0) ath_hlo_out(call, dx_output(its), dx);
  if (its->has_bias) ath_hlo_out(call, dbias_output(its), ath_hlo_sum_rows(h, dx));
  return ath_hlo_status(h);
}

static const ath_op backward = {.name = "residual_norm_backward", .infer = backward_infer,
                                .cpu = backward_cpu, .cpu_scratch = backward_scratch,
  .stablehlo = backward_stablehlo};

/* --- forward: x, bias, residual, gamma, beta, step, rows → y, z, mean, rstd --------- */

static ath_status infer(const void *given, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  const attributes *its = given;
  const ath_type *x = &inputs[0];
  assert(input_count == 7 && output_count == 4);
  ATH_TRY(ath_want_rows(x, "x"));
  if (its->has_bias) ATH_TRY(ath_want_per_column(&inputs[1], "bias", x, "x"));
  ATH_TRY(ath_want_same(x, "x", &inputs[2], "residual"));
  ATH_TRY(ath_want_per_column(&inputs[3], "gamma", x, "x"));
  ATH_TRY(ath_want_per_column(&inputs[4], "beta", x, "x"));
  ATH_TRY(ath_want_dropout_rows(&its->dropout, &inputs[5], &inputs[6], x));
  outputs[0] = outputs[1] = *x;
  outputs[2] = outputs[3] =
      (ath_type){.dtype = ATH_F32, .rank = 1, .dims = {ath_type_rows(x)}};
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  const attributes *its = node->attributes;
  ath_value inputs[7] = {node->outputs[1], node->inputs[3], node->outputs[2], node->outputs[3],
                         output_gradients[0], node->inputs[5], node->inputs[6]};
  ath_value outputs[ATH_MAX_OUTPUTS];
  assert(output_gradients[0] != ATH_NO_VALUE); /* as in layer_norm.c */
  ath_graph_add(g, &backward, its, sizeof *its, inputs, 7, outputs, backward_outputs(its));
  if (wanted[0]) input_gradients[0] = outputs[dx_output(its)];
  if (wanted[1]) input_gradients[1] = outputs[dbias_output(its)];
  if (wanted[2]) input_gradients[2] = outputs[0];
  if (wanted[3]) input_gradients[3] = outputs[1];
  if (wanted[4]) input_gradients[4] = outputs[2];
}

static ath_status cpu(const ath_cpu_call *call) {
  const attributes *its = call->node->attributes;
  const ath_type *x = &call->input_types[0];
  void *const *in = call->inputs, *const *out = call->outputs;
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->layer_norm(in[0], in[1], in[2], in[3], in[4], out[1], out[0], out[2], out[3],
                      ath_type_rows(x), ath_type_columns(x), its->epsilon,
                      ath_dropout_at_rows(&its->dropout, in[5], in[6]));
  return ATH_OK;
}

/* z is elementwise in x and the residual. */
static uint32_t in_place(const ath_node *node, int output) {
  (void)node;
  return output == 1 ? 1u << 0 | 1u << 2 : 0;
}

static ath_status describe(const void *given, ath_buffer *out) {
  const attributes *its = given;
  ATH_TRY(ath_buffer_format(out, "epsilon=%g ", (double)its->epsilon));
  return ath_dropout_describe(&its->dropout, out);
}

static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  const attributes *its = call->node->attributes;
  ath_hlo_value x = ath_hlo_add_bias(h, ath_hlo_in(call, 0), ath_hlo_in(call, 1));
  ath_hlo_value branch =
      ath_hlo_dropout_rows(h, &its->dropout, call->inputs[5], call->inputs[6], x);
  ath_hlo_value z = ath_hlo_add(h, ath_hlo_in(call, 2), branch);
  if (call->inputs[0].dtype != ATH_HLO_F32)
    z = ath_hlo_barrier(h, ath_hlo_convert(h, z, call->inputs[0].dtype));
  ath_hlo_norm norm = ath_hlo_layer_norm(h, z, ath_hlo_in(call, 3), ath_hlo_in(call, 4),
                                         (double)its->epsilon);
  ath_hlo_out(call, 0, norm.y);
  ath_hlo_out(call, 1, z);
  ath_hlo_out(call, 2, norm.mean);
  ath_hlo_out(call, 3, norm.rstd);
  return ath_hlo_status(h);
}

static const ath_op residual_norm = {.name = "residual_norm", .infer = infer, .grad = grad,
                                     .cpu = cpu, .in_place = in_place, .describe = describe,
  .stablehlo = stablehlo};

ath_value ath_residual_norm(ath_graph *g, ath_value x, ath_value bias, ath_value residual,
                            ath_value gamma, ath_value beta, float epsilon,
                            ath_dropout_place dropout) {
  if (dropout.rate == 0) dropout = ATH_NO_DROPOUT;
  attributes its = {
    .epsilon = epsilon, .has_bias = bias != ATH_NO_VALUE, .dropout = dropout};
  ath_value inputs[7] = {x, bias, residual, gamma, beta, dropout.step, ath_dropout_rows(&dropout)};
  ath_value outputs[4];
  ath_graph_add(g, &residual_norm, &its, sizeof its, inputs, 7, outputs, 4);
  return outputs[0];
}

/* --- fusion ------------------------------------------------------------------------- */

/* layer_norm(add(residual, dropout(linear(x, w, bias)))), in either order of the sum; dropout and
 * bias may be missing, and instead of linear there may be anything. The branch is the operand that
 * has a dropout, or else the one that a linear makes, or else the second. */
static int branch_operand(const ath_graph *g, const ath_node *add) {
  const ath_op *const wanted[2] = {&ath_op_dropout, &ath_op_linear};
  for (int w = 0; w < 2; w++)
    for (int i = 1; i >= 0; i--)
      if (ath_single_use(g, add->inputs[i], wanted[w]) != NULL) return i;
  return 1;
}

ath_value ath_fuse_residual_norm(ath_graph *g, const ath_node *node) {
  const ath_layer_norm_attributes *its = node->attributes;
  const ath_node *add = ath_single_use(g, node->inputs[0], &ath_op_add);
  if (add == NULL) return ATH_NO_VALUE;
  ath_type a = ath_graph_type(g, add->inputs[0]), b = ath_graph_type(g, add->inputs[1]);
  if (!ath_type_equal(&a, &b)) return ATH_NO_VALUE;
  int branch = branch_operand(g, add);
  ath_value x = add->inputs[branch], residual = add->inputs[1 - branch], bias = ATH_NO_VALUE;
  ath_dropout_place place = ATH_NO_DROPOUT;
  const ath_node *dropout = ath_single_use(g, x, &ath_op_dropout);
  if (dropout != NULL) {
    place = *(const ath_dropout_place *)dropout->attributes;
    x = dropout->inputs[0];
  }
  const ath_node *linear = ath_single_use(g, x, &ath_op_linear);
  if (linear != NULL && linear->inputs[2] != ATH_NO_VALUE) {
    bias = linear->inputs[2];
    x = ath_linear(g, linear->inputs[0], linear->inputs[1], ATH_NO_VALUE);
  }
  return ath_residual_norm(g, x, bias, residual, node->inputs[1], node->inputs[2], its->epsilon,
                           place);
}
