/* repeat.c: x repeated over new leading dimensions: the gradient of the sums. Internal to ops/.
 *
 * dx = dy summed over those dimensions. */
#include <assert.h>
#include <string.h>

#include "ops/common_stablehlo.h"

static ath_status infer(const void *attributes, const ath_type *inputs, int input_count,
                        ath_type *outputs, int output_count) {
  const ath_type *type = attributes;
  assert(input_count == 1 && output_count == 1);
  ATH_TRY(ath_want_suffix(type, "the result", &inputs[0], "x"));
  outputs[0] = *type;
  return ATH_OK;
}

static void grad(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
                 const bool *wanted, ath_value *input_gradients) {
  if (wanted[0])
    input_gradients[0] =
        ath_reduce_to(g, output_gradients[0], ath_graph_type(g, node->inputs[0]));
}

static ath_status cpu(const ath_cpu_call *call) {
  size_t part = ath_type_bytes(&call->input_types[0]);
  size_t whole = ath_type_bytes(&call->output_types[0]);
  assert(part > 0 && whole % part == 0);
  char *to = call->outputs[0];
  memcpy(to, call->inputs[0], part);
  /* What has been filled is copied behind itself, so that scalars do not go one by one. */
  for (size_t done = part; done < whole; done += done < whole - done ? done : whole - done)
    memcpy(to + done, to, done < whole - done ? done : whole - done);
  return ATH_OK;
}

static ath_status stablehlo(const ath_hlo_call *call) {
  ath_hlo *h = call->hlo;
  const ath_type *type = call->node->attributes;
  ath_hlo_value x = call->inputs[0];
  int map[ATH_MAX_RANK];
  for (int i = 0; i < x.rank; i++) map[i] = type->rank - x.rank + i;
  ath_hlo_out(call, 0, ath_hlo_broadcast(h, x, type->rank, type->dims, map));
  return ath_hlo_status(h);
}

static const ath_op repeat = {
  .name = "repeat", .infer = infer, .grad = grad, .cpu = cpu, .cpu_bf16 = true,
  .stablehlo = stablehlo};

ath_value ath_repeat(ath_graph *g, ath_value x, ath_type type) {
  ath_type from = ath_graph_type(g, x);
  if (x != ATH_NO_VALUE && ath_type_equal(&from, &type)) return x;
  ath_value y;
  ath_graph_add(g, &repeat, &type, sizeof type, &x, 1, &y, 1);
  return y;
}
