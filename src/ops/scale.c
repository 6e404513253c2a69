/* scale.c: x * factor, the factor known when the graph is built.
 *
 * dx = dy * factor. */
#include <assert.h>

#include "ops/common_stablehlo.h"

typedef struct attributes {
  float factor;
} attributes;

static ath_status infer(const void *given, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  (void)given;
  assert(input_count == 1 && output_count == 1);
  ATH_TRY(ath_want_float(&inputs[0], "x"));
  outputs[0] = inputs[0];
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  const attributes *its = node->attributes;
  if (wanted[0]) input_gradients[0] = ath_scale(g, output_gradients[0], its->factor);
}

static ath_status cpu(const ath_cpu_call *call) {
  const attributes *its = call->node->attributes;
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->scale(call->inputs[0], its->factor, call->outputs[0],
                 ath_type_count(&call->output_types[0]));
  return ATH_OK;
}

static ath_status describe(const void *given, ath_buffer *out) {
  const attributes *its = given;
  return ath_buffer_format(out, "factor=%g", (double)its->factor);
}

static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  const attributes *its = call->node->attributes;
  ath_hlo_out(call, 0, ath_hlo_times(h, ath_hlo_in(call, 0), (double)its->factor));
  return ath_hlo_status(h);
}

static const ath_op scale = {.name = "scale", .infer = infer, .grad = grad, .cpu = cpu,
                             .in_place = ath_any_in_place, .describe = describe,
  .stablehlo = stablehlo};

ath_value ath_scale(ath_graph *g, ath_value x, float factor) {
  attributes its = {.factor = factor};
  ath_value y;
  ath_graph_add(g, &scale, &its, sizeof its, &x, 1, &y, 1);
  return y;
}
