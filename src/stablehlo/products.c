/* products.c: statements that bring elements together: reductions, dot products, rows by id. */
#include <math.h>
#include <string.h>

#include "stablehlo/writer.h"

/* --- reductions ----------------------------------------------------------------------------- */

/* Where a reduction starts: the value that changes nothing. */
static double neutral(const char *op, ath_hlo_dtype dtype) {
  if (strcmp(op, "add") == 0) return 0;
  bool largest = strcmp(op, "minimum") == 0;
  if (dtype == ATH_HLO_I32) return largest ? INT32_MAX : INT32_MIN;
  if (dtype == ATH_HLO_U32) return largest ? UINT32_MAX : 0;
  return largest ? INFINITY : -INFINITY;
}

ath_hlo_value ath_hlo_reduce(ath_hlo *self, const char *op, ath_hlo_value x, uint32_t dimensions) {
  bool known = strcmp(op, "add") == 0 || strcmp(op, "maximum") == 0 || strcmp(op, "minimum") == 0;
  if (!ath_hlo_want(self, known && x.dtype != ATH_HLO_PRED && dimensions >> x.rank == 0,
                    "no reduction by %s over dimensions %#x of %d", op, dimensions, x.rank))
    return ATH_HLO_NONE;
  ath_hlo_value result = {.id = -1, .dtype = x.dtype};
  int64_t over[ATH_HLO_MAX_RANK];
  int count = 0;
  for (int i = 0; i < x.rank; i++) {
    if (dimensions >> i & 1) over[count++] = i;
    else result.dims[result.rank++] = x.dims[i];
  }
  if (count == 0) return x;
  ath_hlo_value start = ath_hlo_constant(self, x.dtype, neutral(op, x.dtype));
  return ath_hlo_statement(self, result, "stablehlo.reduce(%v init: %v) applies stablehlo.%s "
                           "across dimensions = [%l] : (%t, %t) -> %t", &x, &start, op, count,
                           over, &x, &start, &result);
}

/* --- dot products --------------------------------------------------------------------------- */

static bool dot_fits(ath_hlo_value a, ath_hlo_value b, int batch, int contract_a, int contract_b) {
  if (a.dtype != b.dtype || batch < 0 || contract_a < batch || contract_a >= a.rank ||
      contract_b < batch || contract_b >= b.rank)
    return false;
  for (int i = 0; i < batch; i++)
    if (a.dims[i] != b.dims[i]) return false;
  return a.dims[contract_a] == b.dims[contract_b] &&
         a.rank + b.rank - batch - 2 <= ATH_HLO_MAX_RANK;
}

/* The batch dimensions, then what is left of each. */
static ath_hlo_value dot_result(ath_hlo_value a, ath_hlo_value b, int batch, int contract_a,
                                int contract_b, ath_hlo_dtype dtype) {
  ath_hlo_value result = ath_hlo_shaped(dtype, batch, a.dims);
  for (int i = batch; i < a.rank; i++)
    if (i != contract_a) result.dims[result.rank++] = a.dims[i];
  for (int i = batch; i < b.rank; i++)
    if (i != contract_b) result.dims[result.rank++] = b.dims[i];
  return result;
}

ath_hlo_value ath_hlo_dot(ath_hlo *self, ath_hlo_value a, ath_hlo_value b, int batch,
                          int contract_a, int contract_b, ath_hlo_dtype dtype) {
  static const int64_t leading[ATH_HLO_MAX_RANK] = {0, 1, 2, 3, 4, 5};
  if (!ath_hlo_want(self, dot_fits(a, b, batch, contract_a, contract_b),
                    "dot_general: operands that do not fit"))
    return ATH_HLO_NONE;
  ath_hlo_value result = dot_result(a, b, batch, contract_a, contract_b, dtype);
  const char *precision = a.dtype == ATH_HLO_F32 ? "HIGHEST" : "DEFAULT";
  result = ath_hlo_begin(self, result);
  ath_hlo_put(self, "stablehlo.dot_general %v, %v, ", &a, &b);
  if (batch > 0)
    ath_hlo_put(self, "batching_dims = [%l] x [%l], ", batch, leading, batch, leading);
  ath_hlo_put(self, "contracting_dims = [%d] x [%d], precision = [%s, %s] : (%t, %t) -> %t\n",
              contract_a, contract_b, precision, precision, &a, &b, &result);
  return self->failure == ATH_OK ? result : ATH_HLO_NONE;
}

/* --- rows by id ------------------------------------------------------------------------------ */

static bool is_ids(ath_hlo_value ids) {
  return ids.dtype == ATH_HLO_I32 && ids.rank < ATH_HLO_MAX_RANK;
}

/* Whether `rows` is [n…, width] for the ids [n…] and a table [rows, width]. */
static bool are_rows(ath_hlo_value rows, ath_hlo_value table, ath_hlo_value ids) {
  if (rows.dtype != table.dtype || rows.rank != ids.rank + 1) return false;
  for (int i = 0; i < ids.rank; i++)
    if (rows.dims[i] != ids.dims[i]) return false;
  return rows.dims[ids.rank] == table.dims[1];
}

