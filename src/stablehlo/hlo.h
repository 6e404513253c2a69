/* hlo.h: writing StableHLO text, one statement at a time.
 *
 * An operation's file prints itself through these functions: each appends one statement to the body
 * of a function and returns its result, with the type that follows. The spellings are the old ones,
 * which every plugin from PJRT 0.81 to 0.117 reads (StableHLO 1.13 to 1.24; specification:
 * openxla.org/stablehlo/spec). Values are named after the node being printed, so that the text can
 * be read: "%layer.0.attention.3".
 *
 * As in a graph, a failure (no memory, shapes that do not fit) is kept: later calls do nothing, and
 * ath_hlo_status gives it in the end. A writer belongs to one thread. */
#ifndef ATHANOR_STABLEHLO_HLO_H
#define ATHANOR_STABLEHLO_HLO_H

#include "base/buffer.h"
#include "graph/op.h"

typedef struct ath_hlo ath_hlo;

/* Element types of the text; the first four are the graph's own. */
typedef enum ath_hlo_dtype {
  ATH_HLO_F32 = ATH_F32, ATH_HLO_BF16 = ATH_BF16, ATH_HLO_I32 = ATH_I32, ATH_HLO_U32 = ATH_U32,
  ATH_HLO_PRED = ATH_DTYPE_COUNT /* i1, from comparisons */
} ath_hlo_dtype;

enum { ATH_HLO_MAX_RANK = 6 };

/* A value of the text, passed by copy. id < 0: none (an optional input left out, or a failure). */
typedef struct ath_hlo_value {
  int32_t id;
  ath_hlo_dtype dtype;
  int rank;
  int64_t dims[ATH_HLO_MAX_RANK];
} ath_hlo_value;
#define ATH_HLO_NONE ((ath_hlo_value){.id = -1})
static inline bool ath_hlo_given(ath_hlo_value v) { return v.id >= 0; }

/* Appends a type's text, "tensor<4x8xf32>". */
ath_status ath_hlo_print_type(ath_hlo_dtype dtype, int rank, const int64_t *dims,
                              ath_buffer *out) ATH_MUST_CHECK;

/* One node as its operation prints it: reads inputs, fills in outputs (whose types must be the
 * node's). With parts > 0, for operations with `summed_rows` alone, output 0 is f32 [parts, …]: the
 * sums over equal parts of the rows, which someone else adds up. */
typedef struct ath_hlo_call {
  ath_hlo *hlo;
  const ath_node *node;
  const ath_type *input_types, *output_types; /* by position */
  const ath_hlo_value *inputs;                /* ATH_HLO_NONE where the node has ATH_NO_VALUE */
  ath_hlo_value *outputs;
  int parts;
} ath_hlo_call;

ath_status ath_hlo_status(const ath_hlo *self) ATH_MUST_CHECK;
/* Records a failure; the first one is kept. */
void ath_hlo_fail(ath_hlo *self, ath_status status, const char *format, ...) ATH_PRINTF(3, 4);

/* What an operation leaves for those that read its output, beside the output itself: up to
 * ATH_HLO_KEPT_MAX values, in a role that both know. They are found only where both stand in the
 * same text; otherwise `values` is left as it is. */
enum { ATH_HLO_KEPT_MAX = 5 };
void ath_hlo_keep(ath_hlo *self, ath_value output, int role, const ath_hlo_value *values,
                  int count);
bool ath_hlo_kept(const ath_hlo *self, ath_value output, int role, ath_hlo_value *values,
                  int count);

/* --- constants and shapes ------------------------------------------------------------------ */

/* A scalar, or a tensor filled with one value (`like` gives dtype and shape). Floats are printed
 * as bits, so that they arrive exactly. */
ath_hlo_value ath_hlo_constant(ath_hlo *self, ath_hlo_dtype dtype, double value);
ath_hlo_value ath_hlo_fill(ath_hlo *self, ath_hlo_value like, double value);
/* The index along `dimension`, in the shape given. */
ath_hlo_value ath_hlo_iota(ath_hlo *self, ath_hlo_dtype dtype, int rank, const int64_t *dims,
                           int dimension);
ath_hlo_value ath_hlo_reshape(ath_hlo *self, ath_hlo_value x, int rank, const int64_t *dims);
/* Dimension i of x becomes dimension map[i] of the result; the others repeat it. */
ath_hlo_value ath_hlo_broadcast(ath_hlo *self, ath_hlo_value x, int rank, const int64_t *dims,
                                const int *map);
/* x's dimensions are the last ones of `like` (ath_hlo_broadcast_rows), or its first ones
 * (ath_hlo_broadcast_columns: a value per row, repeated along what follows); a scalar is both. */
