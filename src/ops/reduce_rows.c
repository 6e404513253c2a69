/* reduce_rows.c: the sum over all but the last dimension: f32[columns], of bf16 rows too.
 *
 * dx = dy repeated over the rows. */
#include <assert.h>

#include "ops/common_stablehlo.h"

static ath_status infer(const void *attributes, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  (void)attributes;
  assert(input_count == 1 && output_count == 1);
  ATH_TRY(ath_want_rows(&inputs[0], "x"));
  outputs[0] = ath_type_vector(ath_type_columns(&inputs[0]));
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  if (!wanted[0]) return;
  ath_type type = ath_graph_type(g, node->inputs[0]);
  input_gradients[0] = ath_repeat(g, ath_convert(g, output_gradients[0], type.dtype), type);
}

static size_t cpu_scratch(const ath_cpu_call *call) {
  return ath_row_sums_scratch(&call->input_types[0], 1);
}

static ath_status cpu(const ath_cpu_call *call) {
  const ath_type *x = &call->input_types[0];
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->reduce_rows(call->inputs[0], call->outputs[0], ath_type_rows(x), ath_type_columns(x),
                       call->scratch);
  return ATH_OK;
}

static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  ath_hlo_value parts[ATH_HLO_PARTS];
  if (!ath_hlo_kept(h, call->node->inputs[0], ATH_HLO_KEPT_PARTS, parts, ATH_HLO_PARTS)) {
    ath_hlo_out(call, 0, ath_hlo_sum_rows(h, ath_hlo_in(call, 0)));
    return ath_hlo_status(h);
  }
  for (int i = 0; i < ATH_HLO_PARTS; i++)
    parts[i] = ath_hlo_sum_rows(h, ath_hlo_convert(h, parts[i], ATH_HLO_F32));
  ath_hlo_out(call, 0, ath_hlo_concatenate(h, parts, ATH_HLO_PARTS, 0));
  return ath_hlo_status(h);
}

static const ath_op reduce_rows = {.name = "reduce_rows", .infer = infer, .grad = grad,
                                   .cpu = cpu, .cpu_scratch = cpu_scratch,
  .stablehlo = stablehlo};

ath_value ath_reduce_rows(ath_graph *g, ath_value x) {
  ath_value y;
  ath_graph_add(g, &reduce_rows, NULL, 0, &x, 1, &y, 1);
  return y;
}
