/* matmul.c: op(a) op(b), op = transpose where asked. Leading dimensions count as rows.
 *
 * With y = op(a) op(b): d op(a) = dy op(b)ᵀ and d op(b) = op(a)ᵀ dy; where a or b enters transposed
 * its gradient is that product transposed, which is again one product of the four forms. */
#include <assert.h>

#include "ops/common_stablehlo.h"

typedef struct attributes {
  bool transpose_a, transpose_b;
} attributes;

/* m, n, k of the product, once the operands are known to have rows. */
static ath_gemm_shape shape_of(const attributes *its, const ath_type *a, const ath_type *b) {
  int64_t a_rows = ath_type_rows(a), a_columns = ath_type_columns(a);
  return (ath_gemm_shape){.m = its->transpose_a ? a_columns : a_rows,
                          .k = its->transpose_a ? a_rows : a_columns,
                          .n = its->transpose_b ? ath_type_rows(b) : ath_type_columns(b),
                          .transpose_a = its->transpose_a, .transpose_b = its->transpose_b};
}

static ath_status infer(const void *given, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  const attributes *its = given;
  const ath_type *a = &inputs[0], *b = &inputs[1];
  char texts[2][96];
  assert(input_count == 2 && output_count == 1);
  ATH_TRY(ath_want_rows(a, "a"));
  ATH_TRY(ath_want_rows(b, "b"));
  ath_gemm_shape shape = shape_of(its, a, b);
  int64_t k = its->transpose_b ? ath_type_columns(b) : ath_type_rows(b);
  if (shape.k != k || a->dtype != b->dtype)
    return ath_fail(ATH_INVALID, "a%s %s has %lld inner elements, but b%s %s has %lld",
                    its->transpose_a ? "ᵀ" : "", ath_type_text(a, texts[0]), (long long)shape.k,
                    its->transpose_b ? "ᵀ" : "", ath_type_text(b, texts[1]), (long long)k);
  /* Transposed, a's leading dimensions are summed over: what a weight's gradient wants. */
  if (its->transpose_a) {
    outputs[0] = (ath_type){.dtype = a->dtype, .rank = 2, .dims = {shape.m, shape.n}};
  } else {
    outputs[0] = *a;
    outputs[0].dims[a->rank - 1] = shape.n;
  }
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  const attributes *its = node->attributes;
  ath_value a = node->inputs[0], b = node->inputs[1], dy = output_gradients[0];
  bool ta = its->transpose_a, tb = its->transpose_b;
  if (wanted[0]) {
    ath_value da = ta ? ath_matmul(g, b, dy, tb, true) : ath_matmul(g, dy, b, false, !tb);
    input_gradients[0] = ath_reshape(g, da, ath_graph_type(g, a));
  }
  if (wanted[1]) {
    ath_value db = tb ? ath_matmul(g, dy, a, true, ta) : ath_matmul(g, a, dy, !ta, false);
    input_gradients[1] = ath_reshape(g, db, ath_graph_type(g, b));
  }
}

static ath_status cpu_prepare(ath_cpu_call *call) {
  ath_gemm *gemm;
  ATH_TRY(ath_gemm_create(
      shape_of(call->node->attributes, &call->input_types[0], &call->input_types[1]), &gemm));
  call->prepared = gemm;
  return ATH_OK;
}

static size_t cpu_scratch(const ath_cpu_call *call) { return ath_gemm_scratch(call->prepared); }

static void cpu_release(ath_cpu_call *call) { ath_gemm_destroy(call->prepared); }

static ath_status cpu(const ath_cpu_call *call) {
  return ath_gemm_run(call->prepared, call->inputs[0], call->inputs[1], NULL, call->outputs[0],
                      call->scratch);
}

static double flops(const ath_node *node, const ath_type *inputs, const ath_type *outputs) {
  ath_gemm_shape shape = shape_of(node->attributes, &inputs[0], &inputs[1]);
  (void)outputs;
  return 2.0 * (double)shape.m * (double)shape.n * (double)shape.k;
}

static ath_status describe(const void *given, ath_buffer *out) {
  const attributes *its = given;
  return ath_buffer_format(out, "a%s b%s", its->transpose_a ? "ᵀ" : "",
                           its->transpose_b ? "ᵀ" : "");
}

/* The gradient of a weight sums over rows. */
static int64_t summed_rows(const ath_node *node, const ath_type *inputs) {
  const attributes *its = node->attributes;
  return its->transpose_a && !its->transpose_b ? ath_type_rows(&inputs[0]) : 0;
}

/* a keeps its leading dimensions unless they are summed over; no operand is transposed in memory:
 * the product is told which dimension to sum over. */
static ath_status stablehlo(const ath_hlo_call *call) {
  const attributes *its = call->node->attributes;
  ath_hlo *h = call->hlo;
  if (call->parts > 0) {
    ath_hlo_value rows[2] = {ath_hlo_rows_in_parts(h, call->inputs[0], call->parts),
                             ath_hlo_rows_in_parts(h, call->inputs[1], call->parts)};
    call->outputs[0] = ath_hlo_dot(h, rows[0], rows[1], 1, 1, 1, ATH_HLO_F32);
    return ath_hlo_status(h);
  }
  ath_hlo_value a = call->inputs[0], b = ath_hlo_matrix(h, call->inputs[1]);
  if (its->transpose_a) a = ath_hlo_matrix(h, a);
  ath_hlo_out(call, 0, ath_hlo_dot(h, a, b, 0, its->transpose_a ? 0 : a.rank - 1,
                                   its->transpose_b ? 1 : 0, ATH_HLO_F32));
  return ath_hlo_status(h);
}

static const ath_op matmul = {
  .name = "matmul", .infer = infer, .grad = grad, .cpu = cpu, .cpu_scratch = cpu_scratch,
  .cpu_prepare = cpu_prepare, .cpu_release = cpu_release, .flops = flops, .describe = describe,
  .stablehlo = stablehlo, .summed_rows = summed_rows};

ath_value ath_matmul(ath_graph *g, ath_value a, ath_value b, bool transpose_a, bool transpose_b) {
  attributes its = {.transpose_a = transpose_a, .transpose_b = transpose_b};
  ath_value inputs[2] = {a, b}, y;
  ath_graph_add(g, &matmul, &its, sizeof its, inputs, 2, &y, 1);
  return y;
}
