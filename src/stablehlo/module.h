/* module.h: a graph as a StableHLO module.
 *
 * The module has one function @main. Its arguments are the graph's variables that the program
 * reads or assigns, in the graph's order, then its inputs that are read; its results are the new
 * values of assigned variables, in the order of their arguments, then the graph's outputs in their
 * order. A variable that is assigned is donated: its argument carries tf.aliasing_output = the
 * number of its result, so that the device updates it in place. Constants are part of the text. */
#ifndef ATHANOR_STABLEHLO_MODULE_H
#define ATHANOR_STABLEHLO_MODULE_H

#include "base/arena.h"
#include "stablehlo/hlo.h"

typedef enum ath_hlo_port_kind {
  ATH_HLO_VARIABLE, ATH_HLO_INPUT, ATH_HLO_NEW_VARIABLE, ATH_HLO_OUTPUT
} ath_hlo_port_kind;

/* An argument or a result of @main. */
typedef struct ath_hlo_port {
  ath_hlo_port_kind kind;
  const char *name; /* the variable's, the input's, the output's */
  ath_type type;
  int result; /* of a donated variable's argument: the result it becomes; else −1 */
  int argument; /* of a new variable's result: the argument it comes from; else −1 */
} ath_hlo_port;

/* Kinds of values that are no ports: any value inside (its name is the node's), and a sum over a
 * batch's rows in parts (parts.h), which has the parts as dimension 0 while `type` is the sum's. */
enum { ATH_HLO_INSIDE = -1, ATH_HLO_IN_PARTS = -2 };

/* Where a value lies on a mesh of devices. Writes the text of an mhlo.sharding attribute,
 * "{replicated}" or "{devices=[4,1]<=[4]}", for a port or a value inside. Appending nothing means:
 * no annotation. */
typedef struct ath_hlo_sharding {
  ath_status (*print)(void *user, int kind, const char *name, const ath_type *type,
                      ath_buffer *out);
  void *user;
  int partitions; /* of the module: mhlo.num_partitions */
  int parts;      /* devices that share the rows of a batch */
} ath_hlo_sharding;

typedef struct ath_hlo_module_options {
  const ath_hlo_sharding *sharding; /* NULL: one device */
} ath_hlo_module_options;

/* What a printed module wants and gives. Everything lies in the arena passed to the printer. */
typedef struct ath_hlo_signature {
  ath_hlo_port *arguments, *results;
  int argument_count, result_count;
} ath_hlo_signature;

/* Appends the module's text to `out`. Nodes that no output and no assignment needs are left out.
 * ATH_UNSUPPORTED, naming the node, for an operation without StableHLO text. */
ath_status ath_hlo_module_print(const ath_graph *graph, const ath_hlo_module_options *options,
                                ath_arena *arena, ath_hlo_signature *signature, ath_buffer *out)
    ATH_MUST_CHECK;

#endif
