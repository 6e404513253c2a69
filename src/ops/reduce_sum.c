/* reduce_sum.c: the sum of all elements, in double over fixed blocks, so that neither the number
 * of threads nor the size of the tensor costs accuracy; f32 also of bf16.
 *
 * dx = dy repeated. */
#include <assert.h>

#include "ops/common_stablehlo.h"

static ath_status infer(const void *attributes, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  (void)attributes;
  assert(input_count == 1 && output_count == 1);
  ATH_TRY(ath_want_float(&inputs[0], "x"));
  outputs[0] = ATH_TYPE_SCALAR;
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  if (!wanted[0]) return;
  ath_type type = ath_graph_type(g, node->inputs[0]);
  input_gradients[0] = ath_repeat(g, ath_convert(g, output_gradients[0], type.dtype), type);
}

/* Rounded to f32 once, at the end. */
static ath_status cpu(const ath_cpu_call *call) {
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  *(float *)call->outputs[0] =
      (float)kernels->sum(call->inputs[0], ath_type_count(&call->input_types[0]));
  return ATH_OK;
}

static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  ath_hlo_out(call, 0, ath_hlo_sum_all(h, ath_hlo_in(call, 0)));
  return ath_hlo_status(h);
}

static const ath_op reduce_sum = {.name = "reduce_sum", .infer = infer, .grad = grad, .cpu = cpu,
  .stablehlo = stablehlo};

ath_value ath_reduce_sum(ath_graph *g, ath_value x) {
  ath_value y;
  ath_graph_add(g, &reduce_sum, NULL, 0, &x, 1, &y, 1);
  return y;
}
