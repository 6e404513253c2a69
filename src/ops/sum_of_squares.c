/* sum_of_squares.c: Σ x² over many values, added in double in the order they are given.
 *
 * dx = 2 dy x. */
#include <assert.h>

#include "ops/common_stablehlo.h"

static ath_status infer(const void *attributes, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  (void)attributes;
  assert(output_count == 1);
  for (int i = 0; i < input_count; i++) ATH_TRY(ath_want_float(&inputs[i], "x"));
  outputs[0] = ATH_TYPE_SCALAR;
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  ath_value twice = ath_scale(g, output_gradients[0], 2);
  for (int i = 0; i < node->input_count; i++)
    if (wanted[i]) {
      ath_value x = node->inputs[i];
      input_gradients[i] = ath_multiply(g, x, ath_convert(g, twice, ath_graph_type(g, x).dtype));
    }
}

/* One node for all parameters, so that the norm is rounded once and not once for each of them. */
static ath_status cpu(const ath_cpu_call *call) {
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  double sum = 0;
  for (int i = 0; i < call->node->input_count; i++)
    sum += kernels->sum_of_squares(call->inputs[i], ath_type_count(&call->input_types[i]));
  *(float *)call->outputs[0] = (float)sum;
  return ATH_OK;
}

/* In f32, and XLA sums in the order it likes: a tree, on every device known. */
static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  ath_hlo_value sum = ath_hlo_constant(h, ATH_HLO_F32, 0);
  for (int i = 0; i < call->node->input_count; i++) {
    ath_hlo_value x = ath_hlo_in(call, i);
    sum = ath_hlo_add(h, sum, ath_hlo_sum_all(h, ath_hlo_multiply(h, x, x)));
  }
  ath_hlo_out(call, 0, sum);
  return ath_hlo_status(h);
}

static const ath_op sum_of_squares = {
  .name = "sum_of_squares", .infer = infer, .grad = grad, .cpu = cpu,
  .stablehlo = stablehlo};

ath_value ath_sum_of_squares(ath_graph *g, const ath_value *values, size_t count) {
  ath_value y;
  if (count > INT32_MAX)
    return ath_graph_fail(g, ATH_INVALID, "sum_of_squares: %zu values are too many", count);
  ath_graph_add(g, &sum_of_squares, NULL, 0, values, (int)count, &y, 1);
  return y;
}
