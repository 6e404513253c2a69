/* module.c: a graph as one StableHLO module: signature, statements of each node, results.
 *
 *     module @athanor attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
 *       func.func public @main(
 *         %w: tensor<4x4xf32> {tf.aliasing_output = 0 : i32},
 *         %x: tensor<8x4xf32>
 *       ) -> (
 *         tensor<4x4xf32>, // w
 *         tensor<f32> // loss
 *       ) {
 *         // layer.0
 *         %layer.0.linear.1 = stablehlo.dot_general %x, %w, …
 *         return …
 *       }
 *     } */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "stablehlo/module.h"
#include "stablehlo/parts.h"
#include "stablehlo/writer.h"

typedef struct printer {
  const ath_graph *graph;
  const ath_hlo_sharding *sharding; /* NULL: none */
  ath_hlo_signature *signature;
  ath_hlo *hlo;
  bool *needed;          /* by node */
  bool *read;            /* by value: by a needed node, an output or an assignment */
  bool *in_parts;        /* by value: printed as sums over parts of the rows */
  ath_hlo_value *values; /* by value, once it is printed */
  const char *scope;     /* of the latest node; not ended by a NUL */
  size_t scope_length;
} printer;

/* --- what is needed ------------------------------------------------------------------------- */

static void mark_read(const printer *p) {
  const ath_graph *g = p->graph;
  for (size_t i = 0; i < ath_graph_node_count(g); i++) {
    const ath_node *node = ath_graph_node(g, i);
    for (int k = 0; p->needed[i] && k < node->input_count; k++)
      if (node->inputs[k] != ATH_NO_VALUE) p->read[node->inputs[k]] = true;
  }
  for (size_t v = 0; v < ath_graph_value_count(g); v++) {
    ath_value assigned = ath_graph_assigned(g, (ath_value)v);
    if (assigned != ATH_NO_VALUE) p->read[assigned] = true;
  }
  for (size_t i = 0; i < ath_graph_output_count(g); i++) {
    const char *name;
    p->read[ath_graph_output_at(g, i, &name)] = true;
  }
}

/* --- the signature -------------------------------------------------------------------------- */

static void add_argument(printer *p, ath_value value, ath_hlo_port_kind kind) {
  ath_hlo_signature *s = p->signature;
  const char *name = ath_graph_value_name(p->graph, value);
  ath_type type = ath_graph_type(p->graph, value);
  bool donated =
      kind == ATH_HLO_VARIABLE && ath_graph_assigned(p->graph, value) != ATH_NO_VALUE;
  s->arguments[s->argument_count] = (ath_hlo_port){
    .kind = kind, .name = name, .type = type, .result = donated ? s->result_count : -1,
    .argument = -1};
  if (donated)
    s->results[s->result_count++] = (ath_hlo_port){
      .kind = ATH_HLO_NEW_VARIABLE, .name = name, .type = type, .result = -1,
      .argument = s->argument_count};
  s->argument_count++;
  p->values[value] = ath_hlo_argument(p->hlo, name, &type);
}

static void add_arguments(printer *p, ath_value_kind kind, ath_hlo_port_kind port) {
  for (size_t v = 0; v < ath_graph_value_count(p->graph); v++) {
    if (ath_graph_kind(p->graph, (ath_value)v) != kind) continue;
    bool assigned = ath_graph_assigned(p->graph, (ath_value)v) != ATH_NO_VALUE;
    if (p->read[v] || assigned) add_argument(p, (ath_value)v, port);
  }
}

/* Names lie in the graph, which may be gone before the signature is. */
static ath_status keep_names(ath_hlo_port *ports, int count, ath_arena *arena) {
  for (int i = 0; i < count; i++) {
    ports[i].name = ath_arena_string(arena, ports[i].name);
    if (ports[i].name == NULL) return ATH_NO_MEMORY;
  }
  return ATH_OK;
}

static ath_status make_signature(printer *p, ath_arena *arena) {
  ath_hlo_signature *s = p->signature;
  size_t values = ath_graph_value_count(p->graph);
  size_t outputs = ath_graph_output_count(p->graph), variables = 0, inputs = 0;
  for (size_t v = 0; v < values; v++) {
    variables += ath_graph_kind(p->graph, (ath_value)v) == ATH_VALUE_VARIABLE;
    inputs += ath_graph_kind(p->graph, (ath_value)v) == ATH_VALUE_INPUT;
  }
  *s = (ath_hlo_signature){0};
  s->arguments = ath_arena_alloc(arena, (variables + inputs) * sizeof *s->arguments);
  s->results = ath_arena_alloc(arena, (variables + outputs) * sizeof *s->results);
  if (s->arguments == NULL || s->results == NULL) return ATH_NO_MEMORY;
  add_arguments(p, ATH_VALUE_VARIABLE, ATH_HLO_VARIABLE);
  add_arguments(p, ATH_VALUE_INPUT, ATH_HLO_INPUT);
  for (size_t i = 0; i < outputs; i++) {
    const char *name;
    ath_value value = ath_graph_output_at(p->graph, i, &name);
    s->results[s->result_count++] = (ath_hlo_port){
      .kind = ATH_HLO_OUTPUT, .name = name, .type = ath_graph_type(p->graph, value),
      .result = -1, .argument = -1};
  }
  ATH_TRY(keep_names(s->arguments, s->argument_count, arena));
  return keep_names(s->results, s->result_count, arena);
}

