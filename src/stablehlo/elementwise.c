/* elementwise.c: statements that work on each element by itself. */
#include <string.h>

#include "stablehlo/writer.h"

/* erf is no operation of StableHLO; every plugin has the CHLO dialect, which does have it. */
ath_hlo_value ath_hlo_unary(ath_hlo *self, const char *op, ath_hlo_value x) {
  if (strcmp(op, "erf") == 0)
    return ath_hlo_statement(self, x, "chlo.erf %v : %t -> %t", &x, &x, &x);
  if (strcmp(op, "is_finite") == 0) {
    ath_hlo_value finite = ath_hlo_shaped(ATH_HLO_PRED, x.rank, x.dims);
    return ath_hlo_statement(self, finite, "stablehlo.is_finite %v : (%t) -> %t", &x, &x,
                             &finite);
  }
  return ath_hlo_statement(self, x, "stablehlo.%s %v : %t", op, &x, &x);
}

/* Repeats a scalar operand to the other's shape; both then have one type. */
static bool agree(ath_hlo *self, const char *op, ath_hlo_value *a, ath_hlo_value *b) {
  *a = ath_hlo_spread(self, *a, *b);
  *b = ath_hlo_spread(self, *b, *a);
  return ath_hlo_want(self, a->dtype == b->dtype && ath_hlo_same_dims(*a, *b),
                      "%s of operands with different types", op);
}

ath_hlo_value ath_hlo_binary(ath_hlo *self, const char *op, ath_hlo_value a, ath_hlo_value b) {
  if (!agree(self, op, &a, &b)) return ATH_HLO_NONE;
  return ath_hlo_statement(self, a, "stablehlo.%s %v, %v : %t", op, &a, &b, &a);
}

ath_hlo_value ath_hlo_compare(ath_hlo *self, const char *direction, ath_hlo_value a,
                              ath_hlo_value b) {
  if (!agree(self, "compare", &a, &b)) return ATH_HLO_NONE;
  const char *kind = "UNSIGNED";
  if (ath_hlo_is_float(a.dtype)) kind = "FLOAT";
  if (a.dtype == ATH_HLO_I32) kind = "SIGNED";
  ath_hlo_value result = ath_hlo_shaped(ATH_HLO_PRED, a.rank, a.dims);
  return ath_hlo_statement(self, result, "stablehlo.compare %s, %v, %v, %s : (%t, %t) -> %t",
                           direction, &a, &b, kind, &a, &b, &result);
}

ath_hlo_value ath_hlo_select(ath_hlo *self, ath_hlo_value predicate, ath_hlo_value on_true,
                             ath_hlo_value on_false) {
  on_true = ath_hlo_spread(self, on_true, predicate);
  on_false = ath_hlo_spread(self, on_false, predicate);
  if (!agree(self, "select", &on_true, &on_false)) return ATH_HLO_NONE;
  bool fits = predicate.dtype == ATH_HLO_PRED &&
              (predicate.rank == 0 || ath_hlo_same_dims(predicate, on_true));
  if (!ath_hlo_want(self, fits, "select by a value that is no predicate of its shape"))
    return ATH_HLO_NONE;
  return ath_hlo_statement(self, on_true, "stablehlo.select %v, %v, %v : %t, %t", &predicate,
                           &on_true, &on_false, &predicate, &on_true);
}

/* --- a choice ------------------------------------------------------------------------------ */

ath_hlo_value ath_hlo_if(ath_hlo *self, ath_hlo_value predicate, ath_hlo_value like) {
  bool fits = predicate.dtype == ATH_HLO_PRED && predicate.rank == 0;
  if (!ath_hlo_want(self, fits, "if: the predicate is no single i1")) return ATH_HLO_NONE;
  return ath_hlo_statement(self, like, "\"stablehlo.if\"(%v) ({", &predicate);
}

void ath_hlo_else(ath_hlo *self, ath_hlo_value first) {
  ath_hlo_put(self, "    stablehlo.return %v : %t\n    }, {\n", &first, &first);
}

void ath_hlo_end(ath_hlo *self, ath_hlo_value second) {
  ath_hlo_put(self, "    stablehlo.return %v : %t\n    }) : (tensor<i1>) -> %t\n", &second, &second,
              &second);
}
