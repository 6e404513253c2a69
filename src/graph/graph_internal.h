/* graph_internal.h: how a graph is stored, for the files of src/graph/ alone. */
#ifndef ATHANOR_GRAPH_INTERNAL_H
#define ATHANOR_GRAPH_INTERNAL_H

#include "base/arena.h"
#include "base/hash_map.h"
#include "graph/op.h"

typedef struct value_record {
  ath_value_kind kind;
  ath_type type;
  const char *name;
  ath_node *producer; /* of a result */
  double fill;        /* of a constant */
  ath_value assigned; /* to a variable */
  int uses;
} value_record;

typedef struct output_record {
  const char *name;
  ath_value value;
} output_record;

/* Everything but the map of names lies in the arena. The arrays grow by doubling; what they leave
 * behind stays in the arena until the end, at most as much again. */
struct ath_graph {
  ath_arena *arena;
  ath_hash_map *names; /* "n:layer.0/linear" → how often it was asked for; see ath_graph_claim */
  value_record *values;
  ath_node **nodes; /* in an order in which every input comes before its use */
  output_record *outputs;
  size_t value_count, value_capacity, node_count, node_capacity, output_count, output_capacity;
  const char *scope; /* NULL for none */
  ath_status failure;
  char failure_text[1024];
};

/* Arena memory; NULL after recording ATH_NO_MEMORY as the graph's failure. */
void *ath_graph_alloc(ath_graph *self, size_t size);
/* Makes room for one more element of an array in the arena; false as above. */
bool ath_graph_grow(ath_graph *self, void **array, size_t *capacity, size_t count, size_t size);
/* Counts one more use of a name in its kind ('i', 'v', 'o' or 'n'): 1 for the first; 0 as above. */
int ath_graph_claim(ath_graph *self, char kind, const char *name);
/* A new value; ATH_NO_VALUE where the type is not one (a dimension below 1, too large). */
ath_value ath_graph_new_value(ath_graph *self, ath_value_kind kind, const char *name,
                              ath_type type);
bool ath_graph_has(const ath_graph *self, ath_value value);
/* Sets the scope to that in which `node` was added; the caller puts the user's back. */
void ath_graph_enter_scope_of(ath_graph *self, const ath_node *node);

#endif
