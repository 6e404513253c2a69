/* fuse.c: replaces patterns of plain operations by fused ones.
 *
 * Which patterns there are is said by the operations, in the `fuse` rule of the one that ends the
 * pattern: activation (ops/bias_activation.c) and layer_norm (ops/residual_norm.c). The fused node
 * takes over the value number of what it replaces, so that numbers held by others stay right. What
 * led to it stays in the graph until ath_graph_prune: someone may still hold those numbers. */
#include <assert.h>
#include <string.h>

#include "graph/graph_internal.h"

/* Moves the nodes from `first` to the end to place `index` in the order, where the replaced node
 * stood, which is dropped. */
static void splice(ath_graph *self, size_t index, size_t first, ath_node **held) {
  size_t added = self->node_count - first;
  assert(index < first);
  memcpy(held, self->nodes + first, added * sizeof *held);
  memmove(self->nodes + index + added, self->nodes + index + 1,
          (first - index - 1) * sizeof *held);
  memcpy(self->nodes + index, held, added * sizeof *held);
  self->node_count--;
}

/* The fused node's output becomes the value that the old node made; the number it was given when
 * it was added is left without a producer and is never seen again. */
static void take_over(ath_graph *self, const ath_node *old, ath_value replacement) {
  ath_value value = old->outputs[0];
  ath_node *producer = self->values[replacement].producer;
  assert(producer != NULL && producer->outputs[0] == replacement);
  assert(ath_type_equal(&self->values[value].type, &self->values[replacement].type));
  assert(self->values[replacement].uses == 0);
  ((ath_value *)producer->outputs)[0] = value;
  self->values[value].producer = producer;
  self->values[value].name = producer->name;
  self->values[replacement].producer = NULL;
  for (int k = 0; k < old->input_count; k++)
    if (old->inputs[k] != ATH_NO_VALUE) self->values[old->inputs[k]].uses--;
}

static bool other_outputs_unused(const ath_graph *self, const ath_node *node) {
  for (int o = 1; o < node->output_count; o++)
    if (self->values[node->outputs[o]].uses > 0) return false;
  return true;
}

/* Fuses what ends in node `index`; returns how many nodes now stand in its place. */
static size_t fuse_at(ath_graph *self, size_t index) {
  ath_node *node = self->nodes[index];
  if (node->op->fuse == NULL || !other_outputs_unused(self, node)) return 1;
  size_t first = self->node_count;
  ath_graph_enter_scope_of(self, node);
  ath_value replacement = node->op->fuse(self, node);
  size_t added = self->node_count - first;
  ath_node **held = ath_graph_alloc(self, added * sizeof *held);
  if (replacement == ATH_NO_VALUE || held == NULL) return 1;
  assert(added > 0);
  take_over(self, node, replacement);
  splice(self, index, first, held);
  return added;
}

ath_status ath_graph_fuse(ath_graph *self) {
  const char *scope = self->scope;
  for (size_t i = 0; i < self->node_count && self->failure == ATH_OK;) i += fuse_at(self, i);
  self->scope = scope;
  return ath_graph_status(self);
}
