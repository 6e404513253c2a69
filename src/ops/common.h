/* common.h: what the files of src/ops/ share: checks for shape rules, the dropout place, helpers
 * of gradient rules, and the descriptors that fusion patterns look for. */
#ifndef ATHANOR_OPS_COMMON_H
#define ATHANOR_OPS_COMMON_H

#include "athanor/ops.h"
#include "graph/op.h"
#include "kernels/kernels.h"

/* Checks of one operand, called `name` in the text. "Float" is f32 or bf16. */
ath_status ath_want_float(const ath_type *type, const char *name) ATH_MUST_CHECK;
ath_status ath_want_dtype(const ath_type *type, const char *name, ath_dtype dtype) ATH_MUST_CHECK;
ath_status ath_want_scalar(const ath_type *type, const char *name, ath_dtype dtype) ATH_MUST_CHECK;
/* A float with at least one dimension: rows of columns. */
ath_status ath_want_rows(const ath_type *type, const char *name) ATH_MUST_CHECK;
/* An f32 vector with as many elements as the operand `of` has columns: f32 also beside bf16, so
 * that biases and norms are read as they are stored and their gradients are never rounded. */
ath_status ath_want_per_column(const ath_type *type, const char *name, const ath_type *of,
                               const char *of_name) ATH_MUST_CHECK;
ath_status ath_want_same(const ath_type *a, const char *a_name, const ath_type *b,
                         const char *b_name) ATH_MUST_CHECK;
/* b's dimensions are a's last ones: b is repeated over the others. */
ath_status ath_want_suffix(const ath_type *a, const char *a_name, const ath_type *b,
                           const char *b_name) ATH_MUST_CHECK;

/* The shape rule of a and b, b repeated over a's leading dimensions: the result is as a. */
ath_status ath_infer_repeated(const void *attributes, const ath_type *inputs, int input_count,
                              ath_type *outputs, int output_count) ATH_MUST_CHECK;

/* The last dimension, and the product of the others. */
int64_t ath_type_columns(const ath_type *type);
int64_t ath_type_rows(const ath_type *type);
/* f32[n], and the scalar f32[]. */
ath_type ath_type_vector(int64_t n);
#define ATH_TYPE_SCALAR ((ath_type){.dtype = ATH_F32})

/* Checks the dropout of a node that reads the step (absent at rate 0) and knows no rows; and of
 * one that reads the rows of x too (absent without by_rows). */
ath_status ath_want_dropout(const ath_dropout_place *place, const ath_type *step) ATH_MUST_CHECK;
ath_status ath_want_dropout_rows(const ath_dropout_place *place, const ath_type *step,
                                 const ath_type *rows, const ath_type *x) ATH_MUST_CHECK;
/* The input that holds the rows, or ATH_NO_VALUE. */
ath_value ath_dropout_rows(const ath_dropout_place *place);
/* What the elements that are kept are multiplied by: 1 / (1 − rate). */
float ath_dropout_scale(const ath_dropout_place *place);
/* This run's key: from (seed, *step, site). `step` is not read at rate 0. With rows, or NULL. */
ath_dropout_key2 ath_dropout_at(const ath_dropout_place *place, const uint32_t *step);
ath_dropout_key2 ath_dropout_at_rows(const ath_dropout_place *place, const uint32_t *step,
                                     const int32_t *rows);
ath_status ath_dropout_describe(const ath_dropout_place *place, ath_buffer *out) ATH_MUST_CHECK;
/* The place with rate 0 and no step: what an operation without dropout is given. */
#define ATH_NO_DROPOUT ((ath_dropout_place){.step = ATH_NO_VALUE})

/* x repeated over the leading dimensions of `type`, whose last ones are x's. */
ath_value ath_repeat(ath_graph *g, ath_value x, ath_type type);
/* The reverse: x summed over those of its leading dimensions that `type` does not have. */
ath_value ath_reduce_to(ath_graph *g, ath_value x, ath_type type);

/* The fusion rules of activation and layer_norm, which lie with the fused operations. */
ath_value ath_fuse_bias_activation(ath_graph *g, const ath_node *node);
ath_value ath_fuse_residual_norm(ath_graph *g, const ath_node *node);
/* For a value used once: the node that makes it if that is an `op`; otherwise NULL. */
const ath_node *ath_single_use(const ath_graph *g, ath_value value, const ath_op *op);

/* Bytes of scratch for sums over the rows of x `sums` at a time: ATH_ROW_BLOCKS partial sums of
 * each column, so that no sum depends on how many threads shared the rows. */
size_t ath_row_sums_scratch(const ath_type *x, int sums);
enum { ATH_NORM_ROW_SUMS = 3 }; /* of layer_norm_backward: dgamma, dbeta, dbias */

/* Every input of an elementwise operation may be overwritten. */
uint32_t ath_any_in_place(const ath_node *node, int output);

extern const ath_op ath_op_add, ath_op_linear, ath_op_activation, ath_op_dropout,
    ath_op_layer_norm;

/* Attributes that a fusion rule reads. */
typedef struct ath_layer_norm_attributes {
  float epsilon;
} ath_layer_norm_attributes;

#endif
