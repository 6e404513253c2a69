/* prepare.c: from a graph to an array of calls whose pointers are final. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/program.h"
#include "backends/cpu/state.h"
#include "base/bf16.h"
#include "base/memory.h"

enum { ALIGNMENT = 64 };
#define ARENA_LIMIT ((size_t)1 << 30)

/* What is only needed while a program is made. */
typedef struct builder {
  const ath_graph *graph;
  ath_state *state;
  cpu_program *program;
  const ath_node **nodes; /* needed, without views */
  size_t *scratch_sizes;
  void **memory;          /* [value]: of variables */
  size_t *input_index;    /* [value]: of inputs */
  ath_cpu_plan plan;
} builder;

static void *alloc(builder *self, size_t count, size_t size) {
  return ath_arena_alloc(self->program->arena, count * size);
}

/* --- steps -------------------------------------------------------------------------- */

/* The nodes that will run: needed ones, but for views, which cost nothing. */
static ath_status collect_nodes(builder *self) {
  size_t all = ath_graph_node_count(self->graph);
  bool *needed = alloc(self, all + 1, sizeof *needed);
  self->nodes = alloc(self, all + 1, sizeof *self->nodes);
  if (needed == NULL || self->nodes == NULL) return ATH_NO_MEMORY;
  ATH_TRY(ath_graph_mark_needed(self->graph, needed));
  for (size_t i = 0; i < all; i++) {
    const ath_node *node = ath_graph_node(self->graph, i);
    if (needed[i] && !node->op->is_view) self->nodes[self->program->step_count++] = node;
  }
  return ATH_OK;
}

static void *copy_of(builder *self, const void *bytes, size_t size) {
  void *copy = ath_arena_alloc(self->program->arena, size);
  return copy != NULL && size > 0 ? memcpy(copy, bytes, size) : copy;
}

/* The graph may go; the calls keep a copy of what they need of it. */
static const ath_node *copy_node(builder *self, const ath_node *node) {
  ath_node *copy = copy_of(self, node, sizeof *node);
  if (copy == NULL) return NULL;
  copy->name = ath_arena_string(self->program->arena, node->name);
  copy->inputs = copy_of(self, node->inputs, (size_t)node->input_count * sizeof(ath_value));
  copy->outputs = copy_of(self, node->outputs, (size_t)node->output_count * sizeof(ath_value));
  copy->attributes = copy_of(self, node->attributes, node->attributes_size);
  bool complete = copy->name != NULL && copy->inputs != NULL && copy->outputs != NULL &&
                  copy->attributes != NULL;
  return complete ? copy : NULL;
}

static ath_type *types_of(builder *self, const ath_value *values, int count) {
  ath_type *types = alloc(self, (size_t)count, sizeof *types);
  for (int i = 0; types != NULL && i < count; i++)
    types[i] = ath_graph_type(self->graph, values[i]);
  return types;
}

/* This engine computes in f32; of bf16 it takes what only moves or converts it. */
static ath_status check_supported(const ath_cpu_call *call) {
  const ath_node *node = call->node;
  char text[96];
  if (node->op->cpu == NULL)
    return ath_fail(ATH_UNSUPPORTED, "the CPU engine has no operation %s", node->op->name);
  for (int i = 0; i < node->input_count && !node->op->cpu_bf16; i++)
    if (ath_type_given(&call->input_types[i]) && call->input_types[i].dtype == ATH_BF16)
      return ath_fail(ATH_UNSUPPORTED, "input %d is %s, but the CPU engine computes in f32", i,
                      ath_type_text(&call->input_types[i], text));
  return ATH_OK;
}

/* Everything about a call but its pointers, which need the plan, which needs its scratch size. */
static ath_status make_step(builder *self, size_t index) {
  ath_cpu_call *call = &self->program->steps[index].call;
  const ath_node *node = copy_node(self, self->nodes[index]);
  if (node == NULL) return ATH_NO_MEMORY;
  *call = (ath_cpu_call){
    .node = node,
    .input_types = types_of(self, node->inputs, node->input_count),
    .output_types = types_of(self, node->outputs, node->output_count),
    .inputs = alloc(self, (size_t)node->input_count, sizeof(void *)),
    .outputs = alloc(self, (size_t)node->output_count, sizeof(void *))};
  if (call->input_types == NULL || call->output_types == NULL || call->inputs == NULL ||
      call->outputs == NULL)
    return ATH_NO_MEMORY;
  ATH_TRY_CONTEXT(check_supported(call), "%s", node->name);
  if (node->op->cpu_prepare != NULL) ATH_TRY_CONTEXT(node->op->cpu_prepare(call), "%s", node->name);
  self->scratch_sizes[index] = node->op->cpu_scratch != NULL ? node->op->cpu_scratch(call) : 0;
  if (node->op->flops != NULL)
    self->program->stats.flops += node->op->flops(node, call->input_types, call->output_types);
  return ATH_OK;
}