ath_hlo_value ath_hlo_broadcast_rows(ath_hlo *self, ath_hlo_value x, ath_hlo_value like);
ath_hlo_value ath_hlo_broadcast_columns(ath_hlo *self, ath_hlo_value x, ath_hlo_value like);
ath_hlo_value ath_hlo_transpose(ath_hlo *self, ath_hlo_value x, const int *permutation);
/* Elements start[i] … limit[i] − 1 of each dimension. */
ath_hlo_value ath_hlo_slice(ath_hlo *self, ath_hlo_value x, const int64_t *start,
                            const int64_t *limit);
ath_hlo_value ath_hlo_concatenate(ath_hlo *self, const ath_hlo_value *parts, int count,
                                  int dimension);
ath_hlo_value ath_hlo_convert(ath_hlo *self, ath_hlo_value x, ath_hlo_dtype dtype);
/* x as it is, made once and kept in its element type: the compiler does not make it again where it
 * is read, nor leave out a rounding. */
ath_hlo_value ath_hlo_barrier(ath_hlo *self, ath_hlo_value x);

/* --- elementwise --------------------------------------------------------------------------- */

/* By StableHLO's own name: "exponential", "negate", "tanh", "rsqrt", "log", "logistic", …;
 * "erf" is printed as chlo.erf. */
ath_hlo_value ath_hlo_unary(ath_hlo *self, const char *op, ath_hlo_value x);
/* "add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "and", "or", "xor",
 * "shift_right_logical", "shift_left", "remainder". A scalar operand is broadcast to the other's
 * shape. */
ath_hlo_value ath_hlo_binary(ath_hlo *self, const char *op, ath_hlo_value a, ath_hlo_value b);
/* direction "EQ", "NE", "GE", "GT", "LE", "LT"; a scalar operand is broadcast. */
ath_hlo_value ath_hlo_compare(ath_hlo *self, const char *direction, ath_hlo_value a,
                              ath_hlo_value b);
ath_hlo_value ath_hlo_select(ath_hlo *self, ath_hlo_value predicate, ath_hlo_value on_true,
                             ath_hlo_value on_false);

/* predicate ? first : second, of which only the one that is taken is computed:
 *
 *     ath_hlo_value y = ath_hlo_if(h, predicate, like);  // y has the type of `like`
 *     … statements …  ath_hlo_else(h, first);
 *     … statements …  ath_hlo_end(h, second);
 *
 * Values made inside cannot be used outside. */
ath_hlo_value ath_hlo_if(ath_hlo *self, ath_hlo_value predicate, ath_hlo_value like);
void ath_hlo_else(ath_hlo *self, ath_hlo_value first);
void ath_hlo_end(ath_hlo *self, ath_hlo_value second);

/* --- reductions, products, rows ------------------------------------------------------------ */

/* "add", "maximum", "minimum" over the dimensions of the bit mask. */
ath_hlo_value ath_hlo_reduce(ath_hlo *self, const char *op, ath_hlo_value x, uint32_t dimensions);

/* dot_general: `batch` leading dimensions of both are batch dimensions; one contracting dimension
 * of each. The result has the batch dimensions, then what is left of a, then of b, and element
 * type `result` (f32 from bf16 operands accumulates in f32). f32 products are asked for at
 * precision HIGHEST, for otherwise a TPU multiplies in bf16. */
ath_hlo_value ath_hlo_dot(ath_hlo *self, ath_hlo_value a, ath_hlo_value b, int batch,
                          int contract_a, int contract_b, ath_hlo_dtype result);

/* table [rows, width], ids i32 [n…] → [n…, width]. */
ath_hlo_value ath_hlo_gather_rows(ath_hlo *self, ath_hlo_value table, ath_hlo_value ids);
/* base + Σ of the rows updates[n…, width] at ids [n…]; an id outside adds nothing. */
ath_hlo_value ath_hlo_scatter_add_rows(ath_hlo *self, ath_hlo_value base, ath_hlo_value ids,
                                       ath_hlo_value updates);
/* The same in each of g groups by itself: tables [g, rows, width], ids i32 [g, n] → [g, n, width];
 * and base, updates [g, …]. The group's number stands beside the id as an iota, by which the
 * partitioner sees that where groups are cut nothing has to be moved. */
ath_hlo_value ath_hlo_gather_group_rows(ath_hlo *self, ath_hlo_value tables, ath_hlo_value ids);
ath_hlo_value ath_hlo_scatter_add_group_rows(ath_hlo *self, ath_hlo_value base, ath_hlo_value ids,
                                             ath_hlo_value updates);

#endif
