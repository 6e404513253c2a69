/* sum.c: a + b for values of one type. Apart from ops/add.c, which also repeats b: graph/ may not
 * know operations of ops/, and a sum of gradients needs no shape but its own. */
#include <assert.h>

#include "graph/op.h"
#include "kernels/kernels.h"

static ath_status infer(const void *attributes, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  (void)attributes;
  assert(input_count == 2 && output_count == 1);
  char texts[2][96];
  if (!ath_type_equal(&inputs[0], &inputs[1]))
    return ath_fail(ATH_INVALID, "%s and %s are not of one type",
                    ath_type_text(&inputs[0], texts[0]), ath_type_text(&inputs[1], texts[1]));
  outputs[0] = inputs[0];
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  (void)g, (void)node;
  for (int i = 0; i < 2; i++)
    if (wanted[i]) input_gradients[i] = output_gradients[0];
}

static ath_status cpu(const ath_cpu_call *call) {
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  int64_t n = ath_type_count(&call->output_types[0]);
  kernels->add(call->inputs[0], call->inputs[1], call->outputs[0], n, n);
  return ATH_OK;
}

static uint32_t in_place(const ath_node *node, int output) {
  (void)node, (void)output;
  return 1u << 0 | 1u << 1;
}

const ath_op ath_op_sum = {
  .name = "sum", .infer = infer, .grad = grad, .cpu = cpu, .in_place = in_place};

ath_value ath_graph_sum(ath_graph *self, ath_value a, ath_value b) {
  ath_value inputs[2] = {a, b}, sum;
  ath_graph_add(self, &ath_op_sum, NULL, 0, inputs, 2, &sum, 1);
  return sum;
}
