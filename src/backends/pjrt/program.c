/* program.c: from a graph to an executable, and to where its arguments come from and its results
 * go. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/pjrt/partition.h"
#include "backends/pjrt/program.h"
#include "graph/op.h"

#define ARENA_LIMIT ((size_t)1 << 30)
#define TEXT_LIMIT ((size_t)1 << 30)

/* What is only needed while a program is made. */
typedef struct builder {
  const ath_graph *graph;
  xla_program *program;
  bool *needed;        /* [node] */
  size_t *input_index; /* [value]: of inputs */
} builder;

static void *alloc(const builder *self, size_t count, size_t size) {
  return ath_arena_alloc(self->program->arena, count * size);
}

/* --- what the graph has -------------------------------------------------------------------- */

/* All variables, also those that the executable lacks: they are part of the state that is saved. */
static ath_status bind_variable(const builder *self, ath_value value) {
  ath_type type = ath_graph_type(self->graph, value);
  size_t index;
  self->program->stats.variable_bytes += ath_type_bytes(&type);
  return ath_xla_state_bind(self->program->state, ath_graph_value_name(self->graph, value), &type,
                            &index);
}

static ath_status add_input(const builder *self, ath_value value) {
  xla_program *program = self->program;
  const char *name = ath_arena_string(program->arena, ath_graph_value_name(self->graph, value));
  if (name == NULL) return ATH_NO_MEMORY;
  self->input_index[value] = program->input_count;
  program->inputs[program->input_count++] =
      (xla_input){.name = name, .type = ath_graph_type(self->graph, value)};
  return ATH_OK;
}

static ath_status add_values(builder *self) {
  size_t count = ath_graph_value_count(self->graph);
  self->input_index = alloc(self, count, sizeof *self->input_index);
  self->program->inputs = alloc(self, count, sizeof *self->program->inputs);
  if (self->input_index == NULL || self->program->inputs == NULL) return ATH_NO_MEMORY;
  for (size_t v = 0; v < count; v++) {
    ath_value_kind kind = ath_graph_kind(self->graph, (ath_value)v);
    if (kind == ATH_VALUE_VARIABLE) ATH_TRY(bind_variable(self, (ath_value)v));
    if (kind == ATH_VALUE_INPUT) ATH_TRY(add_input(self, (ath_value)v));
  }
  return ATH_OK;
}

/* --- what its nodes say -------------------------------------------------------------------- */

/* The value of which this one is a view. */
static ath_value viewed(const ath_graph *graph, ath_value value) {
  const ath_node *node = ath_graph_producer(graph, value);
  while (node != NULL && node->op->is_view) {
    value = node->inputs[0];
    node = ath_graph_producer(graph, value);
  }
  return value;
}

/* The types of a node's inputs or outputs, in the arena. */
static ath_type *types_of(const builder *self, const ath_value *values, int count) {
  ath_type *types = alloc(self, (size_t)count, sizeof *types);
  for (int i = 0; types != NULL && i < count; i++)
    types[i] = ath_graph_type(self->graph, values[i]);
  return types;
}

static bool find_graph_input(const builder *self, ath_value value, size_t *index) {
  ath_value input = viewed(self->graph, value);
  if (ath_graph_kind(self->graph, input) != ATH_VALUE_INPUT) return false;
  *index = self->input_index[input];
  return true;
}

/* A check as strict, of the same input, is there already. */
static bool is_checked(const xla_program *program, const xla_id_check *check) {
  for (size_t i = 0; i < program->check_count; i++)
    if (program->checks[i].input == check->input && program->checks[i].limit <= check->limit &&
        !program->checks[i].has_weights)
      return true;
  return false;
}

/* Ids and weights that nodes compute are not seen here; no model has any. The operations then make
 * the result NaN or infinite. */
static ath_status add_check(const builder *self, const ath_node *node, int input) {
  xla_program *program = self->program;
  const ath_type *types = types_of(self, node->inputs, node->input_count);
  if (types == NULL) return ATH_NO_MEMORY;
  int weights = -1;
  xla_id_check check = {.limit = node->op->id_limit(node, types, input, &weights)};
  if (check.limit == 0 || !find_graph_input(self, node->inputs[input], &check.input)) return ATH_OK;
  check.has_weights = weights >= 0;
  if (weights >= 0 && !find_graph_input(self, node->inputs[weights], &check.weights)) return ATH_OK;
  if (is_checked(program, &check)) return ATH_OK;
  check.node = ath_arena_string(program->arena, node->name);
  if (check.node == NULL) return ATH_NO_MEMORY;
  program->checks[program->check_count++] = check;
  return ATH_OK;
}

static ath_status look_at_node(const builder *self, const ath_node *node) {
  const ath_type *inputs = types_of(self, node->inputs, node->input_count);
  const ath_type *outputs = types_of(self, node->outputs, node->output_count);
  if (inputs == NULL || outputs == NULL) return ATH_NO_MEMORY;
  self->program->stats.nodes += !node->op->is_view;
  if (node->op->flops != NULL)
    self->program->stats.flops += node->op->flops(node, inputs, outputs);
  if (node->op->id_limit == NULL) return ATH_OK;
  for (int i = 0; i < node->input_count; i++) ATH_TRY(add_check(self, node, i));
  return ATH_OK;
}

static ath_status look_at_nodes(builder *self) {
  size_t count = ath_graph_node_count(self->graph), inputs = 0;
  self->needed = alloc(self, count, sizeof *self->needed);
  if (self->needed == NULL) return ATH_NO_MEMORY;
  ATH_TRY(ath_graph_mark_needed(self->graph, self->needed));
  for (size_t i = 0; i < count; i++)
    inputs += (size_t)ath_graph_node(self->graph, i)->input_count;
  self->program->checks = alloc(self, inputs, sizeof *self->program->checks);
  if (self->program->checks == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < count; i++)
    if (self->needed[i]) ATH_TRY(look_at_node(self, ath_graph_node(self->graph, i)));
  return ATH_OK;
}

