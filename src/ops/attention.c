/* attention.c: scaled dot-product attention over packed queries, keys and values.
 *
 * Per head, with S = Q Kᵀ / sqrt(head size) and P = softmax(S) over the keys whose mask is not 0:
 *   out = dropout(P) V;  lse = log Σ exp S per row, from which P is had again.
 * With dP = (dout Vᵀ) through the mask and D = Σ dout out per row (Dao et al. 2022, section 3.1):
 *   dV = dropout(P)ᵀ dout;  dS = P (dP − D);  dQ = dS K / sqrt(…);  dK = dSᵀ Q / sqrt(…). */
#include <assert.h>
#include <math.h>

#include "ops/common_stablehlo.h"

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

/* --- StableHLO, shared by both directions ------------------------------------------- */

/* [batch, length, hidden] → [batch, heads, length, head size]. */
static ath_hlo_value by_heads(ath_hlo *h, ath_hlo_value x, ath_attention_shape s) {
  int64_t split[4] = {s.batch, s.length, s.heads, s.head_size};
  return ath_hlo_transpose(h, ath_hlo_reshape(h, x, 4, split), (int[]){0, 2, 1, 3});
}

/* Rows [from, to) of a matrix, or elements of a vector. */
static ath_hlo_value rows(ath_hlo *h, ath_hlo_value x, int64_t from, int64_t to) {
  int64_t start[2] = {from, 0}, limit[2] = {to, x.rank == 2 ? x.dims[1] : 0};
  return ath_hlo_slice(h, x, start, limit);
}

/* Queries, keys or values (part 0, 1, 2) by heads. Where the joint product is known they are made
 * by products of their own, for whose results the compiler chooses the layout that attention wants;
 * parts of a joint result it would copy. */
static ath_hlo_value part_by_heads(const ath_hlo_call *call, int part, ath_attention_shape s) {
  ath_hlo *h = call->hlo;
  ath_hlo_value qkv = call->inputs[0], factors[ATH_HLO_FACTORS];
  int64_t hidden = s.heads * s.head_size, from = part * hidden, to = from + hidden;
  int64_t start[3] = {0, 0, from}, limit[3] = {s.batch, s.length, to};
  if (!ath_hlo_kept(h, call->node->inputs[0], ATH_HLO_KEPT_FACTORS, factors, ATH_HLO_FACTORS))
    return by_heads(h, ath_hlo_slice(h, qkv, start, limit), s);
  ath_hlo_value y = ath_hlo_dot(h, factors[0], rows(h, factors[1], from, to), 0, 2, 1,
                                ATH_HLO_F32);
  if (ath_hlo_given(factors[2])) y = ath_hlo_add_bias(h, y, rows(h, factors[2], from, to));
  return by_heads(h, ath_hlo_convert(h, y, qkv.dtype), s);
}

/* The way back, rounded before it is turned: [batch, length, hidden]. */
static ath_hlo_value side_by_side(ath_hlo *h, ath_hlo_value x, ath_hlo_dtype dtype,
                                  ath_attention_shape s) {
  int64_t joined[3] = {s.batch, s.length, s.heads * s.head_size};
  if (x.dtype != dtype) x = ath_hlo_convert(h, x, dtype);
  return ath_hlo_reshape(h, ath_hlo_transpose(h, x, (int[]){0, 2, 1, 3}), 3, joined);
}

/* Q Kᵀ / sqrt(head size) in f32, −∞ for keys that the mask hides. */
static ath_hlo_value scores(ath_hlo *h, ath_hlo_value q, ath_hlo_value k, ath_hlo_value mask,
                            ath_attention_shape s) {
  ath_hlo_value dot = ath_hlo_dot(h, q, k, 2, 3, 3, ATH_HLO_F32);
  ath_hlo_value hidden = ath_hlo_compare(h, "EQ", mask, ath_hlo_constant(h, ATH_HLO_I32, 0));
  int64_t dims[2] = {s.batch, s.length};
  ath_hlo_value none = ath_hlo_broadcast(h, ath_hlo_constant(h, ATH_HLO_F32, 0), 2, dims, NULL);
  ath_hlo_value bias = ath_hlo_select(h, hidden, ath_hlo_fill(h, none, -INFINITY), none);
  bias = ath_hlo_broadcast(h, bias, 4, dot.dims, (int[]){0, 3});
  return ath_hlo_add(h, ath_hlo_times(h, dot, 1 / sqrt((double)s.head_size)), bias);
}