static ath_status make_steps(builder *self) {
  size_t count = self->program->step_count;
  self->program->stats.nodes = count;
  self->program->steps = alloc(self, count, sizeof *self->program->steps);
  self->scratch_sizes = alloc(self, count, sizeof *self->scratch_sizes);
  if (self->program->steps == NULL || self->scratch_sizes == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < count; i++) ATH_TRY(make_step(self, i));
  return ATH_OK;
}

/* --- values ------------------------------------------------------------------------- */

static ath_status bind_variable(builder *self, ath_value value) {
  ath_type type = ath_graph_type(self->graph, value);
  self->program->stats.variable_bytes += ath_type_bytes(&type);
  return ath_cpu_state_bind(self->state, ath_graph_value_name(self->graph, value), &type,
                            &self->memory[value]);
}

/* All variables, also those that no needed node reads: they are part of the state that is saved. */
static ath_status bind_values(builder *self) {
  size_t count = ath_graph_value_count(self->graph);
  cpu_program *program = self->program;
  self->memory = alloc(self, count, sizeof *self->memory);
  self->input_index = alloc(self, count, sizeof *self->input_index);
  program->inputs = alloc(self, count, sizeof *program->inputs);
  if (self->memory == NULL || self->input_index == NULL || program->inputs == NULL)
    return ATH_NO_MEMORY;
  for (size_t v = 0; v < count; v++) {
    ath_value value = (ath_value)v;
    ath_value_kind kind = ath_graph_kind(self->graph, value);
    if (kind == ATH_VALUE_VARIABLE) ATH_TRY(bind_variable(self, value));
    if (kind != ATH_VALUE_INPUT) continue;
    const char *name = ath_arena_string(program->arena, ath_graph_value_name(self->graph, value));
    if (name == NULL) return ATH_NO_MEMORY;
    self->input_index[v] = program->input_count;
    program->inputs[program->input_count++] = (program_input){.name = name};
  }
  return ATH_OK;
}

/* Sets a pointer for good, or notes it down for set_input. */
static void resolve(builder *self, ath_cpu_place place, void **slot) {
  cpu_program *program = self->program;
  assert(place.kind != ATH_CPU_WORKSPACE || place.offset <= self->plan.workspace_bytes);
  assert(place.kind != ATH_CPU_VARIABLE || self->memory[place.value] != NULL);
  *slot = NULL;
  switch (place.kind) {
    case ATH_CPU_NOWHERE: break;
    case ATH_CPU_WORKSPACE: *slot = program->workspace + place.offset; break;
    case ATH_CPU_VARIABLE: *slot = self->memory[place.value]; break;
    case ATH_CPU_INPUT:
      program->inputs[self->input_index[place.value]].is_read = true;
      program->slots[program->slot_count++] =
          (input_slot){.slot = slot, .input = self->input_index[place.value]};
      break;
  }
}

/* Every output has a place, wanted or not, because the kernels write all of them. */
static void resolve_step(builder *self, size_t index) {
  ath_cpu_call *call = &self->program->steps[index].call;
  const ath_node *node = call->node;
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i] != ATH_NO_VALUE)
      resolve(self, self->plan.places[node->inputs[i]], &call->inputs[i]);
  for (int o = 0; o < node->output_count; o++) {
    resolve(self, self->plan.places[node->outputs[o]], &call->outputs[o]);
    assert(call->outputs[o] != NULL);
  }
  call->scratch = self->program->workspace + self->plan.scratch[index];
}

static program_copy *resolve_copies(builder *self, const ath_cpu_copy *copies, size_t count) {
  program_copy *resolved = alloc(self, count, sizeof *resolved);
  for (size_t i = 0; resolved != NULL && i < count; i++) {
    resolve(self, copies[i].from, &resolved[i].from);
    resolve(self, copies[i].to, &resolved[i].to);
    resolved[i].bytes = copies[i].bytes;
  }
  return resolved;
}

static ath_status resolve_outputs(builder *self) {
  cpu_program *program = self->program;
  program->output_count = ath_graph_output_count(self->graph);
  program->outputs = alloc(self, program->output_count, sizeof *program->outputs);
  if (program->outputs == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < program->output_count; i++) {
    const char *name;
    ath_type type = ath_graph_type(self->graph, ath_graph_output_at(self->graph, i, &name));
    void *memory;
    resolve(self, self->plan.output_places[i], &memory);
    assert(memory != NULL); /* the plan stages inputs that are outputs */
    program->outputs[i] = (program_output){.name = ath_arena_string(program->arena, name),
                                           .memory = memory, .bytes = ath_type_bytes(&type)};
    if (program->outputs[i].name == NULL) return ATH_NO_MEMORY;
  }
  return ATH_OK;
}

