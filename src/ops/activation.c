/* activation.c: y = act(x) elementwise; ops.h lists the kinds and their papers.
 *
 * dx = dy act'(x). The slope is computed from x again: y does not determine it for GELU and SiLU,
 * and keeping one of the two is enough. */
#include <assert.h>
#include <math.h>

#include "ops/common_stablehlo.h"

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

/* --- StableHLO ---------------------------------------------------------------------- */

/* Φ(x), the normal distribution function. */
static ath_hlo_value normal(ath_hlo *h, ath_hlo_value x) {
  ath_hlo_value e = ath_hlo_unary(h, "erf", ath_hlo_times(h, x, M_SQRT1_2));
  return ath_hlo_times(h, ath_hlo_plus(h, e, 1), 0.5);
}

/* logistic(2u) = (1 + tanh u) / 2 with u = √(2/π) (x + 0.044715 x³). Unlike 1 − tanh² u, which
 * XLA's tanh leaves at 2e-7 for large u, the logistic's own slope s (1 − s) is 0 there, and may be
 * multiplied by a high power of x. */
static const double root_2_over_pi = M_2_SQRTPI * M_SQRT1_2;
static ath_hlo_value tanh_form(ath_hlo *h, ath_hlo_value x, ath_hlo_value square) {
  ath_hlo_value factor = ath_hlo_plus(h, ath_hlo_times(h, square, 0.044715), 1);
  factor = ath_hlo_times(h, ath_hlo_multiply(h, x, factor), 2 * root_2_over_pi);
  return ath_hlo_unary(h, "logistic", factor);
}

ath_hlo_value ath_hlo_activation(ath_hlo *h, ath_hlo_value x, ath_activation_kind kind) {
  switch (kind) {
    case ATH_GELU:
      return ath_hlo_multiply(h, x, normal(h, x));
    case ATH_GELU_TANH:
      return ath_hlo_multiply(h, x, tanh_form(h, x, ath_hlo_multiply(h, x, x)));
    case ATH_RELU:
      return ath_hlo_binary(h, "maximum", x, ath_hlo_constant(h, x.dtype, 0));
    case ATH_SILU:
      return ath_hlo_multiply(h, x, ath_hlo_unary(h, "logistic", x));
    default:
      assert(kind == ATH_TANH);
      return ath_hlo_unary(h, "tanh", x);
  }
}

/* 1 − tanh² x = 4 logistic(2x) logistic(−2x), where nothing cancels for large x. */
static ath_hlo_value tanh_slope(ath_hlo *h, ath_hlo_value x) {
  ath_hlo_value up = ath_hlo_unary(h, "logistic", ath_hlo_times(h, x, 2));
  ath_hlo_value down = ath_hlo_unary(h, "logistic", ath_hlo_times(h, x, -2));
  return ath_hlo_times(h, ath_hlo_multiply(h, up, down), 4);
}

/* Φ(x) + x φ(x), with the density φ(x) = exp(−x²/2) / √(2π). */
static ath_hlo_value gelu_slope(ath_hlo *h, ath_hlo_value x) {
  ath_hlo_value exponent = ath_hlo_times(h, ath_hlo_multiply(h, x, x), -0.5);
  ath_hlo_value density =
      ath_hlo_times(h, ath_hlo_unary(h, "exponential", exponent), 0.5 * root_2_over_pi);
  return ath_hlo_add(h, normal(h, x), ath_hlo_multiply(h, x, density));
}

/* s + x s (1 − s) · 2 √(2/π) (1 + 3 · 0.044715 x²) */
static ath_hlo_value gelu_tanh_slope(ath_hlo *h, ath_hlo_value x) {
  ath_hlo_value square = ath_hlo_multiply(h, x, x), s = tanh_form(h, x, square);
  ath_hlo_value inner = ath_hlo_plus(h, ath_hlo_times(h, square, 3 * 0.044715), 1);
  ath_hlo_value rest = ath_hlo_subtract(h, ath_hlo_constant(h, x.dtype, 1), s);
  ath_hlo_value steep = ath_hlo_multiply(h, ath_hlo_multiply(h, s, rest),
                                         ath_hlo_multiply(h, x, inner));
  return ath_hlo_add(h, s, ath_hlo_times(h, steep, 2 * root_2_over_pi));
}

/* s + x s (1 − s) */
static ath_hlo_value silu_slope(ath_hlo *h, ath_hlo_value x) {
  ath_hlo_value s = ath_hlo_unary(h, "logistic", x);
  ath_hlo_value rest = ath_hlo_subtract(h, ath_hlo_constant(h, x.dtype, 1), s);
  return ath_hlo_add(h, s, ath_hlo_multiply(h, x, ath_hlo_multiply(h, s, rest)));
}

ath_hlo_value ath_hlo_activation_slope(ath_hlo *h, ath_hlo_value x, ath_activation_kind kind) {
  switch (kind) {
    case ATH_GELU: return gelu_slope(h, x);
    case ATH_GELU_TANH: return gelu_tanh_slope(h, x);
    case ATH_RELU:
      return ath_hlo_convert(h, ath_hlo_compare(h, "GT", x, ath_hlo_constant(h, x.dtype, 0)),
                             x.dtype);
    case ATH_SILU: return silu_slope(h, x);
    default:
      assert(kind == ATH_TANH);
      return tanh_slope(h, x);
  }
}

static ath_status backward_stablehlo(const ath_hlo_call *call) {
  const attributes *its = call->node->attributes;
  ath_hlo *h = call->hlo;
  ath_hlo_value slope = ath_hlo_activation_slope(h, ath_hlo_in(call, 0), its->kind);
  ath_hlo_out(call, 0, ath_hlo_multiply(h, ath_hlo_in(call, 1), slope));
  return ath_hlo_status(h);
}

/* --- gradient and forward ----------------------------------------------------------- */

static const ath_op activation_backward = {
  .name = "activation_backward", .infer = infer, .cpu = backward_cpu,
  .in_place = ath_any_in_place, .describe = describe,
  .stablehlo = backward_stablehlo};

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

static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  const attributes *its = call->node->attributes;
  ath_hlo_out(call, 0, ath_hlo_activation(h, ath_hlo_in(call, 0), its->kind));
  return ath_hlo_status(h);
}

const ath_op ath_op_activation = {
  .name = "activation", .infer = infer, .grad = grad, .cpu = cpu, .in_place = ath_any_in_place,
  .fuse = ath_fuse_bias_activation, .describe = describe,
  .stablehlo = stablehlo};

ath_value ath_activation(ath_graph *g, ath_value x, ath_activation_kind kind) {
  attributes its = {.kind = kind};
  ath_value y;
  ath_graph_add(g, &ath_op_activation, &its, sizeof its, &x, 1, &y, 1);
  return y;
}