ath_hlo_value ath_hlo_gather_rows(ath_hlo *self, ath_hlo_value table, ath_hlo_value ids) {
  if (!ath_hlo_want(self, table.rank == 2 && is_ids(ids), "gather: no table, or no ids"))
    return ATH_HLO_NONE;
  ath_hlo_value result = ath_hlo_shaped(table.dtype, ids.rank, ids.dims);
  result.dims[result.rank++] = table.dims[1];
  return ath_hlo_statement(
      self, result,
      "\"stablehlo.gather\"(%v, %v) <{dimension_numbers = #stablehlo.gather<offset_dims = [%d], "
      "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = %d>, "
      "indices_are_sorted = false, slice_sizes = array<i64: 1, %l>}> : (%t, %t) -> %t",
      &table, &ids, ids.rank, ids.rank, 1, &table.dims[1], &table, &ids, &result);
}

/* The sums are made by a small function of the text, which has names of its own. `dims` are those
 * of the base that the ids name, `at` the one of the updates that holds the rows' elements. */
static ath_hlo_value scatter_add(ath_hlo *self, ath_hlo_value base, ath_hlo_value ids,
                                 ath_hlo_value updates, const char *dims, int at) {
  ath_hlo_value element = ath_hlo_shaped(base.dtype, 0, NULL);
  return ath_hlo_statement(
      self, base,
      "\"stablehlo.scatter\"(%v, %v, %v) <{indices_are_sorted = false, scatter_dimension_numbers = "
      "#stablehlo.scatter<update_window_dims = [%d], inserted_window_dims = [%s], "
      "scatter_dims_to_operand_dims = [%s], index_vector_dim = %d>, unique_indices = false}> ({\n"
      "      ^bb0(%s: %t, %s: %t):\n"
      "        %s = stablehlo.add %s, %s : %t\n"
      "        stablehlo.return %s : %t\n"
      "    }) : (%t, %t, %t) -> %t",
      &base, &ids, &updates, at, dims, dims, at, "%$a", &element, "%$b", &element, "%$sum", "%$a",
      "%$b", &element, "%$sum", &element, &base, &ids, &updates, &base);
}

ath_hlo_value ath_hlo_scatter_add_rows(ath_hlo *self, ath_hlo_value base, ath_hlo_value ids,
                                       ath_hlo_value updates) {
  bool fits = base.rank == 2 && is_ids(ids) && are_rows(updates, base, ids);
  if (!ath_hlo_want(self, fits, "scatter: rows that do not fit")) return ATH_HLO_NONE;
  return scatter_add(self, base, ids, updates, "0", ids.rank);
}

/* --- rows by id, in groups ------------------------------------------------------------------- */

static bool are_groups(ath_hlo_value tables, ath_hlo_value ids) {
  return tables.rank == 3 && is_ids(ids) && ids.rank == 2 && tables.dims[0] == ids.dims[0];
}

/* [g, n] → [g, n, 2]: the group, and the id. */
static ath_hlo_value pair_with_group(ath_hlo *self, ath_hlo_value ids) {
  int64_t dims[3] = {ids.dims[0], ids.dims[1], 1};
  ath_hlo_value pair[2] = {ath_hlo_iota(self, ATH_HLO_I32, 3, dims, 0),
                           ath_hlo_reshape(self, ids, 3, dims)};
  return ath_hlo_concatenate(self, pair, 2, 2);
}

ath_hlo_value ath_hlo_gather_group_rows(ath_hlo *self, ath_hlo_value tables, ath_hlo_value ids) {
  if (!ath_hlo_want(self, are_groups(tables, ids), "gather: no tables, or no ids for each"))
    return ATH_HLO_NONE;
  ath_hlo_value result = tables, pairs = pair_with_group(self, ids);
  result.dims[1] = ids.dims[1];
  return ath_hlo_statement(
      self, result,
      "\"stablehlo.gather\"(%v, %v) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], "
      "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, "
      "indices_are_sorted = false, slice_sizes = array<i64: 1, 1, %l>}> : (%t, %t) -> %t",
      &tables, &pairs, 1, &tables.dims[2], &tables, &pairs, &result);
}

ath_hlo_value ath_hlo_scatter_add_group_rows(ath_hlo *self, ath_hlo_value base, ath_hlo_value ids,
                                             ath_hlo_value updates) {
  bool fits = are_groups(base, ids) && updates.dtype == base.dtype && updates.rank == 3 &&
              updates.dims[0] == ids.dims[0] && updates.dims[1] == ids.dims[1] &&
              updates.dims[2] == base.dims[2];
  if (!ath_hlo_want(self, fits, "scatter: rows that do not fit")) return ATH_HLO_NONE;
  return scatter_add(self, base, pair_with_group(self, ids), updates, "0, 1", 2);
}
