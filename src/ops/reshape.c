/* reshape.c: the same elements in another shape. Engines share the memory and run nothing.
 *
 * dx = dy in the shape of x, which costs nothing either. */
#include <assert.h>
#include <string.h>

#include "ops/common_stablehlo.h"

static ath_status infer(const void *attributes, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  const ath_type *type = attributes;
  char texts[2][96];
  assert(input_count == 1 && output_count == 1);
  if (!ath_type_given(&inputs[0])) return ath_fail(ATH_INVALID, "x is missing");
  if (type->rank < 0 || type->rank > ATH_MAX_RANK || type->dtype != inputs[0].dtype ||
      ath_type_count(type) != ath_type_count(&inputs[0]))
    return ath_fail(ATH_INVALID, "x %s cannot be seen as %s", ath_type_text(&inputs[0], texts[0]),
                    ath_type_text(type, texts[1]));
  outputs[0] = *type;
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  if (wanted[0])
    input_gradients[0] =
        ath_reshape(g, output_gradients[0], ath_graph_type(g, node->inputs[0]));
}

/* For engines or plans that keep the result apart. */
static ath_status cpu(const ath_cpu_call *call) {
  if (call->outputs[0] != call->inputs[0])
    memcpy(call->outputs[0], call->inputs[0], ath_type_bytes(&call->output_types[0]));
  return ATH_OK;
}

static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo_out(call, 0, call->inputs[0]); /* into the shape expected */
  return ath_hlo_status(call->hlo);
}

static const ath_op reshape = {
  .name = "reshape", .infer = infer, .grad = grad, .cpu = cpu, .cpu_bf16 = true,
  .is_view = true,
  .stablehlo = stablehlo};

ath_value ath_reshape(ath_graph *g, ath_value x, ath_type type) {
  ath_type from = ath_graph_type(g, x);
  if (x != ATH_NO_VALUE && ath_type_equal(&from, &type)) return x;
  ath_value y;
  ath_graph_add(g, &reshape, &type, sizeof type, &x, 1, &y, 1);
  return y;
}
