/* shapes.c: statements that make constants and move elements without computing. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/bf16.h"
#include "stablehlo/writer.h"

/* --- constants ----------------------------------------------------------------------------- */

static uint32_t float_bits(double value) {
  float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  return bits;
}

void ath_hlo_put_literal(ath_hlo *self, ath_hlo_dtype dtype, double value) {
  char text[32];
  switch (dtype) {
    case ATH_HLO_F32: snprintf(text, sizeof text, "0x%08X", float_bits(value)); break;
    case ATH_HLO_BF16:
      snprintf(text, sizeof text, "0x%04X", (unsigned)ath_bf16_from_float((float)value));
      break;
    case ATH_HLO_I32: snprintf(text, sizeof text, "%d", (int32_t)value); break;
    case ATH_HLO_U32: snprintf(text, sizeof text, "%u", (uint32_t)value); break;
    case ATH_HLO_PRED: snprintf(text, sizeof text, "%s", value != 0 ? "true" : "false"); break;
  }
  ath_hlo_put(self, "%s", text);
}

static bool fits(ath_hlo_dtype dtype, double value) {
  bool whole = value == floor(value);
  if (dtype == ATH_HLO_I32) return whole && value >= -0x1p31 && value < 0x1p31;
  if (dtype == ATH_HLO_U32) return whole && value >= 0 && value < 0x1p32;
  return true;
}

/* Bits are exact but say little to a reader, who finds the number behind them. */
ath_hlo_value ath_hlo_fill(ath_hlo *self, ath_hlo_value like, double value) {
  if (!ath_hlo_want(self, fits(like.dtype, value), "%g is no constant of its type", value))
    return ATH_HLO_NONE;
  ath_hlo_value result = ath_hlo_begin(self, like);
  ath_hlo_put(self, "stablehlo.constant dense<");
  ath_hlo_put_literal(self, like.dtype, value);
  char text[48] = "";
  if (ath_hlo_is_float(like.dtype)) snprintf(text, sizeof text, " // %.9g", value);
  ath_hlo_put(self, "> : %t%s\n", &result, text);
  return self->failure == ATH_OK ? result : ATH_HLO_NONE;
}

ath_hlo_value ath_hlo_constant(ath_hlo *self, ath_hlo_dtype dtype, double value) {
  return ath_hlo_fill(self, ath_hlo_shaped(dtype, 0, NULL), value);
}

ath_hlo_value ath_hlo_iota(ath_hlo *self, ath_hlo_dtype dtype, int rank, const int64_t *dims,
                           int dimension) {
  if (!ath_hlo_want(self, dimension >= 0 && dimension < rank, "iota along dimension %d of %d",
                    dimension, rank))
    return ATH_HLO_NONE;
  ath_hlo_value result = ath_hlo_shaped(dtype, rank, dims);
  return ath_hlo_statement(self, result, "stablehlo.iota dim = %d : %t", dimension, &result);
}

/* --- the same elements ---------------------------------------------------------------------- */

static int64_t count_of(ath_hlo_value x) {
  int64_t count = 1;
  for (int i = 0; i < x.rank; i++) count *= x.dims[i];
  return count;
}

ath_hlo_value ath_hlo_reshape(ath_hlo *self, ath_hlo_value x, int rank, const int64_t *dims) {
  ath_hlo_value result = ath_hlo_shaped(x.dtype, rank, dims);
  if (!ath_hlo_want(self, count_of(x) == count_of(result), "reshape of %lld elements to %lld",
                    (long long)count_of(x), (long long)count_of(result)))
    return ATH_HLO_NONE;
  if (ath_hlo_same_dims(x, result)) return x;
  return ath_hlo_statement(self, result, "stablehlo.reshape %v : (%t) -> %t", &x, &x, &result);
}

ath_hlo_value ath_hlo_transpose(ath_hlo *self, ath_hlo_value x, const int *permutation) {
  ath_hlo_value result = x;
  int64_t order[ATH_HLO_MAX_RANK];
  uint32_t seen = 0;
  bool moved = false;
  for (int i = 0; i < x.rank; i++) {
    bool inside = permutation[i] >= 0 && permutation[i] < x.rank;
    if (!ath_hlo_want(self, inside && !(seen >> permutation[i] & 1), "no permutation of %d",
                      x.rank))
      return ATH_HLO_NONE;
    seen |= 1u << permutation[i];
    moved |= permutation[i] != i;
    order[i] = permutation[i];
    result.dims[i] = x.dims[permutation[i]];
  }
  if (!moved) return x;
  return ath_hlo_statement(self, result, "stablehlo.transpose %v, dims = [%l] : (%t) -> %t", &x,
                           x.rank, order, &x, &result);
}

ath_hlo_value ath_hlo_convert(ath_hlo *self, ath_hlo_value x, ath_hlo_dtype dtype) {
  if (x.dtype == dtype) return x;
  ath_hlo_value result = ath_hlo_shaped(dtype, x.rank, x.dims);
  return ath_hlo_statement(self, result, "stablehlo.convert %v : (%t) -> %t", &x, &x, &result);
}

