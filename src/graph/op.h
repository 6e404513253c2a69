/* op.h: what an operation is, to the graph and to the backends.
 *
 * An operation's file in src/ops/ fills in one `const ath_op` per kind of node. The graph knows
 * only this descriptor; backends call through it. Nothing else has to change for a new operation
 * but its builder's declaration in ops.h. */
#ifndef ATHANOR_GRAPH_OP_H
#define ATHANOR_GRAPH_OP_H

#include "athanor/graph.h"
#include "base/buffer.h"

typedef struct ath_op ath_op;
struct ath_hlo_call;

typedef struct ath_node {
  const ath_op *op;
  const char *name;         /* "layer.3/attention" */
  const ath_value *inputs;  /* ATH_NO_VALUE for an optional one left out */
  const ath_value *outputs;
  int input_count, output_count;
  const void *attributes;   /* the operation's own struct, copied into the graph */
  size_t attributes_size;
} ath_node;

/* One node as the CPU engine runs it. Made once, before the first run; its pointers are final
 * but for inputs of the graph, whose place the user may change between runs. */
typedef struct ath_cpu_call {
  const ath_node *node;
  const ath_type *input_types, *output_types; /* by position */
  void **inputs, **outputs;  /* NULL where the node has ATH_NO_VALUE */
  void *scratch;             /* of the size `cpu_scratch` asked for, 64-byte aligned */
  void *prepared;            /* from cpu_prepare */
} ath_cpu_call;

struct ath_op {
  const char *name; /* "layer_norm" */

  /* Shape rule: checks the inputs' types and fills in the outputs'. On failure the text says
   * which dimensions do not fit; the graph puts the node's name in front. */
  ath_status (*infer)(const void *attributes, const ath_type *inputs, int input_count,
                      ath_type *outputs, int output_count);

  /* Gradient rule: given the gradients of the outputs (ATH_NO_VALUE where there is none), adds
   * nodes that compute those of the inputs and stores them (ATH_NO_VALUE, as they come, where the
   * input has none, e.g. ids). Called only when at least one output has a gradient and one input's
   * is wanted; `wanted[i]` is false when nobody needs input i's. A gradient has its input's type.
   * NULL: no gradient. */
  void (*grad)(ath_graph *g, const ath_node *node, const ath_value *output_gradients,
               const bool *wanted, ath_value *input_gradients);

  /* The CPU engine's entry. It allocates nothing, fails only over what its inputs hold, and
   * leaves the node's name in the text to the engine. Before the first run, in this order:
   * cpu_prepare (may be NULL) once, with types but no pointers yet, whose `prepared` is freed by
   * cpu_release; then cpu_scratch (may be NULL): how many bytes of scratch memory a run needs. */
  ath_status (*cpu)(const ath_cpu_call *call);
  size_t (*cpu_scratch)(const ath_cpu_call *call);
  ath_status (*cpu_prepare)(ath_cpu_call *call);
  void (*cpu_release)(ath_cpu_call *call);
  /* Whether `cpu` takes bf16 too; most entries know f32 alone, and the engine refuses the node. */
  bool cpu_bf16;

  /* The inputs, as a bit mask (bit i for input i), whose memory this output may take over when
   * nobody reads that input later: elementwise work in place, and AdamW on its variables. Such an
   * entry must be right whether or not the memory is shared. NULL: none. */
  uint32_t (*in_place)(const ath_node *node, int output);

  /* Output 0 is input 0 under another type: an engine shares the memory and runs nothing. */
  bool is_view;

  /* Fusion rule, on the last operation of a pattern: if this node ends one, adds the fused nodes
   * and returns the value that takes the place of output 0; otherwise ATH_NO_VALUE. Values inside
   * the pattern must have a single use (ath_graph_uses), and the node's other outputs none. */
  ath_value (*fuse)(ath_graph *g, const ath_node *node);

  /* Floating-point operations of one run, for utilisation figures; NULL counts as 0. */
  double (*flops)(const ath_node *node, const ath_type *inputs, const ath_type *outputs);

  /* For an input that holds ids, the rows or classes that it chooses from: 0 … limit − 1; 0 for
   * other inputs. `*weights` is set where ids are not read whose element of that input is 0.
   * Engines that cannot stop at a wrong id look at them before the run. NULL: none holds ids. */
  int64_t (*id_limit)(const ath_node *node, const ath_type *inputs, int input, int *weights);

  /* The same as StableHLO statements, for XLA (stablehlo/hlo.h); NULL: no XLA device runs it. */
  ath_status (*stablehlo)(const struct ath_hlo_call *call);
  /* How many rows of its inputs output 0 is the sum over; 0: it is no such sum. `stablehlo` can
   * give it in equal parts of them then, as ath_hlo_call says. NULL counts as 0. */
  int64_t (*summed_rows)(const ath_node *node, const ath_type *inputs);

  /* Appends what a person should see of the attributes, e.g. "kind=gelu"; may be NULL. */
  ath_status (*describe)(const void *attributes, ath_buffer *out);
};

enum { ATH_MAX_OUTPUTS = 6 };

/* An optional input left out has this type in `infer`, `flops` and ath_cpu_call. */
#define ATH_TYPE_ABSENT ((ath_type){.rank = -1})
static inline bool ath_type_given(const ath_type *type) { return type->rank >= 0; }

/* Adds a node; `attributes` (size bytes, may be NULL) is copied. Output types come from
 * op->infer. Fills `outputs[output_count]`; on failure they are ATH_NO_VALUE, and the graph
 * keeps the error. If any input is ATH_NO_VALUE because of an earlier failure nothing is added:
 * optional inputs are allowed to be ATH_NO_VALUE only while ath_graph_status is ATH_OK. */
void ath_graph_add(ath_graph *self, const ath_op *op, const void *attributes, size_t size,
                   const ath_value *inputs, int input_count, ath_value *outputs,
                   int output_count);

/* For gradient rules, passes and backends: the graph's nodes, in an order in which every input
 * comes before its use. */
size_t ath_graph_node_count(const ath_graph *self);
const ath_node *ath_graph_node(const ath_graph *self, size_t index);

typedef enum ath_value_kind {
  ATH_VALUE_INPUT, ATH_VALUE_VARIABLE, ATH_VALUE_CONSTANT, ATH_VALUE_RESULT
} ath_value_kind;

size_t ath_graph_value_count(const ath_graph *self);
ath_value_kind ath_graph_kind(const ath_graph *self, ath_value value);
/* The node that makes a result; NULL for the other kinds. */
const ath_node *ath_graph_producer(const ath_graph *self, ath_value value);
double ath_graph_constant_fill(const ath_graph *self, ath_value value);
/* How often nodes, outputs and assignments read a value. */
int ath_graph_uses(const ath_graph *self, ath_value value);
/* What an assignment gives a variable; ATH_NO_VALUE if it has none. */
ath_value ath_graph_assigned(const ath_graph *self, ath_value variable);
/* Which nodes an output or an assignment needs: needed[i] for node i of ath_graph_node_count. */
ath_status ath_graph_mark_needed(const ath_graph *self, bool *needed) ATH_MUST_CHECK;

/* The sum of two values of one type, the operation with which autodiff adds up gradients: the only
 * one that lives in graph/ (sum.c), because graph/ knows no other. */
extern const ath_op ath_op_sum;
ath_value ath_graph_sum(ath_graph *self, ath_value a, ath_value b);

size_t ath_graph_output_count(const ath_graph *self);
ath_value ath_graph_output_at(const ath_graph *self, size_t index, const char **name);

#endif