/* The largest square of a row's length among all rows of all heads: f32 []. */
static ath_hlo_value longest(ath_hlo *h, ath_hlo_value rows) {
  rows = ath_hlo_convert(h, rows, ATH_HLO_F32);
  ath_hlo_value squares = ath_hlo_reduce_columns(h, "add", ath_hlo_multiply(h, rows, rows));
  return ath_hlo_reduce(h, "maximum", squares, 7);
}

/* Scores below this in size need no shift before the exponential: neither it nor a sum of 2^20 of
 * them overflows, and gradients divided by such a sum are still far above the smallest numbers. */
enum { SMALL_SCORE = 32 };

/* What is subtracted from each row's scores before the exponential: [batch, heads, length]. |q| |k|
 * bounds them (Cauchy and Schwarz). Only where the bound is not small the rows' maxima are looked
 * for, which would cost another pass over the scores, a fifteenth of a step of RoBERTa-base. */
static ath_hlo_value row_shifts(ath_hlo *h, ath_hlo_value q, ath_hlo_value k, ath_hlo_value mask,
                                ath_attention_shape s) {
  int64_t dims[3] = {s.batch, s.heads, s.length};
  double limit = (double)SMALL_SCORE * SMALL_SCORE * (double)s.head_size;
  ath_hlo_value bound = ath_hlo_multiply(h, longest(h, q), longest(h, k));
  ath_hlo_value small =
      ath_hlo_compare(h, "LE", bound, ath_hlo_constant(h, ATH_HLO_F32, limit));
  ath_hlo_value zeros = ath_hlo_broadcast(h, ath_hlo_constant(h, ATH_HLO_F32, 0), 3, dims, NULL);
  ath_hlo_value shifts = ath_hlo_if(h, small, zeros);
  ath_hlo_else(h, zeros);
  ath_hlo_value highest = ath_hlo_reduce_columns(h, "maximum", scores(h, q, k, mask, s));
  ath_hlo_value lowest = ath_hlo_constant(h, ATH_HLO_F32, -INFINITY);
  ath_hlo_value keyless = ath_hlo_compare(h, "EQ", highest, lowest);
  ath_hlo_end(h, ath_hlo_select(h, keyless, zeros, highest));
  return shifts;
}

/* Queries, keys and values, and the exponentials before they are divided by their rows' sums. They
 * are kept for the backward direction: in bf16 the exponentials are half the bytes of the scores,
 * and need neither to be computed again nor dropout's hash, whose mask is their sign. */
typedef struct weights {
  ath_hlo_value q, k, v;     /* [batch, heads, length, head size] */
  ath_hlo_value signed_exps; /* [batch, heads, length, length], of qkv's type; < 0 where dropped */
  ath_hlo_value sums;        /* f32 [batch, heads, length]; a row without keys has the sum 1 */
} weights;
enum { WEIGHTS = 5 };

/* With the shifts, of which the forward direction alone has need. */
static weights weigh(const ath_hlo_call *call, ath_hlo_value step, ath_hlo_value *shifts) {
  const attributes *its = call->node->attributes;
  ath_attention_shape s = shape_of(its, &call->input_types[0]);
  ath_hlo *h = call->hlo;
  ath_hlo_value mask = call->inputs[1];
  weights w = {.q = part_by_heads(call, 0, s), .k = part_by_heads(call, 1, s),
               .v = part_by_heads(call, 2, s)};
  *shifts = row_shifts(h, w.q, w.k, mask, s);
  ath_hlo_value x = scores(h, w.q, w.k, mask, s);
  ath_hlo_value exps = ath_hlo_unary(
      h, "exponential", ath_hlo_subtract(h, x, ath_hlo_broadcast_columns(h, *shifts, x)));
  ath_hlo_value sums = ath_hlo_reduce_columns(h, "add", exps);
  ath_hlo_value keyless = ath_hlo_compare(h, "EQ", sums, ath_hlo_constant(h, ATH_HLO_F32, 0));
  w.sums = ath_hlo_select(h, keyless, ath_hlo_fill(h, sums, 1), sums);
  if (its->dropout.rate > 0)
    exps = ath_hlo_select(h, ath_hlo_dropout_keep(h, &its->dropout, step, exps), exps,
                          ath_hlo_unary(h, "negate", exps));
  w.signed_exps = ath_hlo_convert(h, exps, w.q.dtype);
  return w;
}

