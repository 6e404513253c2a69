/* node.c: adding nodes: their names, the check of their inputs, the types of their outputs. */
#include <assert.h>
#include <string.h>

#include "graph/graph_internal.h"

static void set_scope(ath_graph *self, const char *scope, size_t length) {
  self->scope = NULL;
  char *copy = ath_graph_alloc(self, length + 1); /* zeroed: the NUL is there */
  if (copy != NULL) self->scope = memcpy(copy, scope, length);
}

void ath_graph_set_scope(ath_graph *self, const char *scope) {
  if (scope == NULL) self->scope = NULL;
  else if (self->failure == ATH_OK) set_scope(self, scope, strlen(scope));
}

void ath_graph_enter_scope_of(ath_graph *self, const ath_node *node) {
  const char *slash = strrchr(node->name, '/');
  if (slash == NULL) self->scope = NULL;
  else set_scope(self, node->name, (size_t)(slash - node->name));
}

/* "<scope>/<op>", with "_2", "_3", … where that is taken, so that a name in a profile or an error
 * text means one node. */
static const char *node_name(ath_graph *self, const char *op) {
  size_t size = (self->scope != NULL ? strlen(self->scope) + 1 : 0) + strlen(op) + 16;
  char *name = ath_graph_alloc(self, size);
  if (name == NULL) return NULL;
  int length = self->scope != NULL ? snprintf(name, size, "%s/%s", self->scope, op)
                                   : snprintf(name, size, "%s", op);
  int times = ath_graph_claim(self, 'n', name);
  if (times == 0) return NULL;
  if (times > 1) snprintf(name + length, size - (size_t)length, "_%d", times);
  return name;
}

/* The first output is called as its node, the others "<node>.1", "<node>.2", … */
static const char *result_name(ath_graph *self, const ath_node *node, int output) {
  if (output == 0) return node->name;
  size_t size = strlen(node->name) + 16;
  char *name = ath_graph_alloc(self, size);
  if (name != NULL) snprintf(name, size, "%s.%d", node->name, output);
  return name;
}

static void *copy_of(ath_graph *self, const void *bytes, size_t size) {
  void *copy = ath_graph_alloc(self, size);
  if (copy != NULL && size > 0) memcpy(copy, bytes, size);
  return copy;
}

static ath_node *make_node(ath_graph *self, const ath_op *op, const void *attributes, size_t size,
                           const ath_value *inputs, int input_count, int output_count) {
  ath_node *node = ath_graph_alloc(self, sizeof *node);
  const char *name = node_name(self, op->name);
  ath_value *input_copy = copy_of(self, inputs, (size_t)input_count * sizeof *inputs);
  ath_value *outputs = ath_graph_alloc(self, (size_t)output_count * sizeof *outputs);
  void *attribute_copy = copy_of(self, attributes, size);
  if (self->failure != ATH_OK) return NULL;
  *node = (ath_node){.op = op, .name = name, .inputs = input_copy, .outputs = outputs,
                     .input_count = input_count, .output_count = output_count,
                     .attributes = attribute_copy, .attributes_size = size};
  return node;
}

/* The failure of a shape rule, with the node in front and the values it was about behind. */
static void fail_shapes(ath_graph *self, const ath_node *node, ath_status status) {
  char text[1024], values[512] = "";
  size_t used = 0;
  snprintf(text, sizeof text, "%s", ath_error_text());
  for (int i = 0; i < node->input_count && used < sizeof values; i++)
    used += (size_t)snprintf(values + used, sizeof values - used, "%s%s", i > 0 ? ", " : "",
                             ath_graph_value_name(self, node->inputs[i]));
  ath_graph_fail(self, status, "%s: %s (inputs: %s)", node->name, text, values);
}

/* Whether the inputs exist and the shape rule takes them; otherwise the graph has failed. */
static bool infer_types(ath_graph *self, const ath_node *node, ath_type *outputs) {
  ath_type *inputs = ath_graph_alloc(self, (size_t)node->input_count * sizeof *inputs);
  if (inputs == NULL) return false;
  for (int i = 0; i < node->input_count; i++) {
    ath_value input = node->inputs[i];
    if (input != ATH_NO_VALUE && !ath_graph_has(self, input)) {
      ath_graph_fail(self, ATH_INVALID, "%s: there is no value %d", node->name, input);
      return false;
    }
    inputs[i] = ath_graph_type(self, input);
  }
  ath_status status = node->op->infer(node->attributes, inputs, node->input_count, outputs,
                                      node->output_count);
  if (status != ATH_OK) fail_shapes(self, node, status);
  return status == ATH_OK;
}

/* The node joins the graph at the very end, once nothing can fail any more: passes and backends
 * never meet half a node. */
void ath_graph_add(ath_graph *self, const ath_op *op, const void *attributes, size_t size,
                   const ath_value *inputs, int input_count, ath_value *outputs,
                   int output_count) {
  assert(op->infer != NULL && output_count > 0 && output_count <= ATH_MAX_OUTPUTS);
  for (int i = 0; i < output_count; i++) outputs[i] = ATH_NO_VALUE;
  if (self->failure != ATH_OK) return;
  ath_node *node = make_node(self, op, attributes, size, inputs, input_count, output_count);
  ath_type types[ATH_MAX_OUTPUTS] = {0};
  if (node == NULL || !infer_types(self, node, types)) return;
  ath_value *made = (ath_value *)node->outputs;
  for (int i = 0; i < output_count; i++) {
    const char *name = result_name(self, node, i);
    made[i] = ath_graph_new_value(self, ATH_VALUE_RESULT, name, types[i]);
    if (made[i] == ATH_NO_VALUE) return;
    self->values[made[i]].producer = node;
  }
  if (!ath_graph_grow(self, (void **)&self->nodes, &self->node_capacity, self->node_count,
                      sizeof *self->nodes))
    return;
  self->nodes[self->node_count++] = node;
  for (int i = 0; i < input_count; i++)
    if (inputs[i] != ATH_NO_VALUE) self->values[inputs[i]].uses++;
  memcpy(outputs, made, (size_t)output_count * sizeof *outputs);
}

size_t ath_graph_node_count(const ath_graph *self) { return self->node_count; }

const ath_node *ath_graph_node(const ath_graph *self, size_t index) {
  assert(index < self->node_count);
  return self->nodes[index];
}