static ath_status resolve_all(builder *self) {
  cpu_program *program = self->program;
  size_t slots = self->plan.before_count + self->plan.after_count;
  for (size_t i = 0; i < program->step_count; i++)
    slots += (size_t)program->steps[i].call.node->input_count;
  program->slots = alloc(self, slots, sizeof *program->slots);
  if (program->slots == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < program->step_count; i++) resolve_step(self, i);
  program->before_count = self->plan.before_count;
  program->before = resolve_copies(self, self->plan.before, program->before_count);
  program->after_count = self->plan.after_count;
  program->after = resolve_copies(self, self->plan.after, program->after_count);
  if (program->before == NULL || program->after == NULL) return ATH_NO_MEMORY;
  ATH_TRY(resolve_outputs(self));
  assert(program->slot_count <= slots);
  return ATH_OK;
}

/* --- the workspace ------------------------------------------------------------------ */

/* Once, when the program is made: no later node may write there. */
static ath_status fill(void *memory, const ath_type *type, double with) {
  int64_t count = ath_type_count(type);
  switch (type->dtype) {
    case ATH_F32:
      for (int64_t i = 0; i < count; i++) ((float *)memory)[i] = (float)with;
      return ATH_OK;
    case ATH_I32:
      for (int64_t i = 0; i < count; i++) ((int32_t *)memory)[i] = (int32_t)with;
      return ATH_OK;
    case ATH_U32:
      for (int64_t i = 0; i < count; i++) ((uint32_t *)memory)[i] = (uint32_t)with;
      return ATH_OK;
    case ATH_BF16:
      for (int64_t i = 0; i < count; i++)
        ((uint16_t *)memory)[i] = ath_bf16_from_float((float)with);
      return ATH_OK;
    case ATH_DTYPE_COUNT:
      break;
  }
  return ath_fail(ATH_UNSUPPORTED, "a constant is of no known type");
}

static ath_status make_workspace(builder *self) {
  cpu_program *program = self->program;
  size_t bytes = self->plan.workspace_bytes + ALIGNMENT;
  program->workspace = ath_memory_alloc(bytes);
  if (program->workspace == NULL)
    return ath_fail(ATH_NO_MEMORY, "no memory for a workspace of %zu bytes; a smaller batch or "
                    "length needs less", bytes);
  program->stats.workspace_bytes = self->plan.workspace_bytes;
  program->stats.unplanned_bytes = self->plan.unplanned_bytes;
  size_t values = ath_graph_value_count(self->graph);
  for (size_t v = 0; v < values; v++) {
    if (ath_graph_kind(self->graph, (ath_value)v) != ATH_VALUE_CONSTANT) continue;
    if (self->plan.places[v].kind != ATH_CPU_WORKSPACE) continue;
    ath_type type = ath_graph_type(self->graph, (ath_value)v);
    ATH_TRY(fill(program->workspace + self->plan.places[v].offset, &type,
                 ath_graph_constant_fill(self->graph, (ath_value)v)));
  }
  return ATH_OK;
}

/* The order is forced: scratch sizes come from prepared steps, the plan needs the sizes, and final
 * pointers need the plan's workspace. */
static ath_status build(builder *self, bool reuse) {
  ATH_TRY(collect_nodes(self));
  ATH_TRY(bind_values(self));
  ATH_TRY(make_steps(self));
  ATH_TRY(ath_cpu_plan_make(self->graph, self->nodes, self->program->step_count,
                            self->scratch_sizes, reuse, self->program->arena, &self->plan));
  ATH_TRY(make_workspace(self));
  return resolve_all(self);
}

ath_status ath_cpu_program_make(const ath_graph *graph, ath_state *state, bool reuse,
                                ath_program **out) {
  *out = NULL;
  ATH_TRY(ath_graph_status(graph));
  cpu_program *program = calloc(1, sizeof *program);
  if (program == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a program");
  program->base.table = state->table;
  builder maker = {.graph = graph, .state = state, .program = program};
  ath_status status = ath_arena_create(ARENA_LIMIT, &program->arena);
  if (status == ATH_OK) status = build(&maker, reuse);
  if (status != ATH_OK) {
    ath_cpu_program_destroy(&program->base);
    return status;
  }
  *out = &program->base;
  return ATH_OK;
}

ath_status ath_cpu_program_create(const ath_graph *graph, ath_state *state, ath_program **out) {
  return ath_cpu_program_make(graph, state, true, out);
}

/* Also for programs that are half made: steps after the first failure have no node. */
void ath_cpu_program_destroy(ath_program *base) {
  cpu_program *self = (cpu_program *)base;
  for (size_t i = 0; self->steps != NULL && i < self->step_count; i++) {
    ath_cpu_call *call = &self->steps[i].call;
    if (call->prepared != NULL && call->node->op->cpu_release != NULL)
      call->node->op->cpu_release(call);
  }
  ath_arena_destroy(self->arena);
  free(self->workspace);
  free(self);
}
