/* bias_activation.c: y = act(x + bias) in one pass, its gradient, and the pattern it replaces.
 *
 * dx = dy act'(x + bias); dbias = dx summed over rows. One pass over memory where the plain form
 * takes two: the sum x + bias is never stored. */
#include <assert.h>

#include "ops/common_stablehlo.h"

/* As in activation.c, whose attributes the fusion rule hands on. */
typedef struct attributes {
  ath_activation_kind kind;
} attributes;

static ath_status check(const void *given, const ath_type *x, const ath_type *bias) {
  const attributes *its = given;
  if (its->kind < ATH_GELU || its->kind > ATH_TANH)
    return ath_fail(ATH_INVALID, "%d is no kind of activation", (int)its->kind);
  ATH_TRY(ath_want_rows(x, "x"));
  return ath_want_per_column(bias, "bias", x, "x");
}

/* --- backward: x, bias, dy → dx, dbias ---------------------------------------------- */

static ath_status backward_infer(const void *given, const ath_type *inputs, int input_count,
                                 ath_type *outputs, int output_count) {
  assert(input_count == 3 && output_count == 2);
  ATH_TRY(check(given, &inputs[0], &inputs[1]));
  ATH_TRY(ath_want_same(&inputs[0], "x", &inputs[2], "dy"));
  outputs[0] = inputs[0];
  outputs[1] = inputs[1];
  return ATH_OK;
}

static size_t backward_scratch(const ath_cpu_call *call) {
  return ath_row_sums_scratch(&call->input_types[0], 1);
}

static ath_status backward_cpu(const ath_cpu_call *call) {
  const attributes *its = call->node->attributes;
  int64_t rows = ath_type_rows(&call->input_types[0]);
  int64_t width = ath_type_columns(&call->input_types[0]);
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->activation_backward(call->inputs[0], call->inputs[1], call->inputs[2],
                               call->outputs[0], rows, width, (int)its->kind);
  kernels->reduce_rows(call->outputs[0], call->outputs[1], rows, width, call->scratch);
  return ATH_OK;
}

/* dx is elementwise in x and dy; the bias is read while dx is written. */
static uint32_t backward_in_place(const ath_node *node, int output) {
  (void)node;
  return output == 0 ? 1u << 0 | 1u << 2 : 0;
}

static ath_status backward_stablehlo(const ath_hlo_call *call) {
  const attributes *its = call->node->attributes;
  ath_hlo *h = call->hlo;
  ath_hlo_value x = ath_hlo_add_bias(h, ath_hlo_in(call, 0), ath_hlo_in(call, 1));
  ath_hlo_value slope = ath_hlo_activation_slope(h, x, its->kind);
  ath_hlo_value dx = ath_hlo_multiply(h, ath_hlo_in(call, 2), slope);
  ath_hlo_out(call, 0, dx);
  ath_hlo_out(call, 1, ath_hlo_sum_rows(h, dx));
  return ath_hlo_status(h);
}

static const ath_op backward = {
  .name = "bias_activation_backward", .infer = backward_infer, .cpu = backward_cpu,
  .cpu_scratch = backward_scratch, .in_place = backward_in_place,
  .stablehlo = backward_stablehlo};

/* --- forward: x, bias → y ----------------------------------------------------------- */

static ath_status infer(const void *given, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  assert(input_count == 2 && output_count == 1);
  ATH_TRY(check(given, &inputs[0], &inputs[1]));
  outputs[0] = inputs[0];
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  ath_value inputs[3] = {node->inputs[0], node->inputs[1], output_gradients[0]}, outputs[2];
  ath_graph_add(g, &backward, node->attributes, sizeof(attributes), inputs, 3, outputs, 2);
  for (int i = 0; i < 2; i++)
    if (wanted[i]) input_gradients[i] = outputs[i];
}

static ath_status cpu(const ath_cpu_call *call) {
  const attributes *its = call->node->attributes;
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->activation(call->inputs[0], call->inputs[1], call->outputs[0],
                      ath_type_rows(&call->input_types[0]),
                      ath_type_columns(&call->input_types[0]), (int)its->kind);
  return ATH_OK;
}

/* Over x: should the backward operation still read x, the plan sees its later read. */
static uint32_t in_place(const ath_node *node, int output) {
  (void)node, (void)output;
  return 1u << 0;
}

static ath_status describe(const void *given, ath_buffer *out) {
  return ath_op_activation.describe(given, out);
}

static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  const attributes *its = call->node->attributes;
  ath_hlo_value x = ath_hlo_add_bias(h, ath_hlo_in(call, 0), ath_hlo_in(call, 1));
  ath_hlo_out(call, 0, ath_hlo_activation(h, x, its->kind));
  return ath_hlo_status(h);
}

static const ath_op bias_activation = {.name = "bias_activation", .infer = infer, .grad = grad,
                                       .cpu = cpu, .in_place = in_place, .describe = describe,
  .stablehlo = stablehlo};

ath_value ath_bias_activation(ath_graph *g, ath_value x, ath_value bias,
                              ath_activation_kind kind) {
  attributes its = {.kind = kind};
  ath_value inputs[2] = {x, bias}, y;
  ath_graph_add(g, &bias_activation, &its, sizeof its, inputs, 2, &y, 1);
  return y;
}

/* activation(linear(x, w, bias)) or activation(add(y, bias)) → bias_activation, where nothing else
 * reads what stands between. */
ath_value ath_fuse_bias_activation(ath_graph *g, const ath_node *node) {
  const attributes *its = node->attributes;
  const ath_node *linear = ath_single_use(g, node->inputs[0], &ath_op_linear);
  if (linear != NULL && linear->inputs[2] != ATH_NO_VALUE) {
    ath_value product = ath_linear(g, linear->inputs[0], linear->inputs[1], ATH_NO_VALUE);
    return ath_bias_activation(g, product, linear->inputs[2], its->kind);
  }
  const ath_node *add = ath_single_use(g, node->inputs[0], &ath_op_add);
  if (add == NULL) return ATH_NO_VALUE;
  ath_type sum = ath_graph_type(g, add->inputs[0]), bias = ath_graph_type(g, add->inputs[1]);
  if (sum.rank < 2 || bias.rank != 1 || bias.dtype != ATH_F32) return ATH_NO_VALUE;
  return ath_bias_activation(g, add->inputs[0], add->inputs[1], its->kind);
}
