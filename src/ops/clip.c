/* clip.c: what summed gradients are multiplied by so that their mean has a bounded norm:
 *
 *   norm = sqrt(sum_of_squares) / divisor;  scale = min(1, max_norm / (norm + 1e-6)) / divisor
 *
 * Two scalars, computed in double. No gradient: it stands behind differentiation. */
#include <assert.h>
#include <math.h>

#include "ops/common_stablehlo.h"

typedef struct attributes {
  float max_norm;
} attributes;

static ath_status infer(const void *given, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  (void)given;
  assert(input_count == 2 && output_count == 2);
  ATH_TRY(ath_want_scalar(&inputs[0], "sum_of_squares", ATH_F32));
  ATH_TRY(ath_want_scalar(&inputs[1], "divisor", ATH_F32));
  outputs[0] = outputs[1] = ATH_TYPE_SCALAR;
  return ATH_OK;
}

/* A NaN goes into both results; an infinite norm gives scale 0, and the norm tells why. */
static ath_status cpu(const ath_cpu_call *call) {
  const attributes *its = call->node->attributes;
  double squares = *(const float *)call->inputs[0], divisor = *(const float *)call->inputs[1];
  double norm = divisor != 0 ? sqrt(squares) / divisor : 0, scale = 0;
  if (divisor != 0) {
    double clip = its->max_norm > 0 ? (double)its->max_norm / (norm + 1e-6) : 1;
    scale = (clip < 1 ? clip : 1) / divisor;
    if (isnan(norm)) scale = norm; /* the comparison above would hide it */
  }
  *(float *)call->outputs[0] = (float)scale;
  *(float *)call->outputs[1] = (float)norm;
  return ATH_OK;
}

static ath_status describe(const void *given, ath_buffer *out) {
  const attributes *its = given;
  return ath_buffer_format(out, "max_norm=%g", (double)its->max_norm);
}

/* In f32. "minimum" gives a NaN through; without a limit a NaN is looked for. */
static ath_status stablehlo(const ath_hlo_call *call) {
  const attributes *its = call->node->attributes;
  ath_hlo *h = call->hlo;
  ath_hlo_value divisor = call->inputs[1], zero = ath_hlo_constant(h, ATH_HLO_F32, 0);
  ath_hlo_value norm = ath_hlo_divide(h, ath_hlo_unary(h, "sqrt", call->inputs[0]), divisor);
  ath_hlo_value clip = ath_hlo_constant(h, ATH_HLO_F32, 1);
  if (its->max_norm > 0) {
    ath_hlo_value limit = ath_hlo_constant(h, ATH_HLO_F32, (double)its->max_norm);
    clip = ath_hlo_binary(h, "minimum", clip,
                          ath_hlo_divide(h, limit, ath_hlo_plus(h, norm, 1e-6)));
  } else {
    clip = ath_hlo_select(h, ath_hlo_compare(h, "EQ", norm, norm), clip, norm);
  }
  ath_hlo_value scored = ath_hlo_compare(h, "NE", divisor, zero);
  ath_hlo_out(call, 0, ath_hlo_select(h, scored, ath_hlo_divide(h, clip, divisor), zero));
  ath_hlo_out(call, 1, ath_hlo_select(h, scored, norm, zero));
  return ath_hlo_status(h);
}

static const ath_op clip = {.name = "clip", .infer = infer, .cpu = cpu, .describe = describe,
  .stablehlo = stablehlo};

ath_clip_result ath_clip(ath_graph *g, ath_value sum_of_squares, ath_value divisor,
                         float max_norm) {
  attributes its = {.max_norm = max_norm};
  ath_value inputs[2] = {sum_of_squares, divisor}, outputs[2];
  ath_graph_add(g, &clip, &its, sizeof its, inputs, 2, outputs, 2);
  return (ath_clip_result){.scale = outputs[0], .norm = outputs[1]};
}
