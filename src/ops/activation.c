/* activation.c: y = act(x) elementwise; ops.h lists the kinds and their papers.
 *
 * dx = dy act'(x). The slope is computed from x again: y does not determine it for GELU and SiLU,
 * and keeping one of the two is enough. */
#include <assert.h>

#include "ops/common.h"

typedef struct attributes {
  ath_activation_kind kind;
} attributes;

/* x, or x and dy in the backward operation. */
static ath_status infer(const void *given, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  const attributes *its = given;
  assert(output_count == 1);
  ATH_TRY(ath_want_float(&inputs[0], "x"));
  if (its->kind < ATH_GELU || its->kind > ATH_TANH)
    return ath_fail(ATH_INVALID, "%d is no kind of activation", (int)its->kind);
  if (input_count == 2) ATH_TRY(ath_want_same(&inputs[0], "x", &inputs[1], "dy"));
  outputs[0] = inputs[0];
  return ATH_OK;
}

static ath_status describe(const void *given, ath_buffer *out) {
  static const char *const names[] = {"gelu", "gelu_tanh", "relu", "silu", "tanh"};
  const attributes *its = given;
  return ath_buffer_format(out, "kind=%s", names[its->kind]);
}

static ath_status backward_cpu(const ath_cpu_call *call) {
  const attributes *its = call->node->attributes;
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->activation_backward(call->inputs[0], NULL, call->inputs[1], call->outputs[0], 1,
                               ath_type_count(&call->output_types[0]), (int)its->kind);
  return ATH_OK;
}

static const ath_op activation_backward = {
  .name = "activation_backward", .infer = infer, .cpu = backward_cpu,
  .in_place = ath_any_in_place, .describe = describe};

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  ath_value inputs[2] = {node->inputs[0], output_gradients[0]};
  if (wanted[0])
    ath_graph_add(g, &activation_backward, node->attributes, sizeof(attributes), inputs, 2,
                  &input_gradients[0], 1);
}

static ath_status cpu(const ath_cpu_call *call) {
  const attributes *its = call->node->attributes;
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->activation(call->inputs[0], NULL, call->outputs[0], 1,
                      ath_type_count(&call->output_types[0]), (int)its->kind);
  return ATH_OK;
}

const ath_op ath_op_activation = {
  .name = "activation", .infer = infer, .grad = grad, .cpu = cpu, .in_place = ath_any_in_place,
  .fuse = ath_fuse_bias_activation, .describe = describe};

ath_value ath_activation(ath_graph *g, ath_value x, ath_activation_kind kind) {
  attributes its = {.kind = kind};
  ath_value y;
  ath_graph_add(g, &ath_op_activation, &its, sizeof its, &x, 1, &y, 1);
  return y;
}
