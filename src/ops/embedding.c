/* embedding.c: y[i] = table[ids[i]]; the gradient adds rows back into a table.
 *
 * dtable[r] = Σ dy[i] over the i with ids[i] = r; the padding row gets none. The gradient is dense:
 * it meets the gradient of the tied output projection and AdamW's moments, which are dense too. */
#include <assert.h>
#include <inttypes.h>

#include "ops/common_stablehlo.h"

typedef struct attributes {
  int64_t rows, width; /* of the table, which the backward operation does not read */
  int32_t padding_index;
  int32_t groups; /* equal parts of table and ids, ids naming rows of their own part; 1 is all */
} attributes;

/* --- groups in StableHLO ------------------------------------------------------------ */

/* ids [n] → [groups, n / groups], counted from each part's first row. */
static ath_hlo_value ids_in_groups(ath_hlo *h, const attributes *its, ath_hlo_value ids) {
  int64_t dims[2] = {its->groups, ids.dims[0] / its->groups};
  ath_hlo_value part = ath_hlo_iota(h, ATH_HLO_I32, 2, dims, 0);
  ath_hlo_value first = ath_hlo_times(h, part, (double)(its->rows / its->groups));
  return ath_hlo_subtract(h, ath_hlo_reshape(h, ids, 2, dims), first);
}

/* --- backward: ids, dy → dtable ----------------------------------------------------- */

static ath_status backward_infer(const void *given, const ath_type *inputs, int input_count,
                                 ath_type *outputs, int output_count) {
  const attributes *its = given;
  assert(input_count == 2 && output_count == 1);
  ATH_TRY(ath_want_dtype(&inputs[0], "ids", ATH_I32));
  ATH_TRY(ath_want_rows(&inputs[1], "dy"));
  assert(ath_type_rows(&inputs[1]) == ath_type_count(&inputs[0]));
  outputs[0] = (ath_type){
    .dtype = inputs[1].dtype, .rank = 2, .dims = {its->rows, its->width}};
  return ATH_OK;
}

static ath_status fail_id(const int32_t *ids, int64_t at, int64_t rows) {
  return ath_fail(ATH_INVALID, "id %" PRId32 " at position %" PRId64
                  " is not a row of the table, which has %" PRId64, ids[at], at, rows);
}

/* The ids are checked here too: where nobody wants the rows themselves, the forward operation is
 * dropped, and with it its check. */
static ath_status backward_cpu(const ath_cpu_call *call) {
  const attributes *its = call->node->attributes;
  const int32_t *ids = call->inputs[0];
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  int64_t count = ath_type_count(&call->input_types[0]);
  for (int64_t i = 0; i < count; i++)
    if (ids[i] < 0 || ids[i] >= its->rows) return fail_id(ids, i, its->rows);
  kernels->scatter_add(call->outputs[0], its->rows, its->width, ids, count, call->inputs[1],
                       its->padding_index);
  return ATH_OK;
}

/* dtable as a product, onehot(ids)ᵀ dy: for a table of few rows cheaper than a scatter, which
 * accelerators do row after row. */
static ath_hlo_value one_hot_product(ath_hlo *h, ath_hlo_value ids, ath_hlo_value dy,
                                     int64_t rows) {
  int64_t count = 1;
  for (int i = 0; i < ids.rank; i++) count *= ids.dims[i];
  int64_t dims[2] = {count, rows};
  ath_hlo_value row = ath_hlo_iota(h, ATH_HLO_I32, 2, dims, 1);
  ath_hlo_value id = ath_hlo_broadcast_columns(h, ath_hlo_reshape(h, ids, 1, dims), row);
  ath_hlo_value one_hot = ath_hlo_convert(h, ath_hlo_compare(h, "EQ", id, row), dy.dtype);
  return ath_hlo_dot(h, one_hot, ath_hlo_matrix(h, dy), 0, 0, 0, ATH_HLO_F32);
}

/* Rows up to which the product is taken. */
enum { ONE_HOT_ROWS = 1024 };

