/* cross_entropy.c: Σ weight (lse − logit[label]) over rows, with the sums that a report needs.
 *
 * dlogits = dloss weight (softmax(logits) − onehot(label)), in the logits' own memory when nobody
 * else reads them. Sums, not means: who averages divides by the count of scored positions once, so
 * that micro-batches and replicas add up right. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "ops/common_stablehlo.h"

static ath_status check_rows(const ath_type *logits, const ath_type *labels,
                             const ath_type *weights) {
  char texts[2][96];
  ATH_TRY(ath_want_float(logits, "logits"));
  if (logits->rank != 2)
    return ath_fail(ATH_INVALID, "logits are %s, not [n, classes]",
                    ath_type_text(logits, texts[0]));
  ATH_TRY(ath_want_dtype(labels, "labels", ATH_I32));
  ATH_TRY(ath_want_dtype(weights, "weights", ATH_F32));
  if (labels->rank != 1 || labels->dims[0] != logits->dims[0])
    return ath_fail(ATH_INVALID, "labels are %s, but logits %s want i32[%lld]",
                    ath_type_text(labels, texts[0]), ath_type_text(logits, texts[1]),
                    (long long)logits->dims[0]);
  if (weights->rank != 1 || weights->dims[0] != logits->dims[0])
    return ath_fail(ATH_INVALID, "weights are %s, but logits %s want f32[%lld]",
                    ath_type_text(weights, texts[0]), ath_type_text(logits, texts[1]),
                    (long long)logits->dims[0]);
  return ATH_OK;
}

/* --- backward: logits, labels, weights, lse, dloss → dlogits ------------------------ */

static ath_status backward_infer(const void *attributes, const ath_type *inputs, int input_count,
                                 ath_type *outputs, int output_count) {
  (void)attributes;
  assert(input_count == 5 && output_count == 1);
  ATH_TRY(ath_want_scalar(&inputs[4], "dloss", ATH_F32));
  outputs[0] = inputs[0];
  return ATH_OK;
}

static ath_status backward_cpu(const ath_cpu_call *call) {
  const ath_type *logits = &call->input_types[0];
  void *const *in = call->inputs;
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->cross_entropy_backward(in[0], in[1], in[2], in[3], *(const float *)in[4],
                                  logits->dims[0], logits->dims[1], call->outputs[0]);
  return ATH_OK;
}

/* The logits are the largest value of a model; their gradient takes their place. */
static uint32_t backward_in_place(const ath_node *node, int output) {
  (void)node, (void)output;
  return 1u << 0;
}

/* Whether logits [n, classes] stand in the column of their row's label. */
static ath_hlo_value at_label(ath_hlo *h, ath_hlo_value logits, ath_hlo_value labels) {
  ath_hlo_value column = ath_hlo_iota(h, ATH_HLO_I32, logits.rank, logits.dims, 1);
  return ath_hlo_compare(h, "EQ", column, ath_hlo_broadcast_columns(h, labels, column));
}

/* Which rows count. */
static ath_hlo_value weighted(ath_hlo *h, ath_hlo_value weights) {
  return ath_hlo_compare(h, "NE", weights, ath_hlo_constant(h, ATH_HLO_F32, 0));
}

/* The choice at the end keeps whatever stands in a row of weight 0 out of the gradient. */
static ath_status backward_stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  ath_hlo_value logits = ath_hlo_in(call, 0), weights = call->inputs[2];
  ath_hlo_value lse = ath_hlo_broadcast_columns(h, call->inputs[3], logits);
  ath_hlo_value factor = ath_hlo_multiply(h, weights, call->inputs[4]);
  ath_hlo_value p = ath_hlo_unary(h, "exponential", ath_hlo_subtract(h, logits, lse));
  ath_hlo_value hit = ath_hlo_convert(h, at_label(h, logits, call->inputs[1]), ATH_HLO_F32);
  ath_hlo_value slope = ath_hlo_multiply(h, ath_hlo_subtract(h, p, hit),
                                         ath_hlo_broadcast_columns(h, factor, logits));
  ath_hlo_value counts = ath_hlo_broadcast_columns(h, weighted(h, weights), logits);
  ath_hlo_out(call, 0, ath_hlo_select(h, counts, slope, ath_hlo_fill(h, slope, 0)));
  return ath_hlo_status(h);
}

static const ath_op backward = {.name = "cross_entropy_backward", .infer = backward_infer,
                                .cpu = backward_cpu, .in_place = backward_in_place,
  .stablehlo = backward_stablehlo};

/* --- forward: logits, labels, weights → loss, weight, correct, lse ------------------ */