/* --- arguments and results ----------------------------------------------------------------- */

static size_t find_input(const xla_program *program, const char *name) {
  size_t i = 0;
  while (strcmp(program->inputs[i].name, name) != 0) {
    i++;
    assert(i < program->input_count); /* the module has no input that the graph lacks */
  }
  return i;
}

static ath_status place_argument(xla_program *program, int index) {
  const ath_hlo_port *port = &program->signature.arguments[index];
  size_t *place = &program->argument_places[index];
  assert(port->kind == ATH_HLO_VARIABLE || port->kind == ATH_HLO_INPUT);
  if (port->kind == ATH_HLO_VARIABLE)
    return ath_xla_state_bind(program->state, port->name, &port->type, place);
  *place = find_input(program, port->name);
  program->inputs[*place].is_read = true;
  return ATH_OK;
}

static ath_status place_result(xla_program *program, int index) {
  const ath_hlo_port *port = &program->signature.results[index];
  size_t *place = &program->result_places[index];
  assert(port->kind == ATH_HLO_NEW_VARIABLE || port->kind == ATH_HLO_OUTPUT);
  if (port->kind == ATH_HLO_NEW_VARIABLE)
    return ath_xla_state_bind(program->state, port->name, &port->type, place);
  *place = program->output_count;
  program->outputs[program->output_count++] = (xla_output){.name = port->name, .type = port->type};
  return ATH_OK;
}

static ath_status place_all(const builder *self) {
  xla_program *program = self->program;
  size_t arguments = (size_t)program->signature.argument_count;
  size_t results = (size_t)program->signature.result_count;
  size_t devices = (size_t)program->state->backend->here;
  program->argument_places = alloc(self, arguments, sizeof *program->argument_places);
  program->result_places = alloc(self, results, sizeof *program->result_places);
  program->arguments = alloc(self, devices * arguments, sizeof *program->arguments);
  program->results = alloc(self, devices * results, sizeof *program->results);
  program->parts = alloc(self, devices, sizeof *program->parts);
  program->outputs = alloc(self, results, sizeof *program->outputs);
  if (program->argument_places == NULL || program->result_places == NULL ||
      program->arguments == NULL || program->results == NULL || program->parts == NULL ||
      program->outputs == NULL)
    return ATH_NO_MEMORY;
  for (size_t i = 0; i < arguments; i++) ATH_TRY(place_argument(program, (int)i));
  for (size_t i = 0; i < results; i++) ATH_TRY(place_result(program, (int)i));
  return ATH_OK;
}

/* --- creation ------------------------------------------------------------------------------ */

static ath_status compile(const builder *self) {
  xla_program *program = self->program;
  const ath_xla_backend *backend = program->state->backend;
  ath_buffer text = ath_buffer_make(TEXT_LIMIT);
  ath_status status = ath_partition_print_module(&backend->mesh, self->graph, program->arena,
                                                 &program->signature, &text);
  if (status == ATH_OK)
    status = ath_xla_compile(program->state->backend, &text, &program->executable);
  ath_buffer_free(&text);
  return status;
}

/* The plugin fills as many results as it counts, so it is not taken at its word. */
static ath_status check_executable(const xla_program *program) {
  int results = ath_pjrt_executable_result_count(program->executable);
  int parts = ath_pjrt_executable_partitions(program->executable);
  int wanted = program->signature.result_count, devices = program->state->backend->here;
  if (results == wanted && parts == devices) return ATH_OK;
  return ath_fail(ATH_MISMATCH, "%s: the compiled program has %d results on %d devices, not %d on "
                  "%d", program->state->backend->name, results, parts, wanted, devices);
}

/* What the compiler does not tell counts as 0. */
static ath_status read_memory(xla_program *program) {
  ath_pjrt_memory memory;
  ATH_TRY(ath_pjrt_executable_memory(program->executable, &memory));
  if (memory.temporary > 0) program->stats.workspace_bytes = (size_t)memory.temporary;
  return ATH_OK;
}

static ath_status build(builder *self) {
  ATH_TRY(add_values(self));
  ATH_TRY(look_at_nodes(self));
  ATH_TRY(compile(self));
  ATH_TRY(check_executable(self->program));
  ATH_TRY(place_all(self));
  return read_memory(self->program);
}

ath_status ath_xla_program_create(const ath_graph *graph, ath_state *state, ath_program **out) {
  xla_program *program = calloc(1, sizeof *program);
  if (program == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a program");
  program->base.table = state->table;
  program->state = (ath_xla_state *)state;
  builder maker = {.graph = graph, .program = program};
  ath_status status = ath_arena_create(ARENA_LIMIT, &program->arena);
  if (status == ATH_OK) status = build(&maker);
  if (status != ATH_OK) {
    ath_xla_program_destroy(&program->base);
    return status;
  }
  *out = &program->base;
  return ATH_OK;
}

/* Also for programs that are half made. */
void ath_xla_program_destroy(ath_program *base) {
  xla_program *self = (xla_program *)base;
  for (size_t i = 0; i < self->output_count; i++)
    for (int h = 0; h < ATH_XLA_HISTORY; h++)
      ath_pjrt_buffer_destroy(self->outputs[i].buffers[h]);
  ath_pjrt_executable_destroy(self->executable);
  ath_arena_destroy(self->arena);
  free(self);
}
