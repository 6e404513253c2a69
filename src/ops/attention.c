/* attention.c: scaled dot-product attention over packed queries, keys and values.
 *
 * Per head, with S = Q Kᵀ / sqrt(head size) and P = softmax(S) over the keys whose mask is not 0:
 *   out = dropout(P) V;  lse = log Σ exp S per row, from which P is had again.
 * With dP = (dout Vᵀ) through the mask and D = Σ dout out per row (Dao et al. 2022, section 3.1):
 *   dV = dropout(P)ᵀ dout;  dS = P (dP − D);  dQ = dS K / sqrt(…);  dK = dSᵀ Q / sqrt(…). */
#include <assert.h>

#include "ops/common.h"

typedef struct attributes {
  int heads;
  ath_dropout_place dropout;
} attributes;

static ath_attention_shape shape_of(const attributes *its, const ath_type *qkv) {
  return (ath_attention_shape){.batch = qkv->dims[0], .length = qkv->dims[1],
                               .heads = its->heads, .head_size = qkv->dims[2] / 3 / its->heads};
}

/* Two products of [length, head_size] by [head_size, length] per head. */
static double products(const attributes *its, const ath_type *qkv, int count) {
  ath_attention_shape s = shape_of(its, qkv);
  return 2.0 * count * (double)s.batch * (double)s.heads * (double)s.length * (double)s.length *
         (double)s.head_size;
}

/* --- backward: qkv, mask, out, lse, dout, step → dqkv ------------------------------- */

static ath_status backward_infer(const void *given, const ath_type *inputs, int input_count,
                                 ath_type *outputs, int output_count) {
  (void)given;
  assert(input_count == 6 && output_count == 1);
  ATH_TRY(ath_want_same(&inputs[2], "out", &inputs[4], "dout"));
  outputs[0] = inputs[0];
  return ATH_OK;
}

static size_t backward_scratch(const ath_cpu_call *call) {
  const ath_kernels *kernels;
  if (ath_kernels_get(&kernels) != ATH_OK) return 0;
  return kernels->attention_scratch(shape_of(call->node->attributes, &call->input_types[0]), 1);
}

static ath_status backward_cpu(const ath_cpu_call *call) {
  const attributes *its = call->node->attributes;
  void *const *in = call->inputs;
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->attention_backward(in[0], in[1], in[2], in[3], in[4], call->outputs[0],
                              shape_of(its, &call->input_types[0]),
                              ath_dropout_at(&its->dropout, in[5]), call->scratch);
  return ATH_OK;
}

/* The probabilities again, and the gradients of them, of queries, keys and values. */
static double backward_flops(const ath_node *node, const ath_type *inputs,
                             const ath_type *outputs) {
  (void)outputs;
  return products(node->attributes, &inputs[0], 5);
}

static const ath_op backward = {.name = "attention_backward", .infer = backward_infer,
                                .cpu = backward_cpu, .cpu_scratch = backward_scratch,
                                .flops = backward_flops};

/* --- forward: qkv, mask, step → out, lse -------------------------------------------- */

static ath_status infer(const void *given, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  const attributes *its = given;
  const ath_type *qkv = &inputs[0], *mask = &inputs[1];
  char texts[2][96];
  assert(input_count == 3 && output_count == 2);
  ATH_TRY(ath_want_float(qkv, "qkv"));
  if (its->heads < 1 || qkv->rank != 3 || qkv->dims[2] % (3 * (int64_t)its->heads) != 0)
    return ath_fail(ATH_INVALID, "qkv %s is not [batch, length, 3 * hidden] for %d heads",
                    ath_type_text(qkv, texts[0]), its->heads);
  ATH_TRY(ath_want_dtype(mask, "the mask", ATH_I32));
  if (mask->rank != 2 || mask->dims[0] != qkv->dims[0] || mask->dims[1] != qkv->dims[1])
    return ath_fail(ATH_INVALID, "the mask is %s, but qkv %s wants i32[%lld, %lld]",
                    ath_type_text(mask, texts[0]), ath_type_text(qkv, texts[1]),
                    (long long)qkv->dims[0], (long long)qkv->dims[1]);
  ATH_TRY(ath_want_dropout(&its->dropout, &inputs[2]));
  outputs[0] = *qkv;
  outputs[0].dims[2] = qkv->dims[2] / 3;
  outputs[1] = (ath_type){
    .dtype = ATH_F32, .rank = 3, .dims = {qkv->dims[0], its->heads, qkv->dims[1]}};
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  ath_value inputs[6] = {node->inputs[0], node->inputs[1], node->outputs[0], node->outputs[1],
                         output_gradients[0], node->inputs[2]};
  assert(output_gradients[0] != ATH_NO_VALUE); /* lse is never given out */
  if (wanted[0])
    ath_graph_add(g, &backward, node->attributes, sizeof(attributes), inputs, 6,
                  &input_gradients[0], 1);
}

/* Finding the kernels cannot fail here: opening the backend has found them. */
static size_t cpu_scratch(const ath_cpu_call *call) {
  const ath_kernels *kernels;
  if (ath_kernels_get(&kernels) != ATH_OK) return 0;
  return kernels->attention_scratch(shape_of(call->node->attributes, &call->input_types[0]), 0);
}

static ath_status cpu(const ath_cpu_call *call) {
  const attributes *its = call->node->attributes;
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  kernels->attention(call->inputs[0], call->inputs[1], call->outputs[0], call->outputs[1],
                     shape_of(its, &call->input_types[0]),
                     ath_dropout_at(&its->dropout, call->inputs[2]), call->scratch);
  return ATH_OK;
}

static double flops(const ath_node *node, const ath_type *inputs, const ath_type *outputs) {
  (void)outputs;
  return products(node->attributes, &inputs[0], 2);
}

static ath_status describe(const void *given, ath_buffer *out) {
  const attributes *its = given;
  ATH_TRY(ath_buffer_format(out, "heads=%d ", its->heads));
  return ath_dropout_describe(&its->dropout, out);
}

static const ath_op attention = {.name = "attention", .infer = infer, .grad = grad, .cpu = cpu,
                                 .cpu_scratch = cpu_scratch, .flops = flops,
                                 .describe = describe};

ath_value ath_attention(ath_graph *g, ath_value qkv, ath_value mask, int heads,
                        ath_dropout_place dropout) {
  if (dropout.rate == 0) dropout = ATH_NO_DROPOUT;
  attributes its = {.heads = heads, .dropout = dropout};
  ath_value inputs[3] = {qkv, mask, dropout.step}, outputs[2];
  ath_graph_add(g, &attention, &its, sizeof its, inputs, 3, outputs, 2);
  return outputs[0];
}
