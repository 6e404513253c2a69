/* modules.h: an operation of the tests' own, and printing a graph, for tests of the module printer:
 * stablehlo/ knows no operation. */
#ifndef ATHANOR_TESTS_STABLEHLO_MODULES_H
#define ATHANOR_TESTS_STABLEHLO_MODULES_H

#include "stablehlo/module.h"

/* double: y = x + x, and a second output z = x x. */
static ath_status double_infer(const void *attributes, const ath_type *inputs, int input_count,
                               ath_type *outputs, int output_count) {
  (void)attributes, (void)input_count;
  for (int o = 0; o < output_count; o++) outputs[o] = inputs[0];
  return ATH_OK;
}

static ath_status double_stablehlo(const ath_hlo_call *call) {
  ath_hlo_value x = call->inputs[0];
  call->outputs[0] = ath_hlo_binary(call->hlo, "add", x, x);
  call->outputs[1] = ath_hlo_binary(call->hlo, "multiply", x, x);
  return ATH_OK;
}

static const ath_op double_op = {
  .name = "double", .infer = double_infer, .stablehlo = double_stablehlo};

static inline ath_value twice(ath_graph *g, ath_value x) {
  ath_value outputs[2];
  ath_graph_add(g, &double_op, NULL, 0, &x, 1, outputs, 2);
  return outputs[0];
}

static inline ath_value squared(ath_graph *g, ath_value x) {
  ath_value outputs[2];
  ath_graph_add(g, &double_op, NULL, 0, &x, 1, outputs, 2);
  return outputs[1];
}

static const ath_type matrix = {.dtype = ATH_F32, .rank = 2, .dims = {4, 2}};

#endif