/* --- shardings ------------------------------------------------------------------------------- */

/* The annotation of a port or of a value inside; empty where there is none. */
static ath_status sharding_text(const printer *p, int kind, const char *name,
                                const ath_type *type, ath_buffer *out) {
  ath_buffer_clear(out);
  if (p->sharding == NULL) return ATH_OK;
  ATH_TRY(p->sharding->print(p->sharding->user, kind, name, type, out));
  for (size_t i = 0; i < out->length; i++)
    if (out->bytes[i] < ' ' || out->bytes[i] == '"' || out->bytes[i] == '\\')
      return ath_fail(ATH_INTERNAL, "%s: a sharding with a character that text cannot hold", name);
  return ATH_OK;
}

/* A value inside is held to its sharding by a call that the partitioner takes out again. */
static ath_hlo_value constrain(printer *p, int kind, ath_value value, ath_hlo_value printed) {
  ath_buffer text = ath_buffer_make(1 << 12);
  ath_type type = ath_graph_type(p->graph, value);
  ath_status status =
      sharding_text(p, kind, ath_graph_value_name(p->graph, value), &type, &text);
  if (status != ATH_OK) ath_hlo_fail(p->hlo, status, "%s", ath_error_text());
  else if (text.length > 0)
    printed = ath_hlo_statement(
        p->hlo, printed,
        "stablehlo.custom_call @Sharding(%v) {mhlo.sharding = \"%s\"} : (%t) -> %t", &printed,
        text.bytes, &printed, &printed);
  ath_buffer_free(&text);
  return printed;
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* One comment where the scope changes: "// layer.0". */
static void print_scope(printer *p, const ath_node *node) {
  const char *slash = strrchr(node->name, '/');
  size_t length = slash != NULL ? (size_t)(slash - node->name) : 0;
  bool same = length == p->scope_length && memcmp(p->scope, node->name, length) == 0;
  p->scope = node->name;
  p->scope_length = length;
  if (!same && length > 0) ath_hlo_comment(p->hlo, node->name, length);
}

/* Constants are printed where they are first wanted. */
static void print_constant(printer *p, ath_value value) {
  ath_type type = ath_graph_type(p->graph, value);
  ath_hlo_value like = ath_hlo_shaped((ath_hlo_dtype)type.dtype, type.rank, type.dims);
  ath_hlo_enter(p->hlo, ath_graph_value_name(p->graph, value));
  p->values[value] = ath_hlo_fill(p->hlo, like, ath_graph_constant_fill(p->graph, value));
}

static ath_hlo_value value_of(printer *p, ath_value value) {
  if (value == ATH_NO_VALUE) return ATH_HLO_NONE;
  if (!ath_hlo_given(p->values[value]) &&
      ath_graph_kind(p->graph, value) == ATH_VALUE_CONSTANT)
    print_constant(p, value);
  return p->values[value];
}

/* The sum of gradients lies in graph/, which knows nothing of this text. Of parts, only the last
 * sum adds them up. */
static void print_sum(printer *p, const ath_hlo_call *call) {
  const ath_node *node = call->node;
  ath_hlo_value sum = ath_hlo_binary(call->hlo, "add", call->inputs[0], call->inputs[1]);
  if (p->in_parts[node->inputs[0]] && !p->in_parts[node->outputs[0]]) {
    sum = constrain(p, ATH_HLO_IN_PARTS, node->outputs[0], sum);
    sum = ath_hlo_reduce(call->hlo, "add", sum, 1u << 0);
    sum = ath_hlo_convert(call->hlo, sum, (ath_hlo_dtype)call->output_types[0].dtype);
  }
  call->outputs[0] = sum;
}

static ath_status print_operation(printer *p, const ath_hlo_call *call) {
  const ath_node *node = call->node;
  if (node->op == &ath_op_sum) {
    print_sum(p, call);
    return ATH_OK;
  }
  if (call->parts > 0 && node->op->summed_rows == NULL) { /* a convert: parts are f32 */
    call->outputs[0] = call->inputs[0];
    return ATH_OK;
  }
  if (node->op->stablehlo != NULL) return node->op->stablehlo(call);
  return ath_fail(ATH_UNSUPPORTED, "the operation %s has no StableHLO text: no XLA device runs it",
                  node->op->name);
}

/* What an operation printed must be what its shape rule promised. */
static void take_outputs(printer *p, const ath_hlo_call *call) {
  for (int o = 0; o < call->node->output_count; o++) {
    ath_value value = call->node->outputs[o];
    if (!p->read[value]) continue;
    if (p->in_parts[value]) {
      p->values[value] = constrain(p, ATH_HLO_IN_PARTS, value, call->outputs[o]);
      continue;
    }
    char text[96];
    if (!ath_hlo_want(p->hlo, ath_hlo_given(call->outputs[o]) &&
                      ath_hlo_has_type(call->outputs[o], &call->output_types[o]),
                      "output %d of its StableHLO text is not %s", o,
                      ath_type_text(&call->output_types[o], text)))
      return;
    p->values[value] = constrain(p, ATH_HLO_INSIDE, value, call->outputs[o]);
  }
}

enum { MAX_INPUTS = 4096 }; /* of one node: a sum of squares takes every gradient */

static ath_status print_node(printer *p, const ath_node *node) {
  size_t inputs = (size_t)node->input_count, outputs = (size_t)node->output_count;
  assert(outputs <= ATH_MAX_OUTPUTS);
  if (inputs > MAX_INPUTS)
    return ath_fail(ATH_UNSUPPORTED, "%s: more than %d inputs", node->name, MAX_INPUTS);
  ath_type *types = calloc(inputs + 1, sizeof *types), output_types[ATH_MAX_OUTPUTS];
  ath_hlo_value *values = calloc(inputs + 1, sizeof *values), results[ATH_MAX_OUTPUTS];
  ath_status status = types != NULL && values != NULL
                          ? ATH_OK
                          : ath_fail(ATH_NO_MEMORY, "no memory for the inputs of a node");
  print_scope(p, node);
  for (size_t i = 0; status == ATH_OK && i < inputs; i++) {
    types[i] = ath_graph_type(p->graph, node->inputs[i]);
    values[i] = value_of(p, node->inputs[i]);
  }
  for (size_t o = 0; o < outputs; o++) {
    output_types[o] = ath_graph_type(p->graph, node->outputs[o]);
    results[o] = ATH_HLO_NONE;
  }
  ath_hlo_call call = {.hlo = p->hlo, .node = node, .input_types = types,
                       .output_types = output_types, .inputs = values, .outputs = results};
  if (outputs > 0 && p->in_parts[node->outputs[0]]) call.parts = p->sharding->parts;
  ath_hlo_enter(p->hlo, node->name);
  if (status == ATH_OK) status = ath_context(print_operation(p, &call), "%s", node->name);
  if (status == ATH_OK) take_outputs(p, &call);
  if (status == ATH_OK) status = ath_hlo_status(p->hlo);
  free(types);
  free(values);
  return status;
}

static ath_status print_nodes(printer *p) {
  for (size_t i = 0; i < ath_graph_node_count(p->graph); i++)
    if (p->needed[i]) ATH_TRY(print_node(p, ath_graph_node(p->graph, i)));
  return ATH_OK;
}

/* Values in the order of the results; a constant may stand there without a node that reads it. */
static ath_status print_return(printer *p) {
  const ath_graph *g = p->graph;
  size_t count = (size_t)p->signature->result_count, at = 0;
  ath_hlo_value *results = calloc(count + 1, sizeof *results);
  if (results == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the results of a module");
  for (size_t v = 0; v < ath_graph_value_count(g); v++) {
    ath_value assigned = ath_graph_assigned(g, (ath_value)v);
    if (assigned != ATH_NO_VALUE) results[at++] = value_of(p, assigned);
  }
  for (size_t i = 0; i < ath_graph_output_count(g); i++) {
    const char *name;
    results[at++] = value_of(p, ath_graph_output_at(g, i, &name));
  }
  assert(at == count);
  ath_hlo_put(p->hlo, "    return");
  for (size_t i = 0; i < count; i++) ath_hlo_put(p->hlo, "%s%v", i > 0 ? ", " : " ", &results[i]);
  for (size_t i = 0; i < count; i++) ath_hlo_put(p->hlo, "%s%t", i > 0 ? ", " : " : ", &results[i]);
  ath_hlo_put(p->hlo, "\n");
  free(results);
  return ath_hlo_status(p->hlo);
}

/* --- the head -------------------------------------------------------------------------------- */

/* " {mhlo.sharding = "…", tf.aliasing_output = 0 : i32}", or nothing. */
static ath_status put_attributes(printer *p, const ath_hlo_port *port) {
  ath_buffer text = ath_buffer_make(1 << 12);
  ath_status status = sharding_text(p, (int)port->kind, port->name, &port->type, &text);
  bool sharded = status == ATH_OK && text.length > 0;
  if (sharded || port->result >= 0) ath_hlo_put(p->hlo, " {");
  if (sharded) ath_hlo_put(p->hlo, "mhlo.sharding = \"%s\"", text.bytes);
  if (port->result >= 0)
    ath_hlo_put(p->hlo, "%stf.aliasing_output = %d : i32", sharded ? ", " : "", port->result);
  if (sharded || port->result >= 0) ath_hlo_put(p->hlo, "}");
  ath_buffer_free(&text);
  return status;
}

static ath_hlo_value type_of(const ath_hlo_port *port) {
  return ath_hlo_shaped((ath_hlo_dtype)port->type.dtype, port->type.rank, port->type.dims);
}

/* Arguments were the first values that the writer made, so that argument i is value i. */
static ath_status print_head(printer *p) {
  const ath_hlo_signature *s = p->signature;
  ath_hlo_put(p->hlo, "module @athanor attributes {mhlo.num_partitions = %d : i32, "
              "mhlo.num_replicas = 1 : i32} {\n  func.func public @main(\n",
              p->sharding != NULL ? p->sharding->partitions : 1);
  for (int i = 0; i < s->argument_count; i++) {
    ath_hlo_value argument = type_of(&s->arguments[i]);
    argument.id = i;
    ath_hlo_put(p->hlo, "    %v: %t", &argument, &argument);
    ATH_TRY(put_attributes(p, &s->arguments[i]));
    ath_hlo_put(p->hlo, i + 1 < s->argument_count ? ",\n" : "\n");
  }
  ath_hlo_put(p->hlo, "  ) -> (\n");
  for (int i = 0; i < s->result_count; i++) {
    ath_hlo_value result = type_of(&s->results[i]);
    ath_hlo_put(p->hlo, "    %t", &result);
    ATH_TRY(put_attributes(p, &s->results[i]));
    ath_hlo_put(p->hlo, i + 1 < s->result_count ? "," : "");
    ath_hlo_comment(p->hlo, s->results[i].name, strlen(s->results[i].name));
  }
  ath_hlo_put(p->hlo, "  ) {\n");
  return ath_hlo_status(p->hlo);
}

/* --- all ------------------------------------------------------------------------------------- */

static ath_status create(printer *p) {
  size_t values = ath_graph_value_count(p->graph);
  p->needed = calloc(ath_graph_node_count(p->graph) + 1, sizeof *p->needed);
  p->read = calloc(values + 1, sizeof *p->read);
  p->in_parts = calloc(values + 1, sizeof *p->in_parts);
  p->values = calloc(values + 1, sizeof *p->values);
  if (p->needed == NULL || p->read == NULL || p->in_parts == NULL || p->values == NULL)
    return ath_fail(ATH_NO_MEMORY, "no memory to print a graph");
  for (size_t v = 0; v < values; v++) p->values[v] = ATH_HLO_NONE;
  return ath_hlo_create(&p->hlo);
}

static ath_status print_all(printer *p, ath_arena *arena) {
  ATH_TRY(create(p));
  ATH_TRY(ath_graph_mark_needed(p->graph, p->needed));
  mark_read(p);
  if (p->sharding != NULL)
    ath_hlo_mark_parts(p->graph, p->sharding->parts, p->needed, p->in_parts);
  ATH_TRY(make_signature(p, arena));
  ATH_TRY(print_head(p));
  ATH_TRY(print_nodes(p));
  ATH_TRY(print_return(p));
  ath_hlo_put(p->hlo, "  }\n}\n");
  return ath_hlo_status(p->hlo);
}

ath_status ath_hlo_module_print(const ath_graph *graph, const ath_hlo_module_options *options,
                                ath_arena *arena, ath_hlo_signature *signature, ath_buffer *out) {
  ATH_TRY(ath_graph_status(graph));
  printer p = {.graph = graph, .sharding = options != NULL ? options->sharding : NULL,
               .signature = signature, .scope = ""};
  assert(p.sharding == NULL || p.sharding->partitions > 0);
  ath_status status = print_all(&p, arena);
  if (status == ATH_OK) status = ath_buffer_append(out, p.hlo->text.bytes, p.hlo->text.length);
  ath_hlo_destroy(p.hlo);
  free(p.needed);
  free(p.read);
  free(p.in_parts);
  free(p.values);
  return status;
}
