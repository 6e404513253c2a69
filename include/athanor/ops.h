/* ops.h: the operations. Each lives in one file of src/ops/, which holds its shape rule, its
 * gradient rule, its CPU entry and (with the XLA backend) its StableHLO text.
 *
 * All functions add one node to the graph and return its first result; see graph.h for how errors
 * are kept. Shapes are written [rows, columns]; "…" stands for any leading dimensions.
 *
 * Operands are f32, or as well bf16, unless said otherwise; those of one operation have the same
 * element type, and so have results and gradients. Vectors per column (bias, gamma, beta) are f32
 * always, also beside bf16. In bf16 an operation computes in f32 and rounds what it gives back, but
 * sums over elements or rows, losses, and what is kept of rows (mean, log-sum-exp) stay f32. The
 * optimiser takes f32 alone: its gradients come back through ath_convert.
 *
 * Example
 *
 *     ath_value feed_forward(ath_graph *g, ath_value x, ath_value w1, ath_value b1,
 *                            ath_value w2, ath_value b2) {
 *       ath_value inner = ath_activation(g, ath_linear(g, x, w1, b1), ATH_GELU);
 *       return ath_add(g, x, ath_linear(g, inner, w2, b2));
 *     }
 */
#ifndef ATHANOR_OPS_H
#define ATHANOR_OPS_H

#include "athanor/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- elementwise ------------------------------------------------------------------------- */

/* a + b, a * b. `b` may have fewer leading dimensions: it is repeated over them. */
ath_value ath_add(ath_graph *g, ath_value a, ath_value b);
ath_value ath_multiply(ath_graph *g, ath_value a, ath_value b);
/* x * factor, factor known when the graph is built. */
ath_value ath_scale(ath_graph *g, ath_value x, float factor);
/* The same numbers as f32 or bf16, to bf16 rounded to the nearest, ties to even; a NaN stays one.
 * Adds no node where x has that type. The gradient is converted back. */
ath_value ath_convert(ath_graph *g, ath_value x, ath_dtype dtype);

typedef enum ath_activation_kind {
  ATH_GELU,      /* x Φ(x) with the error function (Hendrycks & Gimpel 2016) */
  ATH_GELU_TANH, /* the tanh approximation of the same paper; "gelu_new" in config.json */
  ATH_RELU,
  ATH_SILU,
  ATH_TANH,
} ath_activation_kind;
ath_value ath_activation(ath_graph *g, ath_value x, ath_activation_kind kind);
#define ath_gelu(g, x, tanh_form) ath_activation(g, x, (tanh_form) ? ATH_GELU_TANH : ATH_GELU)

/* Zeroes elements with probability `rate` and scales the others by 1/(1−rate) (Srivastava et al.
 * 2014). The mask is a hash of (seed, step, site, element index modulo 2^32) and is never stored;
 * see base/random.h. `step` is a u32 scalar, `site` numbers the place. Rate 0 adds no node.
 *
 * Where x holds rows chosen from a larger matrix, `rows` says which: with by_rows row i of x, a
 * matrix, is masked as row rows[i] of that would be, so that the mask does not depend on which
 * rows are chosen, in which order. Attention has no such rows. */
typedef struct ath_dropout_place {
  float rate;
  uint64_t seed;
  uint32_t site;
  ath_value step; /* u32 [] */
  bool by_rows;
  ath_value rows; /* i32 [rows of x]; read with by_rows alone */
} ath_dropout_place;
ath_value ath_dropout(ath_graph *g, ath_value x, ath_dropout_place place);

/* --- shape ------------------------------------------------------------------------------- */

/* The same elements in another shape. */
ath_value ath_reshape(ath_graph *g, ath_value x, ath_type type);
/* The sum of all elements: f32[]. Summed in a fixed order for any thread count. */
ath_value ath_reduce_sum(ath_graph *g, ath_value x);
/* The sum over all but the last dimension: f32[columns]. The gradient of a bias. */
ath_value ath_reduce_rows(ath_graph *g, ath_value x);

/* --- linear algebra ---------------------------------------------------------------------- */

/* op(a) op(b) for matrices, op = transpose where asked: [m, k] x [k, n] → [m, n]. Leading
 * dimensions of `a` count as rows. */
ath_value ath_matmul(ath_graph *g, ath_value a, ath_value b, bool transpose_a, bool transpose_b);
/* x wᵀ + bias: x […, in], w [out, in] (as checkpoints store it), bias [out] or ATH_NO_VALUE. */
ath_value ath_linear(ath_graph *g, ath_value x, ath_value w, ath_value bias);

/* --- rows -------------------------------------------------------------------------------- */

/* table[ids]: table [rows, width], ids i32 [n…] → [n…, width]. Ids must lie in 0 … rows−1; the
 * CPU entry fails otherwise, naming the id. The row `padding_index` (−1 for none) gets no
 * gradient, as in the reference. */
