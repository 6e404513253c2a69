/* adamw.c: one step of Adam with decoupled weight decay, in place on its three variables.
 *
 * ops.h has the formulas; the gradient's scale (see clip.c) is applied here, so that no scaled copy
 * of the gradients is made. The results are assigned to the variables: the plan puts them straight
 * into the variables' memory when every other reader comes earlier. */
#include <assert.h>
#include <string.h>

#include "ops/common_stablehlo.h"

enum { PARAMETER, FIRST_MOMENT, SECOND_MOMENT, GRADIENT, RATE, CORRECTION1, CORRECTION2, SCALE,
       INPUTS };

static ath_status infer(const void *given, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  (void)given;
  assert(input_count == INPUTS && output_count == 3);
  ATH_TRY(ath_want_dtype(&inputs[PARAMETER], "the parameter", ATH_F32));
  ATH_TRY(ath_want_same(&inputs[PARAMETER], "the parameter", &inputs[FIRST_MOMENT], "m"));
  ATH_TRY(ath_want_same(&inputs[PARAMETER], "the parameter", &inputs[SECOND_MOMENT], "v"));
  ATH_TRY(ath_want_same(&inputs[PARAMETER], "the parameter", &inputs[GRADIENT], "the gradient"));
  ATH_TRY(ath_want_scalar(&inputs[RATE], "the learning rate", ATH_F32));
  ATH_TRY(ath_want_scalar(&inputs[CORRECTION1], "correction1", ATH_F32));
  ATH_TRY(ath_want_scalar(&inputs[CORRECTION2], "correction2", ATH_F32));
  ATH_TRY(ath_want_scalar(&inputs[SCALE], "the gradient's scale", ATH_F32));
  for (int i = 0; i < 3; i++) outputs[i] = inputs[PARAMETER];
  return ATH_OK;
}

static float scalar(const ath_cpu_call *call, int input) {
  return *(const float *)call->inputs[input];
}

/* The kernel works in place; where a plan could not share the memory the old values are copied. */
static ath_status cpu(const ath_cpu_call *call) {
  const ath_adamw_options *its = call->node->attributes;
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  size_t bytes = ath_type_bytes(&call->output_types[0]);
  for (int i = 0; i < 3; i++)
    if (call->outputs[i] != call->inputs[i]) memcpy(call->outputs[i], call->inputs[i], bytes);
  kernels->adamw(call->outputs[0], call->outputs[1], call->outputs[2], call->inputs[GRADIENT],
                 ath_type_count(&call->output_types[0]), scalar(call, SCALE),
                 scalar(call, RATE), scalar(call, CORRECTION1), scalar(call, CORRECTION2),
                 its->beta1, its->beta2, its->epsilon, its->weight_decay);
  return ATH_OK;
}

/* Output i is variable i, element by element. */
static uint32_t in_place(const ath_node *node, int output) {
  (void)node;
  return 1u << output;
}

static ath_status describe(const void *given, ath_buffer *out) {
  const ath_adamw_options *its = given;
  return ath_buffer_format(out, "beta1=%g beta2=%g epsilon=%g weight_decay=%g",
                           (double)its->beta1, (double)its->beta2, (double)its->epsilon,
                           (double)its->weight_decay);
}

/* One elementwise pass, which XLA fuses; what depends on scalars alone is divided once. */
static ath_status stablehlo(const ath_hlo_call *call) {
  const ath_adamw_options *its = call->node->attributes;
  const ath_hlo_value *in = call->inputs;
  ath_hlo *h = call->hlo;
  double beta1 = (double)its->beta1, beta2 = (double)its->beta2;
  ath_hlo_value one = ath_hlo_constant(h, ATH_HLO_F32, 1);
  ath_hlo_value shrink = ath_hlo_times(h, in[RATE], (double)its->weight_decay);
  ath_hlo_value kept = ath_hlo_subtract(h, one, shrink);
  ath_hlo_value rate = ath_hlo_divide(h, in[RATE], in[CORRECTION1]);
  ath_hlo_value factor2 = ath_hlo_divide(h, one, in[CORRECTION2]);
  ath_hlo_value g = ath_hlo_multiply(h, ath_hlo_in(call, GRADIENT), in[SCALE]);
  ath_hlo_value m = ath_hlo_add(h, ath_hlo_times(h, in[FIRST_MOMENT], beta1),
                                ath_hlo_times(h, g, 1 - beta1));
  ath_hlo_value v = ath_hlo_add(h, ath_hlo_times(h, in[SECOND_MOMENT], beta2),
                                ath_hlo_times(h, ath_hlo_multiply(h, g, g), 1 - beta2));
  ath_hlo_value deviation = ath_hlo_unary(h, "sqrt", ath_hlo_multiply(h, v, factor2));
  ath_hlo_value change = ath_hlo_divide(h, ath_hlo_multiply(h, m, rate),
                                        ath_hlo_plus(h, deviation, (double)its->epsilon));
  ath_hlo_value p = ath_hlo_multiply(h, in[PARAMETER], kept);
  ath_hlo_out(call, 0, ath_hlo_subtract(h, p, change));
  ath_hlo_out(call, 1, m);
  ath_hlo_out(call, 2, v);
  return ath_hlo_status(h);
}

static const ath_op adamw = {
  .name = "adamw", .infer = infer, .cpu = cpu, .in_place = in_place, .describe = describe,
  .stablehlo = stablehlo};

void ath_adamw(ath_graph *g, ath_value parameter, ath_value m, ath_value v, ath_value gradient,
               ath_adamw_scalars scalars, ath_adamw_options options) {
  ath_value inputs[INPUTS] = {parameter, m, v, gradient, scalars.learning_rate,
                              scalars.correction1, scalars.correction2, scalars.gradient_scale};
  ath_value outputs[3];
  ath_graph_add(g, &adamw, &options, sizeof options, inputs, INPUTS, outputs, 3);
  for (int i = 0; i < 3; i++) ath_graph_assign(g, inputs[i], outputs[i]);
}