static ath_hlo_value sum_in_groups(ath_hlo *h, const attributes *its, ath_hlo_value ids,
                                   ath_hlo_value dy) {
  int64_t dims[3] = {its->groups, its->rows / its->groups, its->width};
  ath_hlo_value zeros = ath_hlo_broadcast(h, ath_hlo_constant(h, ATH_HLO_F32, 0), 3, dims, NULL);
  return ath_hlo_scatter_add_group_rows(h, zeros, ids_in_groups(h, its, ids),
                                        ath_hlo_rows_in_parts(h, dy, its->groups));
}

/* [parts, rows, width]: each part of dy into a table of its own. */
static ath_hlo_value sum_in_parts(ath_hlo *h, const attributes *its, ath_hlo_value ids,
                                  ath_hlo_value dy, int parts) {
  int64_t count = 1;
  for (int i = 0; i < ids.rank; i++) count *= ids.dims[i];
  int64_t dims[3] = {parts, its->rows, its->width}, id_dims[2] = {parts, count / parts};
  ath_hlo_value zeros = ath_hlo_broadcast(h, ath_hlo_constant(h, ATH_HLO_F32, 0), 3, dims, NULL);
  return ath_hlo_scatter_add_group_rows(h, zeros, ath_hlo_reshape(h, ids, 2, id_dims),
                                        ath_hlo_rows_in_parts(h, dy, parts));
}

static int64_t backward_summed_rows(const ath_node *node, const ath_type *inputs) {
  return ((const attributes *)node->attributes)->groups > 1 ? 0 : ath_type_count(&inputs[0]);
}

/* The padding row's ids are moved outside of the table, where they add nothing. Sums in f32. */
static ath_status backward_stablehlo(const ath_hlo_call *call) {
  const attributes *its = call->node->attributes;
  ath_hlo *h = call->hlo;
  ath_hlo_value ids = call->inputs[0];
  if (its->padding_index >= 0) {
    ath_hlo_value padding = ath_hlo_constant(h, ATH_HLO_I32, its->padding_index);
    ids = ath_hlo_select(h, ath_hlo_compare(h, "EQ", ids, padding), ath_hlo_fill(h, ids, -1), ids);
  }
  if (call->parts > 0) {
    call->outputs[0] = sum_in_parts(h, its, ids, ath_hlo_in(call, 1), call->parts);
  } else if (its->groups > 1) {
    ath_hlo_out(call, 0, sum_in_groups(h, its, ids, ath_hlo_in(call, 1)));
  } else if (its->rows <= ONE_HOT_ROWS) {
    ath_hlo_out(call, 0, one_hot_product(h, ids, call->inputs[1], its->rows));
  } else {
    int64_t dims[2] = {its->rows, its->width};
    ath_hlo_value zeros = ath_hlo_broadcast(h, ath_hlo_constant(h, ATH_HLO_F32, 0), 2, dims, NULL);
    ath_hlo_out(call, 0, ath_hlo_scatter_add_rows(h, zeros, ids, ath_hlo_in(call, 1)));
  }
  return ath_hlo_status(h);
}

static int64_t backward_id_limit(const ath_node *node, const ath_type *inputs, int input,
                                 int *weights) {
  (void)inputs, (void)weights;
  return input == 0 ? ((const attributes *)node->attributes)->rows : 0;
}

static const ath_op backward = {
  .name = "embedding_backward", .infer = backward_infer, .cpu = backward_cpu,
  .id_limit = backward_id_limit, .stablehlo = backward_stablehlo,
  .summed_rows = backward_summed_rows};

/* --- forward: table, ids → rows ----------------------------------------------------- */