ath_value ath_embedding(ath_graph *g, ath_value table, ath_value ids, int32_t padding_index);
/* table[ids] for ids i32 [n], where both are cut into `groups` equal parts, and the ids of part p
 * name rows of part p of the table: devices that share both so need nothing from each other. The
 * CPU entry does not look at the parts; what XLA gives for an id outside its part is undefined. */
ath_value ath_choose_rows(ath_graph *g, ath_value table, ath_value ids, int groups);

/* --- normalisation ----------------------------------------------------------------------- */

/* (x − mean) / sqrt(variance + epsilon) * gamma + beta over the last dimension (Ba, Kiros &
 * Hinton 2016). Also keeps mean and 1/deviation per row for the gradient. */
ath_value ath_layer_norm(ath_graph *g, ath_value x, ath_value gamma, ath_value beta, float epsilon);
/* layer_norm(residual + dropout(x + bias)) in one pass; what ath_graph_fuse makes of the four
 * plain nodes. bias may be ATH_NO_VALUE; rate 0 means no dropout. */
ath_value ath_residual_norm(ath_graph *g, ath_value x, ath_value bias, ath_value residual,
                            ath_value gamma, ath_value beta, float epsilon,
                            ath_dropout_place dropout);
/* activation(x + bias) in one pass; likewise made by ath_graph_fuse. */
ath_value ath_bias_activation(ath_graph *g, ath_value x, ath_value bias, ath_activation_kind kind);

/* --- attention --------------------------------------------------------------------------- */

/* Scaled dot-product attention (Vaswani et al. 2017), bidirectional. `qkv` is [batch, length,
 * 3 * hidden]: queries, keys, values side by side, heads inside each. `mask` i32 [batch, length]:
 * keys with 0 are not attended to; a row whose keys are all 0 gives zeros, not NaN. Scores are
 * scaled by 1/sqrt(hidden / heads). Dropout acts on the probabilities, element index =
 * ((batch * heads + head) * length + query) * length + key. Keeps log-sum-exp per row for the
 * gradient and recomputes the probabilities there (Dao et al. 2022). → [batch, length, hidden] */
ath_value ath_attention(ath_graph *g, ath_value qkv, ath_value mask, int heads,
                        ath_dropout_place dropout);

/* --- loss -------------------------------------------------------------------------------- */

typedef struct ath_cross_entropy_result {
  ath_value loss;    /* scalar: Σ weight * −log softmax(logits)[label], a sum, not a mean */
  ath_value weight;  /* scalar: Σ weight */
  ath_value correct; /* scalar: Σ weight * (argmax(logits) == label); ties → the lowest id */
} ath_cross_entropy_result;
/* logits [n, classes], labels i32 [n], weights f32 [n]. Rows of weight 0 cost nothing and their
 * labels are not read. Only `loss` has a gradient. */
ath_cross_entropy_result ath_cross_entropy(ath_graph *g, ath_value logits, ath_value labels,
                                           ath_value weights);

/* --- optimiser --------------------------------------------------------------------------- */

/* Σ x² over all elements of all `count` values: a scalar, in a fixed order. */
ath_value ath_sum_of_squares(ath_graph *g, const ath_value *values, size_t count);

typedef struct ath_clip_result {
  ath_value scale; /* what each summed gradient is multiplied by: clip / divisor */
  ath_value norm;  /* the gradient's norm before clipping: sqrt(sum_of_squares) / divisor */
} ath_clip_result;
/* Clipping by the global norm (Pascanu et al. 2013) of gradients that are sums to be divided by
 * `divisor` (the count of scored positions): clip = min(1, max_norm / (norm + 1e-6)), the
 * reference's formula; max_norm <= 0 means no clipping. A divisor of 0 gives scale 0. */
ath_clip_result ath_clip(ath_graph *g, ath_value sum_of_squares, ath_value divisor,
                         float max_norm);

typedef struct ath_adamw_options {
  float beta1, beta2, epsilon, weight_decay;
} ath_adamw_options;
/* One step of Adam with decoupled weight decay (Loshchilov & Hutter 2019), in place on the
 * variables parameter, m, v (all the same shape):
 *   g ← scale * gradient;  p ← p (1 − rate * decay)
 *   m ← β1 m + (1−β1) g;   v ← β2 v + (1−β2) g²
 *   p ← p − rate * (m / c1) / (sqrt(v / c2) + ε)
 * with scalars rate, c1 = 1 − β1^t, c2 = 1 − β2^t given as inputs. Assigns all three variables. */
typedef struct ath_adamw_scalars {
  ath_value learning_rate, correction1, correction2, gradient_scale;
} ath_adamw_scalars;
void ath_adamw(ath_graph *g, ath_value parameter, ath_value m, ath_value v, ath_value gradient,
               ath_adamw_scalars scalars, ath_adamw_options options);

#ifdef __cplusplus
}
#endif

#endif
