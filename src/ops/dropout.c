/* dropout.c: y = x * mask / (1 − rate), the mask a hash of (seed, step, site, element index).
 * Inputs: x, step and, with by_rows, the rows that x's rows are masked as.
 *
 * dx is the same operation on dy: the mask is computed again rather than kept. */
#include <assert.h>

#include "ops/common_stablehlo.h"

static ath_status infer(const void *attributes, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  assert(input_count == 3 && output_count == 1);
  ATH_TRY(ath_want_float(&inputs[0], "x"));
  ATH_TRY(ath_want_dropout_rows(attributes, &inputs[1], &inputs[2], &inputs[0]));
  outputs[0] = inputs[0];
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  const ath_dropout_place *place = node->attributes;
  if (wanted[0]) input_gradients[0] = ath_dropout(g, output_gradients[0], *place);
}

static ath_status cpu(const ath_cpu_call *call) {
  const ath_type *x = &call->input_types[0];
  int64_t columns = x->rank > 0 ? ath_type_columns(x) : 1; /* a scalar is a row of one */
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->dropout(call->inputs[0], call->outputs[0], ath_type_count(x) / columns, columns,
                   ath_dropout_at_rows(call->node->attributes, call->inputs[1], call->inputs[2]));
  return ATH_OK;
}

/* x alone: the other inputs are of other types. */
static uint32_t in_place(const ath_node *node, int output) {
  (void)node, (void)output;
  return 1u << 0;
}

static ath_status describe(const void *attributes, ath_buffer *out) {
  return ath_dropout_describe(attributes, out);
}

static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  ath_hlo_value x = ath_hlo_in(call, 0);
  ath_hlo_out(call, 0, ath_hlo_dropout_rows(h, call->node->attributes, call->inputs[1],
                                            call->inputs[2], x));
  return ath_hlo_status(h);
}

const ath_op ath_op_dropout = {.name = "dropout", .infer = infer, .grad = grad, .cpu = cpu,
                               .in_place = in_place, .describe = describe,
  .stablehlo = stablehlo};

/* Rate 0 adds no node, so that evaluation graphs need no step; a NaN goes on to be refused. */
ath_value ath_dropout(ath_graph *g, ath_value x, ath_dropout_place place) {
  if (place.rate == 0) return x;
  ath_value inputs[3] = {x, place.step, ath_dropout_rows(&place)}, y;
  ath_graph_add(g, &ath_op_dropout, &place, sizeof place, inputs, 3, &y, 1);
  return y;
}