/* Those of the forward direction, or made again where it stands in another text. */
static weights weights_again(const ath_hlo_call *call) {
  ath_hlo_value kept[WEIGHTS], shifts;
  if (!ath_hlo_kept(call->hlo, call->node->inputs[3], ATH_HLO_KEPT_WEIGHTS, kept, WEIGHTS))
    return weigh(call, call->inputs[5], &shifts);
  return (weights){kept[0], kept[1], kept[2], kept[3], kept[4]};
}

/* The exponentials that dropout keeps. */
static ath_hlo_value kept_exps(ath_hlo *h, const attributes *its, const weights *w) {
  if (its->dropout.rate == 0) return w->signed_exps;
  return ath_hlo_binary(h, "maximum", w->signed_exps, ath_hlo_constant(h, w->signed_exps.dtype, 0));
}

/* --- backward again ----------------------------------------------------------------- */

/* D = Σ dout out over each head: [batch, heads, length]. As a product with the matrix that has 1
 * where a column belongs to a head, since sums over parts of a row are slow where rows lie across a
 * vector unit. In bf16 the products are rounded, as dout and out were. */
static ath_hlo_value row_corrections(const ath_hlo_call *call, ath_attention_shape s) {
  ath_hlo *h = call->hlo;
  ath_hlo_dtype dtype = call->inputs[0].dtype;
  int64_t dims[2] = {s.heads * s.head_size, s.heads};
  ath_hlo_value column = ath_hlo_iota(h, ATH_HLO_I32, 2, dims, 0);
  ath_hlo_value size = ath_hlo_constant(h, ATH_HLO_I32, (double)s.head_size);
  ath_hlo_value belongs = ath_hlo_compare(h, "EQ", ath_hlo_binary(h, "divide", column, size),
                                          ath_hlo_iota(h, ATH_HLO_I32, 2, dims, 1));
  ath_hlo_value product = ath_hlo_multiply(h, ath_hlo_in(call, 2), ath_hlo_in(call, 4));
  ath_hlo_value sums = ath_hlo_dot(h, ath_hlo_convert(h, product, dtype),
                                   ath_hlo_convert(h, belongs, dtype), 0, 2, 0, ATH_HLO_F32);
  return ath_hlo_transpose(h, sums, (int[]){0, 2, 1});
}

/* dS / sqrt(head size), of qkv's type. */
static ath_hlo_value score_gradients(const ath_hlo_call *call, const weights *w, ath_hlo_value dout,
                                     ath_attention_shape s) {
  const attributes *its = call->node->attributes;
  ath_hlo *h = call->hlo;
  ath_hlo_value d = row_corrections(call, s);
  ath_hlo_value dp = ath_hlo_dot(h, dout, w->v, 2, 3, 3, ATH_HLO_F32);
  if (its->dropout.rate > 0) {
    ath_hlo_value zero = ath_hlo_constant(h, w->signed_exps.dtype, 0);
    ath_hlo_value scaled = ath_hlo_times(h, dp, (double)ath_dropout_scale(&its->dropout));
    dp = ath_hlo_select(h, ath_hlo_compare(h, "GT", w->signed_exps, zero), scaled,
                        ath_hlo_fill(h, dp, 0));
  }
  ath_hlo_value change = ath_hlo_subtract(h, dp, ath_hlo_broadcast_columns(h, d, dp));
  ath_hlo_value exps =
      ath_hlo_unary(h, "abs", ath_hlo_convert(h, w->signed_exps, ATH_HLO_F32));
  ath_hlo_value factor = ath_hlo_divide(
      h, ath_hlo_constant(h, ATH_HLO_F32, 1 / sqrt((double)s.head_size)), w->sums);
  ath_hlo_value p = ath_hlo_multiply(h, exps, ath_hlo_broadcast_columns(h, factor, exps));
  return ath_hlo_convert(h, ath_hlo_multiply(h, p, change), w->signed_exps.dtype);
}

