/* print.c: a graph as text for people: its values, its nodes, what it gives back. */
#include <assert.h>

#include "graph/graph_internal.h"

static ath_status print_value(const ath_graph *self, ath_value value, ath_buffer *out) {
  const value_record *record = &self->values[value];
  char text[96];
  ath_type_text(&record->type, text);
  switch (record->kind) {
    case ATH_VALUE_INPUT:
      return ath_buffer_format(out, "%%%d input %s: %s\n", value, record->name, text);
    case ATH_VALUE_VARIABLE:
      return ath_buffer_format(out, "%%%d variable %s: %s\n", value, record->name, text);
    case ATH_VALUE_CONSTANT:
      return ath_buffer_format(out, "%%%d constant %g: %s\n", value, record->fill, text);
    case ATH_VALUE_RESULT:
      break; /* stands with its node */
  }
  return ATH_OK;
}

static ath_status print_numbers(const ath_value *values, int count, const char *between,
                                ath_buffer *out) {
  for (int i = 0; i < count; i++) {
    ATH_TRY(ath_buffer_string(out, i > 0 ? between : ""));
    if (values[i] == ATH_NO_VALUE) ATH_TRY(ath_buffer_string(out, "-"));
    else ATH_TRY(ath_buffer_format(out, "%%%d", values[i]));
  }
  return ATH_OK;
}

static ath_status print_node(const ath_graph *self, const ath_node *node, ath_buffer *out) {
  char text[96];
  ATH_TRY(print_numbers(node->outputs, node->output_count, ", ", out));
  ATH_TRY(ath_buffer_format(out, " %s:", node->name));
  for (int o = 0; o < node->output_count; o++)
    ATH_TRY(ath_buffer_format(out, "%s %s", o > 0 ? "," : "",
                              ath_type_text(&self->values[node->outputs[o]].type, text)));
  ATH_TRY(ath_buffer_string(out, node->input_count > 0 ? " <- " : ""));
  ATH_TRY(print_numbers(node->inputs, node->input_count, " ", out));
  if (node->op->describe != NULL) {
    ATH_TRY(ath_buffer_string(out, " {"));
    ATH_TRY(node->op->describe(node->attributes, out));
    ATH_TRY(ath_buffer_string(out, "}"));
  }
  return ath_buffer_byte(out, '\n');
}

/* In the order in which things must exist: values from outside, nodes, what is kept of them. */
ath_status ath_graph_print(const ath_graph *self, ath_buffer *out) {
  ATH_TRY(ath_graph_status(self));
  for (size_t v = 0; v < self->value_count; v++)
    ATH_TRY(print_value(self, (ath_value)v, out));
  for (size_t i = 0; i < self->node_count; i++)
    ATH_TRY(print_node(self, self->nodes[i], out));
  for (size_t v = 0; v < self->value_count; v++)
    if (self->values[v].assigned != ATH_NO_VALUE)
      ATH_TRY(ath_buffer_format(out, "variable %s := %%%d\n", self->values[v].name,
                                self->values[v].assigned));
  for (size_t i = 0; i < self->output_count; i++)
    ATH_TRY(ath_buffer_format(out, "output %s = %%%d\n", self->outputs[i].name,
                              self->outputs[i].value));
  return ATH_OK;
}
