/* linear.c: y = x wᵀ + bias, the weight as checkpoints store it: [out, in]. In bf16 the bias is
 * f32, added before the product is rounded.
 *
 * dx = dy w; dw = dyᵀ x; dbias = dy summed over rows. Where a fused operation follows, the bias is
 * added there (see bias_activation.c, residual_norm.c) and its gradient comes from there. */
#include <assert.h>

#include "ops/common_stablehlo.h"

static ath_status infer(const void *attributes, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  const ath_type *x = &inputs[0], *w = &inputs[1], *bias = &inputs[2];
  char texts[2][96];
  (void)attributes;
  assert(input_count == 3 && output_count == 1);
  ATH_TRY(ath_want_rows(x, "x"));
  ATH_TRY(ath_want_float(w, "w"));
  if (w->rank != 2)
    return ath_fail(ATH_INVALID, "w is %s, not a matrix [out, in]", ath_type_text(w, texts[0]));
  if (ath_type_columns(x) != w->dims[1] || x->dtype != w->dtype)
    return ath_fail(ATH_INVALID, "x %s has %lld columns, but w %s wants %lld",
                    ath_type_text(x, texts[0]), (long long)ath_type_columns(x),
                    ath_type_text(w, texts[1]), (long long)w->dims[1]);
  outputs[0] = *x;
  outputs[0].dims[x->rank - 1] = w->dims[0];
  return ath_type_given(bias) ? ath_want_per_column(bias, "bias", &outputs[0], "the result")
                              : ATH_OK;
}

/* In the products leading dimensions count as rows, so that dw sums over batch and length alike. */
static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  ath_value x = node->inputs[0], w = node->inputs[1], dy = output_gradients[0];
  if (wanted[0]) input_gradients[0] = ath_matmul(g, dy, w, false, false);
  if (wanted[1]) input_gradients[1] = ath_matmul(g, dy, x, true, false);
  if (wanted[2]) input_gradients[2] = ath_reduce_rows(g, dy);
}

/* w is read transposed where it lies: no copy of a weight is made at any time. */
static ath_gemm_shape shape_of(const ath_type *inputs) {
  return (ath_gemm_shape){.m = ath_type_rows(&inputs[0]), .n = inputs[1].dims[0],
                          .k = inputs[1].dims[1], .transpose_b = 1,
                          .bias = ath_type_given(&inputs[2])};
}

static ath_status cpu_prepare(ath_cpu_call *call) {
  ath_gemm *gemm;
  ATH_TRY(ath_gemm_create(shape_of(call->input_types), &gemm));
  call->prepared = gemm;
  return ATH_OK;
}

static size_t cpu_scratch(const ath_cpu_call *call) { return ath_gemm_scratch(call->prepared); }

static void cpu_release(ath_cpu_call *call) { ath_gemm_destroy(call->prepared); }

static ath_status cpu(const ath_cpu_call *call) {
  return ath_gemm_run(call->prepared, call->inputs[0], call->inputs[1], call->inputs[2],
                      call->outputs[0], call->scratch);
}

static double flops(const ath_node *node, const ath_type *inputs, const ath_type *outputs) {
  ath_gemm_shape shape = shape_of(inputs);
  (void)node, (void)outputs;
  return 2.0 * (double)shape.m * (double)shape.n * (double)shape.k;
}

/* The operands as they are, the sum and the bias in f32. */
static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  ath_hlo_value x = call->inputs[0], w = call->inputs[1];
  ath_hlo_value y = ath_hlo_dot(h, x, w, 0, x.rank - 1, 1, ATH_HLO_F32);
  ath_hlo_out(call, 0, ath_hlo_add_bias(h, y, ath_hlo_in(call, 2)));
  ath_hlo_keep(h, call->node->outputs[0], ATH_HLO_KEPT_FACTORS, call->inputs, ATH_HLO_FACTORS);
  return ath_hlo_status(h);
}

const ath_op ath_op_linear = {
  .name = "linear", .infer = infer, .grad = grad, .cpu = cpu, .cpu_scratch = cpu_scratch,
  .cpu_prepare = cpu_prepare, .cpu_release = cpu_release, .flops = flops,
  .stablehlo = stablehlo};

ath_value ath_linear(ath_graph *g, ath_value x, ath_value w, ath_value bias) {
  ath_value inputs[3] = {x, w, bias}, y;
  ath_graph_add(g, &ath_op_linear, NULL, 0, inputs, 3, &y, 1);
  return y;
}
