/* prune.c: which nodes are needed, and dropping the others. */
#include <assert.h>
#include <stdlib.h>

#include "graph/graph_internal.h"

static void need(const ath_graph *self, bool *values, ath_value value) {
  if (value == ATH_NO_VALUE) return;
  assert(ath_graph_has(self, value));
  values[value] = true;
}

/* Backwards over the nodes, so that every reader is known before what it reads. `values` starts
 * with what is read after the run. */
static void mark_backwards(const ath_graph *self, bool *values, bool *nodes) {
  for (size_t i = self->node_count; i-- > 0;) {
    const ath_node *node = self->nodes[i];
    nodes[i] = false;
    for (int o = 0; o < node->output_count; o++) nodes[i] |= values[node->outputs[o]];
    for (int k = 0; nodes[i] && k < node->input_count; k++) need(self, values, node->inputs[k]);
  }
}

ath_status ath_graph_mark_needed(const ath_graph *self, bool *needed) {
  bool *values = calloc(self->value_count + 1, sizeof *values);
  if (values == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to mark the nodes of a graph");
  for (size_t i = 0; i < self->output_count; i++) need(self, values, self->outputs[i].value);
  for (size_t v = 0; v < self->value_count; v++) need(self, values, self->values[v].assigned);
  mark_backwards(self, values, needed);
  free(values);
  return ATH_OK;
}

/* Values keep their numbers, also those that nobody makes any more. Uses are counted down with the
 * readers, because fusion asks whether a value has a single one. */
ath_status ath_graph_prune(ath_graph *self) {
  ATH_TRY(ath_graph_status(self));
  bool *needed = calloc(self->node_count + 1, sizeof *needed);
  if (needed == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to prune a graph");
  ath_status status = ath_graph_mark_needed(self, needed);
  size_t kept = 0;
  for (size_t i = 0; status == ATH_OK && i < self->node_count; i++) {
    ath_node *node = self->nodes[i];
    if (needed[i]) self->nodes[kept++] = node;
    for (int k = 0; !needed[i] && k < node->input_count; k++)
      if (node->inputs[k] != ATH_NO_VALUE) self->values[node->inputs[k]].uses--;
  }
  if (status == ATH_OK) self->node_count = kept;
  free(needed);
  return status;
}
