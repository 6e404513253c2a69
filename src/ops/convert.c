/* convert.c: the same numbers in another floating element type; to bf16 they are rounded to the
 * nearest, ties to even.
 *
 * dx = dy converted back: rounding counts as the identity. */
#include <assert.h>

#include "base/bf16.h"
#include "ops/common.h"
#include "stablehlo/hlo.h"

typedef struct attributes {
  ath_dtype dtype; /* of the result */
} attributes;

static ath_status infer(const void *given, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  const attributes *its = given;
  assert(input_count == 1 && output_count == 1);
  ATH_TRY(ath_want_float(&inputs[0], "x"));
  if (its->dtype != ATH_F32 && its->dtype != ATH_BF16)
    return ath_fail(ATH_INVALID, "x can be converted to f32 or bf16, not to %s",
                    its->dtype < ATH_DTYPE_COUNT ? ath_dtype_name(its->dtype) : "no type at all");
  outputs[0] = inputs[0];
  outputs[0].dtype = its->dtype;
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  if (wanted[0])
    input_gradients[0] =
        ath_convert(g, output_gradients[0], ath_graph_type(g, node->inputs[0]).dtype);
}

static ath_status cpu(const ath_cpu_call *call) {
  int64_t n = ath_type_count(&call->output_types[0]);
  const float *floats = call->inputs[0];
  const uint16_t *halves = call->inputs[0];
  assert(call->input_types[0].dtype != call->output_types[0].dtype);
  if (call->output_types[0].dtype == ATH_BF16)
    for (int64_t i = 0; i < n; i++)
      ((uint16_t *)call->outputs[0])[i] = ath_bf16_from_float(floats[i]);
  else
    for (int64_t i = 0; i < n; i++)
      ((float *)call->outputs[0])[i] = ath_bf16_to_float(halves[i]);
  return ATH_OK;
}

static ath_status stablehlo(const ath_hlo_call *call) {
  call->outputs[0] = ath_hlo_convert(call->hlo, call->inputs[0],
                                     (ath_hlo_dtype)call->output_types[0].dtype);
  return ath_hlo_status(call->hlo);
}

static const ath_op convert = {.name = "convert", .infer = infer, .grad = grad, .cpu = cpu,
                               .cpu_bf16 = true, .stablehlo = stablehlo};

/* To the type that x has already adds no node, so that a model of f32 has none. */
ath_value ath_convert(ath_graph *g, ath_value x, ath_dtype dtype) {
  if (x != ATH_NO_VALUE && ath_graph_type(g, x).dtype == dtype) return x;
  attributes its = {.dtype = dtype};
  ath_value y;
  ath_graph_add(g, &convert, &its, sizeof its, &x, 1, &y, 1);
  return y;
}
