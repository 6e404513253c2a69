/* parts.c: finding sums of sums over rows. */
#include "stablehlo/parts.h"

#include <string.h>

typedef struct search {
  const ath_graph *graph;
  int parts;
  bool *in_parts; /* by value */
} search;

static bool is_convert(const ath_node *node) { return strcmp(node->op->name, "convert") == 0; }

/* Whether a node's output 0 is a sum over rows that can be cut into the parts. */
static bool sums_rows(const search *s, const ath_node *node) {
  enum { INPUTS_MAX = 4 }; /* of such operations: two factors, or ids and rows */
  ath_type types[INPUTS_MAX];
  if (node->op->summed_rows == NULL || node->input_count > INPUTS_MAX) return false;
  for (int i = 0; i < node->input_count; i++)
    types[i] = ath_graph_type(s->graph, node->inputs[i]);
  int64_t rows = node->op->summed_rows(node, types);
  return rows > 0 && rows % s->parts == 0;
}

/* Whether a value is a sum over rows, or a sum or another precision of such, that only one node
 * reads; with `mark` it is marked. */
static bool find_parts(const search *s, ath_value value, bool mark, int depth) {
  const ath_node *node = ath_graph_producer(s->graph, value);
  if (node == NULL || depth > 8 || ath_graph_uses(s->graph, value) != 1) return false;
  bool found = sums_rows(s, node);
  if (!found && (is_convert(node) || node->op == &ath_op_sum)) {
    found = true;
    for (int i = 0; i < node->input_count; i++)
      found = found && find_parts(s, node->inputs[i], mark, depth + 1);
  }
  if (mark) s->in_parts[value] = true;
  return found;
}

/* Sums are met after their addends, so from the end: a sum within a sum is then marked already. */
void ath_hlo_mark_parts(const ath_graph *graph, int parts, const bool *needed, bool *in_parts) {
  const search s = {graph, parts, in_parts};
  if (parts < 2) return;
  for (size_t i = ath_graph_node_count(graph); i-- > 0;) {
    const ath_node *node = ath_graph_node(graph, i);
    if (node->op != &ath_op_sum || !needed[i] || in_parts[node->outputs[0]]) continue;
    if (find_parts(&s, node->inputs[0], false, 0) && find_parts(&s, node->inputs[1], false, 0))
      for (int k = 0; k < 2; k++) find_parts(&s, node->inputs[k], true, 0);
  }
}