/* --- repeating ------------------------------------------------------------------------------ */

ath_hlo_value ath_hlo_broadcast(ath_hlo *self, ath_hlo_value x, int rank, const int64_t *dims,
                                const int *map) {
  ath_hlo_value result = ath_hlo_shaped(x.dtype, rank, dims);
  int64_t places[ATH_HLO_MAX_RANK];
  for (int i = 0; i < x.rank; i++) {
    bool fits_there = map[i] >= (i > 0 ? map[i - 1] + 1 : 0) && map[i] < rank &&
                      (x.dims[i] == dims[map[i]] || x.dims[i] == 1);
    if (!ath_hlo_want(self, fits_there, "dimension %d of %d does not repeat as %d of %d", i,
                      x.rank, map[i], rank))
      return ATH_HLO_NONE;
    places[i] = map[i];
  }
  if (ath_hlo_same_dims(x, result)) return x;
  return ath_hlo_statement(self, result, "stablehlo.broadcast_in_dim %v, dims = [%l] : (%t) -> %t",
                           &x, x.rank, places, &x, &result);
}

/* x's dimensions are those of `like` from number `first`. */
static ath_hlo_value broadcast_from(ath_hlo *self, ath_hlo_value x, ath_hlo_value like,
                                    int first) {
  int map[ATH_HLO_MAX_RANK] = {0};
  for (int i = 0; i < x.rank; i++) map[i] = first + i;
  return ath_hlo_broadcast(self, x, like.rank, like.dims, map);
}

ath_hlo_value ath_hlo_broadcast_rows(ath_hlo *self, ath_hlo_value x, ath_hlo_value like) {
  return broadcast_from(self, x, like, like.rank - x.rank);
}

ath_hlo_value ath_hlo_broadcast_columns(ath_hlo *self, ath_hlo_value x, ath_hlo_value like) {
  return broadcast_from(self, x, like, 0);
}

ath_hlo_value ath_hlo_spread(ath_hlo *self, ath_hlo_value x, ath_hlo_value like) {
  return x.rank == 0 && like.rank > 0 ? broadcast_from(self, x, like, 0) : x;
}

/* --- parts ---------------------------------------------------------------------------------- */

ath_hlo_value ath_hlo_slice(ath_hlo *self, ath_hlo_value x, const int64_t *start,
                            const int64_t *limit) {
  ath_hlo_value result = x;
  for (int i = 0; i < x.rank; i++) {
    if (!ath_hlo_want(self, start[i] >= 0 && start[i] < limit[i] && limit[i] <= x.dims[i],
                      "slice %lld to %lld of a dimension of %lld", (long long)start[i],
                      (long long)limit[i], (long long)x.dims[i]))
      return ATH_HLO_NONE;
    result.dims[i] = limit[i] - start[i];
  }
  if (ath_hlo_same_dims(x, result)) return x;
  result = ath_hlo_begin(self, result);
  ath_hlo_put(self, "stablehlo.slice %v [", &x);
  for (int i = 0; i < x.rank; i++)
    ath_hlo_put(self, "%s%l:%l", i > 0 ? ", " : "", 1, &start[i], 1, &limit[i]);
  ath_hlo_put(self, "] : (%t) -> %t\n", &x, &result);
  return self->failure == ATH_OK ? result : ATH_HLO_NONE;
}

ath_hlo_value ath_hlo_concatenate(ath_hlo *self, const ath_hlo_value *parts, int count,
                                  int dimension) {
  assert(count > 0);
  ath_hlo_value result = parts[0];
  if (count == 1) return parts[0];
  for (int i = 1; i < count; i++) {
    ath_hlo_value part = parts[i];
    bool joins = part.rank == result.rank && part.dtype == result.dtype && dimension >= 0 &&
                 dimension < part.rank;
    for (int d = 0; joins && d < part.rank; d++)
      joins = d == dimension || part.dims[d] == result.dims[d];
    if (!ath_hlo_want(self, joins, "concatenate: part %d does not fit part 0", i))
      return ATH_HLO_NONE;
    result.dims[dimension] += part.dims[dimension];
  }
  result = ath_hlo_begin(self, result);
  ath_hlo_put(self, "stablehlo.concatenate ");
  for (int i = 0; i < count; i++) ath_hlo_put(self, "%s%v", i > 0 ? ", " : "", &parts[i]);
  ath_hlo_put(self, ", dim = %d : (", dimension);
  for (int i = 0; i < count; i++) ath_hlo_put(self, "%s%t", i > 0 ? ", " : "", &parts[i]);
  ath_hlo_put(self, ") -> %t\n", &result);
  return self->failure == ATH_OK ? result : ATH_HLO_NONE;
}

ath_hlo_value ath_hlo_barrier(ath_hlo *self, ath_hlo_value x) {
  return ath_hlo_statement(self, x, "stablehlo.optimization_barrier %v : %t", &x, &x);
}
