/* layer_norm.c: y = (x − mean) rstd gamma + beta over the last dimension, with
 * rstd = 1 / sqrt(variance + epsilon). mean and rstd [rows] are kept for the gradient.
 *
 * With h = (x − mean) rstd and u = dy gamma, per row of width w:
 *   dx = rstd (u − Σu / w − h Σ(u h) / w);  dgamma = Σ_rows dy h;  dbeta = Σ_rows dy. */
#include <assert.h>

#include "ops/common.h"

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

static const ath_op backward = {.name = "layer_norm_backward", .infer = backward_infer,
                                .cpu = backward_cpu, .cpu_scratch = backward_scratch};

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

const ath_op ath_op_layer_norm = {.name = "layer_norm", .infer = infer, .grad = grad, .cpu = cpu,
                                  .fuse = ath_fuse_residual_norm, .describe = describe};

ath_value ath_layer_norm(ath_graph *g, ath_value x, ath_value gamma, ath_value beta,
                         float epsilon) {
  ath_layer_norm_attributes its = {.epsilon = epsilon};
  ath_value inputs[3] = {x, gamma, beta}, outputs[3];
  ath_graph_add(g, &ath_op_layer_norm, &its, sizeof its, inputs, 3, outputs, 3);
  return outputs[0];
}