static ath_status infer(const void *attributes, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  (void)attributes;
  assert(input_count == 3 && output_count == 4);
  ATH_TRY(check_rows(&inputs[0], &inputs[1], &inputs[2]));
  outputs[0] = outputs[1] = outputs[2] = ATH_TYPE_SCALAR;
  outputs[3] = (ath_type){.dtype = ATH_F32, .rank = 1, .dims = {inputs[0].dims[0]}};
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  ath_value inputs[5] = {node->inputs[0], node->inputs[1], node->inputs[2], node->outputs[3],
                         output_gradients[0]};
  if (output_gradients[0] == ATH_NO_VALUE) return; /* weight and correct have no gradient */
  if (wanted[2])
    ath_graph_fail(g, ATH_UNSUPPORTED, "%s: the weights have no gradient", node->name);
  if (wanted[0]) ath_graph_add(g, &backward, NULL, 0, inputs, 5, &input_gradients[0], 1);
}

static ath_status cpu(const ath_cpu_call *call) {
  const ath_type *logits = &call->input_types[0];
  const int32_t *labels = call->inputs[1];
  float sums[3]; /* the kernel's three sums lie together; the graph's values lie apart */
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  int64_t bad =
      kernels->cross_entropy(call->inputs[0], labels, call->inputs[2], logits->dims[0],
                             logits->dims[1], call->outputs[3], sums);
  if (bad >= 0)
    return ath_fail(ATH_INVALID, "label %" PRId32 " at position %" PRId64
                    " is not one of %" PRId64 " classes", labels[bad], bad, logits->dims[1]);
  for (int i = 0; i < 3; i++) *(float *)call->outputs[i] = sums[i];
  return ATH_OK;
}

/* Per row of logits, each [n]. */
typedef struct row_values {
  ath_hlo_value lse;   /* log Σ exp */
  ath_hlo_value label; /* the label's logit; −∞, which makes the loss infinite, for a bad label */
  ath_hlo_value best;  /* the lowest id of the largest logit */
} row_values;

static row_values rows_of(ath_hlo *h, ath_hlo_value logits, ath_hlo_value labels) {
  ath_hlo_value highest = ath_hlo_reduce_columns(h, "maximum", logits);
  ath_hlo_value top = ath_hlo_broadcast_columns(h, highest, logits);
  ath_hlo_value shares = ath_hlo_unary(h, "exponential", ath_hlo_subtract(h, logits, top));
  ath_hlo_value total = ath_hlo_reduce_columns(h, "add", shares);
  ath_hlo_value column = ath_hlo_iota(h, ATH_HLO_I32, logits.rank, logits.dims, 1);
  ath_hlo_value candidates = ath_hlo_select(h, ath_hlo_compare(h, "EQ", logits, top), column,
                                            ath_hlo_fill(h, column, INT32_MAX));
  ath_hlo_value picked = ath_hlo_select(h, at_label(h, logits, labels), logits,
                                        ath_hlo_fill(h, logits, -INFINITY));
  return (row_values){.lse = ath_hlo_add(h, highest, ath_hlo_unary(h, "log", total)),
                      .label = ath_hlo_reduce_columns(h, "maximum", picked),
                      .best = ath_hlo_reduce_columns(h, "minimum", candidates)};
}

static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  ath_hlo_value labels = call->inputs[1], weights = call->inputs[2];
  row_values row = rows_of(h, ath_hlo_in(call, 0), labels);
  ath_hlo_value counts = weighted(h, weights), zeros = ath_hlo_fill(h, weights, 0);
  ath_hlo_value loss = ath_hlo_multiply(h, weights, ath_hlo_subtract(h, row.lse, row.label));
  ath_hlo_value correct = ath_hlo_compare(h, "EQ", row.best, labels);
  ath_hlo_out(call, 0, ath_hlo_sum_all(h, ath_hlo_select(h, counts, loss, zeros)));
  ath_hlo_out(call, 1, ath_hlo_sum_all(h, weights));
  ath_hlo_out(call, 2, ath_hlo_sum_all(h, ath_hlo_select(h, correct, weights, zeros)));
  ath_hlo_out(call, 3, ath_hlo_select(h, counts, row.lse, zeros));
  return ath_hlo_status(h);
}

static int64_t id_limit(const ath_node *node, const ath_type *inputs, int input, int *weights) {
  (void)node;
  *weights = 2;
  return input == 1 ? inputs[0].dims[1] : 0;
}

static const ath_op cross_entropy = {
  .name = "cross_entropy", .infer = infer, .grad = grad, .cpu = cpu, .id_limit = id_limit,
  .stablehlo = stablehlo};

ath_cross_entropy_result ath_cross_entropy(ath_graph *g, ath_value logits, ath_value labels,
                                           ath_value weights) {
  ath_value inputs[3] = {logits, labels, weights}, outputs[4];
  ath_graph_add(g, &cross_entropy, NULL, 0, inputs, 3, outputs, 4);
  return (ath_cross_entropy_result){
    .loss = outputs[0], .weight = outputs[1], .correct = outputs[2]};
}
