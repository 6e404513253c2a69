/* multiply.c: a * b, b repeated over a's leading dimensions.
 *
 * da = dy b; db = dy a, summed over the dimensions that b was repeated over. */
#include "ops/common_stablehlo.h"

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  ath_value a = node->inputs[0], b = node->inputs[1], dy = output_gradients[0];
  /* The operand that is repeated is always the second, and dy has a's shape. */
  if (wanted[0]) input_gradients[0] = ath_multiply(g, dy, b);
  if (wanted[1])
    input_gradients[1] = ath_reduce_to(g, ath_multiply(g, dy, a), ath_graph_type(g, b));
}

static ath_status cpu(const ath_cpu_call *call) {
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->multiply(call->inputs[0], call->inputs[1], call->outputs[0],
                    ath_type_count(&call->output_types[0]),
                    ath_type_count(&call->input_types[1]));
  return ATH_OK;
}

static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  ath_hlo_value a = ath_hlo_in(call, 0), b = ath_hlo_in(call, 1);
  ath_hlo_out(call, 0, ath_hlo_multiply(h, a, ath_hlo_broadcast_rows(h, b, a)));
  return ath_hlo_status(h);
}

static const ath_op multiply = {.name = "multiply", .infer = ath_infer_repeated, .grad = grad,
                                .cpu = cpu, .in_place = ath_any_in_place,
  .stablehlo = stablehlo};

ath_value ath_multiply(ath_graph *g, ath_value a, ath_value b) {
  ath_value inputs[2] = {a, b}, y;
  ath_graph_add(g, &multiply, NULL, 0, inputs, 2, &y, 1);
  return y;
}