/* dropout(P)ᵀ dout; P's division by the rows' sums is done to dout, which is smaller. */
static ath_hlo_value value_gradients(const ath_hlo_call *call, const weights *w,
                                     ath_hlo_value dout) {
  const attributes *its = call->node->attributes;
  ath_hlo *h = call->hlo;
  double scale = (double)ath_dropout_scale(&its->dropout);
  ath_hlo_value factor =
      ath_hlo_divide(h, ath_hlo_constant(h, ATH_HLO_F32, scale), w->sums);
  ath_hlo_value wide = ath_hlo_convert(h, dout, ATH_HLO_F32);
  wide = ath_hlo_multiply(h, wide, ath_hlo_broadcast_columns(h, factor, wide));
  return ath_hlo_dot(h, kept_exps(h, its, w), ath_hlo_convert(h, wide, dout.dtype), 2, 2, 2,
                     ATH_HLO_F32);
}

/* The formulas at the top; products of the operands' type, all between them in f32. */
static ath_status backward_stablehlo(const ath_hlo_call *call) {
  ath_attention_shape s = shape_of(call->node->attributes, &call->input_types[0]);
  ath_hlo *h = call->hlo;
  ath_hlo_value dout = by_heads(h, call->inputs[4], s);
  weights w = weights_again(call);
  ath_hlo_value ds = score_gradients(call, &w, dout, s);
  ath_hlo_value parts[ATH_HLO_PARTS] = {ath_hlo_dot(h, ds, w.k, 2, 3, 2, ATH_HLO_F32),
                                        ath_hlo_dot(h, ds, w.q, 2, 2, 2, ATH_HLO_F32),
                                        value_gradients(call, &w, dout)};
  for (int i = 0; i < ATH_HLO_PARTS; i++) parts[i] = side_by_side(h, parts[i], w.q.dtype, s);
  ath_hlo_keep(h, call->node->outputs[0], ATH_HLO_KEPT_PARTS, parts, ATH_HLO_PARTS);
  ath_hlo_out(call, 0, ath_hlo_concatenate(h, parts, ATH_HLO_PARTS, 2));
  return ath_hlo_status(h);
}

static const ath_op backward = {.name = "attention_backward", .infer = backward_infer,
                                .cpu = backward_cpu, .cpu_scratch = backward_scratch,
                                .flops = backward_flops,
  .stablehlo = backward_stablehlo};

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

/* The product with V comes before the division, which then is done for head size columns instead
 * of length. */
static ath_status stablehlo(const ath_hlo_call *call) {
  const attributes *its = call->node->attributes;
  ath_attention_shape s = shape_of(its, &call->input_types[0]);
  ath_hlo *h = call->hlo;
  ath_hlo_value shifts;
  weights w = weigh(call, call->inputs[2], &shifts);
  const ath_hlo_value kept[WEIGHTS] = {w.q, w.k, w.v, w.signed_exps, w.sums};
  ath_hlo_keep(h, call->node->outputs[1], ATH_HLO_KEPT_WEIGHTS, kept, WEIGHTS);
  ath_hlo_value out = ath_hlo_dot(h, kept_exps(h, its, &w), w.v, 2, 3, 2, ATH_HLO_F32);
  double scale = (double)ath_dropout_scale(&its->dropout);
  ath_hlo_value factor = ath_hlo_divide(h, ath_hlo_constant(h, ATH_HLO_F32, scale), w.sums);
  out = ath_hlo_multiply(h, out, ath_hlo_broadcast_columns(h, factor, out));
  ath_hlo_out(call, 0, side_by_side(h, out, w.q.dtype, s));
  ath_hlo_out(call, 1, ath_hlo_add(h, shifts, ath_hlo_unary(h, "log", w.sums)));
  return ath_hlo_status(h);
}

static const ath_op attention = {.name = "attention", .infer = infer, .grad = grad, .cpu = cpu,
                                 .cpu_scratch = cpu_scratch, .flops = flops,
                                 .describe = describe,
  .stablehlo = stablehlo};

ath_value ath_attention(ath_graph *g, ath_value qkv, ath_value mask, int heads,
                        ath_dropout_place dropout) {
  if (dropout.rate == 0) dropout = ATH_NO_DROPOUT;
  attributes its = {.heads = heads, .dropout = dropout};
  ath_value inputs[3] = {qkv, mask, dropout.step}, outputs[2];
  ath_graph_add(g, &attention, &its, sizeof its, inputs, 3, outputs, 2);
  return outputs[0];
}