static ath_status infer(const void *given, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  const attributes *its = given;
  const ath_type *table = &inputs[0], *ids = &inputs[1];
  char text[96];
  assert(input_count == 2 && output_count == 1);
  ATH_TRY(ath_want_float(table, "the table"));
  if (table->rank != 2)
    return ath_fail(ATH_INVALID, "the table is %s, not [rows, width]", ath_type_text(table, text));
  ATH_TRY(ath_want_dtype(ids, "ids", ATH_I32));
  if (ids->rank >= ATH_MAX_RANK)
    return ath_fail(ATH_INVALID, "ids %s have too many dimensions", ath_type_text(ids, text));
  if (its->padding_index < -1 || its->padding_index >= table->dims[0])
    return ath_fail(ATH_INVALID, "padding index %d is not a row of the table %s",
                    its->padding_index, ath_type_text(table, text));
  if (its->groups > 1 &&
      (ids->rank != 1 || table->dims[0] % its->groups != 0 || ids->dims[0] % its->groups != 0))
    return ath_fail(ATH_INVALID, "table of %lld rows and ids of rank %d with %lld elements cannot "
                    "be cut into %d equal groups", (long long)table->dims[0], ids->rank,
                    (long long)ath_type_count(ids), its->groups);
  outputs[0] = *ids;
  outputs[0].dtype = table->dtype;
  outputs[0].dims[outputs[0].rank++] = table->dims[1];
  return ATH_OK;
}

/* The table itself is no input of the backward operation: its memory may change in the meantime. */
static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  ath_value inputs[2] = {node->inputs[1], output_gradients[0]};
  if (wanted[0])
    ath_graph_add(g, &backward, node->attributes, sizeof(attributes), inputs, 2,
                  &input_gradients[0], 1);
}

static ath_status cpu(const ath_cpu_call *call) {
  const attributes *its = call->node->attributes;
  const int32_t *ids = call->inputs[1];
  const ath_kernels *kernels;
  ATH_TRY(ath_kernels_get(&kernels));
  int64_t bad = kernels->gather(call->inputs[0], its->rows, its->width, ids,
                                ath_type_count(&call->input_types[1]), call->outputs[0]);
  return bad < 0 ? ATH_OK : fail_id(ids, bad, its->rows);
}

static ath_status describe(const void *given, ath_buffer *out) {
  const attributes *its = given;
  if (its->groups > 1) return ath_buffer_format(out, "groups=%d", its->groups);
  return ath_buffer_format(out, "padding_index=%d", its->padding_index);
}

/* A compiled program cannot stop at a bad id: the engine looks at ids before it runs. */
static ath_status stablehlo(const ath_hlo_call *call) {
  const attributes *its = call->node->attributes;
  ath_hlo *h = call->hlo;
  ath_hlo_value table = call->inputs[0], ids = call->inputs[1];
  if (its->groups > 1)
    ath_hlo_out(call, 0, ath_hlo_gather_group_rows(h, ath_hlo_rows_in_parts(h, table, its->groups),
                                                   ids_in_groups(h, its, ids)));
  else
    ath_hlo_out(call, 0, ath_hlo_gather_rows(h, table, ids));
  return ath_hlo_status(h);
}

static int64_t id_limit(const ath_node *node, const ath_type *inputs, int input, int *weights) {
  (void)node, (void)weights;
  return input == 1 ? inputs[0].dims[0] : 0;
}

static const ath_op embedding = {
  .name = "embedding", .infer = infer, .grad = grad, .cpu = cpu, .describe = describe,
  .id_limit = id_limit, .stablehlo = stablehlo};

static ath_value look_up(ath_graph *g, ath_value table, ath_value ids, int32_t padding_index,
                         int groups) {
  ath_type type = ath_graph_type(g, table);
  attributes its = {.padding_index = padding_index, .groups = groups};
  if (type.rank == 2) its.rows = type.dims[0], its.width = type.dims[1];
  ath_value inputs[2] = {table, ids}, y;
  ath_graph_add(g, &embedding, &its, sizeof its, inputs, 2, &y, 1);
  return y;
}

ath_value ath_embedding(ath_graph *g, ath_value table, ath_value ids, int32_t padding_index) {
  return look_up(g, table, ids, padding_index, 1);
}

ath_value ath_choose_rows(ath_graph *g, ath_value table, ath_value ids, int groups) {
  return look_up(g, table, ids, -1, groups);
}
