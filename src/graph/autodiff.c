/* autodiff.c: reverse accumulation: nodes that compute gradients are added to the graph. */
#include <assert.h>
#include <stdlib.h>

#include "graph/graph_internal.h"

/* Only values that existed when differentiation began are differentiated. */
typedef struct tape {
  ath_graph *graph;
  size_t value_count, node_count;
  bool *varies;         /* [value]: depends on one of wrt, so that its gradient is wanted */
  ath_value *gradients; /* [value]: the sum so far, ATH_NO_VALUE for none */
} tape;

static void tape_free(tape *self) {
  free(self->varies);
  free(self->gradients);
}

static ath_status tape_make(ath_graph *graph, tape *out) {
  size_t values = graph->value_count;
  *out = (tape){.graph = graph, .value_count = values, .node_count = graph->node_count,
                .varies = calloc(values, sizeof *out->varies),
                .gradients = calloc(values, sizeof *out->gradients)};
  if (out->varies == NULL || out->gradients == NULL) {
    tape_free(out);
    return ath_fail(ATH_NO_MEMORY, "no memory to differentiate a graph of %zu values", values);
  }
  for (size_t v = 0; v < values; v++) out->gradients[v] = ATH_NO_VALUE;
  return ATH_OK;
}

/* Forwards: a result varies when something its node reads does. */
static void mark_varying(tape *self) {
  for (size_t i = 0; i < self->node_count; i++) {
    const ath_node *node = self->graph->nodes[i];
    bool varies = false;
    for (int k = 0; k < node->input_count; k++)
      varies |= node->inputs[k] != ATH_NO_VALUE && self->varies[node->inputs[k]];
    for (int o = 0; o < node->output_count; o++) self->varies[node->outputs[o]] |= varies;
  }
}

/* A value read in several places gets the sum of what comes back from each of them. */
static void accumulate(tape *self, ath_value value, ath_value gradient) {
  ath_value *sum = &self->gradients[value];
  assert(ath_type_equal(&self->graph->values[value].type, &self->graph->values[gradient].type));
  *sum = *sum == ATH_NO_VALUE ? gradient : ath_graph_sum(self->graph, *sum, gradient);
}

/* New nodes are named in the scope of the node whose gradient they compute, so that a profile or a
 * failure of the backward pass says which layer it is about. */
static void differentiate_wanted(tape *self, const ath_node *node, const ath_value *outputs,
                                 const bool *wanted, ath_value *inputs) {
  if (node->op->grad == NULL) {
    ath_graph_fail(self->graph, ATH_UNSUPPORTED, "%s: the operation %s has no gradient",
                   node->name, node->op->name);
    return;
  }
  ath_graph_enter_scope_of(self->graph, node);
  node->op->grad(self->graph, node, outputs, wanted, inputs);
  for (int k = 0; k < node->input_count && self->graph->failure == ATH_OK; k++)
    if (wanted[k] && inputs[k] != ATH_NO_VALUE) accumulate(self, node->inputs[k], inputs[k]);
}

/* Nodes are met after all their readers, so that the gradients of their results are complete. One
 * that the loss does not depend on, or that depends on nothing asked for, adds nothing. */
static void differentiate_node(tape *self, const ath_node *node) {
  ath_value outputs[ATH_MAX_OUTPUTS];
  bool reached = false, any_wanted = false;
  for (int o = 0; o < node->output_count; o++) {
    outputs[o] = self->gradients[node->outputs[o]];
    reached |= outputs[o] != ATH_NO_VALUE;
  }
  if (!reached) return;
  size_t count = (size_t)node->input_count;
  bool *wanted = ath_graph_alloc(self->graph, count * sizeof *wanted);
  ath_value *inputs = ath_graph_alloc(self->graph, count * sizeof *inputs);
  if (wanted == NULL || inputs == NULL) return;
  for (size_t k = 0; k < count; k++) {
    wanted[k] = node->inputs[k] != ATH_NO_VALUE && self->varies[node->inputs[k]];
    any_wanted |= wanted[k];
    inputs[k] = ATH_NO_VALUE;
  }
  if (any_wanted) differentiate_wanted(self, node, outputs, wanted, inputs);
}

static ath_status check_loss(ath_graph *graph, ath_value loss, const ath_value *wrt,
                             size_t count) {
  char text[96];
  if (!ath_graph_has(graph, loss)) return ath_fail(ATH_INVALID, "there is no value %d", loss);
  const value_record *record = &graph->values[loss];
  if (record->type.rank != 0 || record->type.dtype != ATH_F32)
    return ath_fail(ATH_INVALID, "%s: gradients are taken of a scalar f32[], not of %s",
                    record->name, ath_type_text(&record->type, text));
  for (size_t i = 0; i < count; i++)
    if (!ath_graph_has(graph, wrt[i]))
      return ath_fail(ATH_INVALID, "gradients of %s: there is no value %d", record->name, wrt[i]);
  return ATH_OK;
}

/* The order of `wrt` decides nothing about what is added, but for zeros; a value that stands there
 * twice gets the same gradient twice. */
static void differentiate(tape *self, ath_value loss, const ath_value *wrt, size_t count,
                          ath_value *gradients) {
  ath_graph *graph = self->graph;
  const char *scope = graph->scope;
  for (size_t i = 0; i < count; i++) self->varies[wrt[i]] = true;
  mark_varying(self);
  self->gradients[loss] = ath_graph_constant(graph, graph->values[loss].type, 1.0);
  for (size_t i = self->node_count; i-- > 0 && graph->failure == ATH_OK;)
    differentiate_node(self, graph->nodes[i]);
  graph->scope = scope;
  for (size_t i = 0; i < count; i++) {
    gradients[i] = self->gradients[wrt[i]];
    if (gradients[i] != ATH_NO_VALUE) continue;
    gradients[i] = ath_graph_constant(graph, graph->values[wrt[i]].type, 0.0);
    self->gradients[wrt[i]] = gradients[i];
  }
}

ath_status ath_graph_gradients(ath_graph *self, ath_value loss, const ath_value *wrt, size_t count,
                               ath_value *gradients) {
  ATH_TRY(ath_graph_status(self));
  ATH_TRY(check_loss(self, loss, wrt, count));
  tape record;
  ATH_TRY(tape_make(self, &record));
  differentiate(&record, loss, wrt, count, gradients);
  tape_free(&record);
  return ath_graph_status(self);
}
