/* cross_entropy.c: Σ weight (lse − logit[label]) over rows, with the sums that a report needs.
 *
 * dlogits = dloss weight (softmax(logits) − onehot(label)), in the logits' own memory when nobody
 * else reads them. Sums, not means: who averages divides by the count of scored positions once, so
 * that micro-batches and replicas add up right. */
#include <assert.h>
#include <inttypes.h>

#include "ops/common.h"

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

static const ath_op backward = {.name = "cross_entropy_backward", .infer = backward_infer,
                                .cpu = backward_cpu, .in_place = backward_in_place};

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

static const ath_op cross_entropy = {
  .name = "cross_entropy", .infer = infer, .grad = grad, .cpu = cpu};

ath_cross_entropy_result ath_cross_entropy(ath_graph *g, ath_value logits, ath_value labels,
                                           ath_value weights) {
  ath_value inputs[3] = {logits, labels, weights}, outputs[4];
  ath_graph_add(g, &cross_entropy, NULL, 0, inputs, 3, outputs, 4);
  return (ath_cross_entropy_result){
    .loss = outputs[0], .weight = outputs[1], .correct = outputs[2]};
}
