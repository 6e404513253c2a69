/* plan.c: the memory plan: which values share memory, and what has to be copied around a run.
 *
 * Views are folded into their roots first; from then on only roots are spoken of. A root's place is
 * its variable, its input, or a storage of the workspace. A result goes, in this order of choice,
 *   1. straight into the variable it is assigned to, if every read of that variable comes earlier
 *      (or is this node's, and the operation works in place over it);
 *   2. over an input of its node that nobody reads later, if the operation works in place;
 *   3. into a storage of its own.
 * Assignments that were not served by 1 are copied after the run, so that each reads old values. */
#include "backends/cpu/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct planner {
  const ath_graph *graph;
  const ath_node *const *nodes;
  size_t node_count, value_count, after; /* the time after the run */
  bool reuse;
  ath_value *roots;      /* [value] */
  size_t *last_read;     /* [root]: time; 0 for never */
  ath_value *target;     /* [root]: the variable it is assigned to, served by choice 1 */
  int32_t *storage_of;   /* [root]: −1 for none */
  int32_t *staged;       /* [root]: storage of its copy made before the run; −1 for none */
  ath_cpu_storage *storages;
  size_t storage_count, unplanned;
  ath_cpu_plan *plan;
} planner;

static size_t bytes_of(const planner *self, ath_value value) {
  ath_type type = ath_graph_type(self->graph, value);
  return ath_type_bytes(&type);
}

/* Memory of its own for the times first … last; returns its number. */
static int32_t add_storage(planner *self, size_t size, size_t first, size_t last) {
  assert(first <= last && last <= self->after);
  self->storages[self->storage_count] =
      (ath_cpu_storage){.size = size, .first = first, .last = last};
  self->unplanned += size;
  return (int32_t)self->storage_count++;
}

/* --- roots and times of use --------------------------------------------------------- */

/* Nodes come in order, so that the root of a view's input is known before the view's. */
static void find_roots(planner *self) {
  for (size_t v = 0; v < self->value_count; v++) {
    self->roots[v] = (ath_value)v;
    self->target[v] = ATH_NO_VALUE;
    self->storage_of[v] = self->staged[v] = -1;
  }
  size_t all = ath_graph_node_count(self->graph);
  for (size_t i = 0; i < all; i++) {
    const ath_node *node = ath_graph_node(self->graph, i);
    if (!node->op->is_view) continue;
    assert(node->output_count == 1 &&
           bytes_of(self, node->outputs[0]) == bytes_of(self, node->inputs[0]));
    self->roots[node->outputs[0]] = self->roots[node->inputs[0]];
  }
}

static void find_last_reads(planner *self) {
  for (size_t i = 0; i < self->node_count; i++)
    for (int k = 0; k < self->nodes[i]->input_count; k++) {
      ath_value input = self->nodes[i]->inputs[k];
      if (input != ATH_NO_VALUE) self->last_read[self->roots[input]] = i + 1;
    }
}

/* A copy of an input or a variable as it is before the run, for what is read after it. */
static void stage(planner *self, ath_value root) {
  assert(self->roots[root] == root);
  if (self->staged[root] < 0)
    self->staged[root] = add_storage(self, bytes_of(self, root), 0, self->after);
}

/* Outputs and assigned values are read after the run, when inputs may be gone and variables new. */
static void mark_kept(planner *self) {
  size_t outputs = ath_graph_output_count(self->graph);
  const char *name;
  for (size_t i = 0; i < outputs; i++) {
    ath_value root = self->roots[ath_graph_output_at(self->graph, i, &name)];
    ath_value_kind kind = ath_graph_kind(self->graph, root);
    if (kind == ATH_VALUE_INPUT || kind == ATH_VALUE_VARIABLE) stage(self, root);
    else self->last_read[root] = self->after;
  }
  for (size_t v = 0; v < self->value_count; v++) {
    if (ath_graph_kind(self->graph, (ath_value)v) != ATH_VALUE_VARIABLE) continue;
    ath_value assigned = ath_graph_assigned(self->graph, (ath_value)v);
    if (assigned == ATH_NO_VALUE || self->roots[assigned] == (ath_value)v) continue;
    ath_value root = self->roots[assigned];
    if (ath_graph_kind(self->graph, root) == ATH_VALUE_VARIABLE) stage(self, root);
    else self->last_read[root] = self->after;
    if (self->target[root] == ATH_NO_VALUE) self->target[root] = (ath_value)v;
  }
}

/* --- the place of each result ------------------------------------------------------- */

static uint32_t in_place_mask(const ath_node *node, int output) {
  assert(output >= 0 && output < node->output_count);
  return node->op->in_place != NULL ? node->op->in_place(node, output) : 0;
}

/* Whether the node reads `root` only where its entry may overwrite it. */
static bool reads_only_in_place(const planner *self, const ath_node *node, ath_value root,
                                uint32_t mask) {
  for (int k = 0; k < node->input_count; k++)
    if (node->inputs[k] != ATH_NO_VALUE && self->roots[node->inputs[k]] == root &&
        (k >= 32 || (mask >> k & 1) == 0))
      return false;
  return true;
}

/* Choice 1. The variable's old value dies with its last reader; were there a later one, the new
 * value would wait in the workspace for the copy after the run. */
static bool goes_to_variable(planner *self, size_t time, const ath_node *node, int output) {
  ath_value variable = self->target[node->outputs[output]];
  if (variable == ATH_NO_VALUE) return false;
  size_t last = self->last_read[variable];
  bool over = reads_only_in_place(self, node, variable, in_place_mask(node, output));
  bool safe = self->reuse && (last < time || (last == time && over));
  if (!safe) self->target[node->outputs[output]] = ATH_NO_VALUE;
  return safe;
}

/* Choice 2: the storage to take over, or −1. Inputs of the graph, variables and constants are never
 * taken over, nor is what an output of the same node has just taken. */
static int32_t takes_over(const planner *self, size_t time, const ath_node *node, int output) {
  uint32_t mask = in_place_mask(node, output);
  for (int k = 0; self->reuse && k < node->input_count && k < 32; k++) {
    if ((mask >> k & 1) == 0 || node->inputs[k] == ATH_NO_VALUE) continue;
    ath_value root = self->roots[node->inputs[k]];
    bool taken = false;
    for (int o = 0; o < output; o++)
      taken |= self->storage_of[node->outputs[o]] == self->storage_of[root];
    if (!taken && ath_graph_kind(self->graph, root) == ATH_VALUE_RESULT &&
        self->storage_of[root] >= 0 && self->last_read[root] == time &&
        bytes_of(self, root) == bytes_of(self, node->outputs[output]) &&
        reads_only_in_place(self, node, root, mask))
      return self->storage_of[root];
  }
  return -1;
}

static void place_result(planner *self, size_t time, const ath_node *node, int output) {
  ath_value value = node->outputs[output];
  assert(self->roots[value] == value && self->storage_of[value] < 0);
  assert(ath_graph_kind(self->graph, value) == ATH_VALUE_RESULT);
  size_t last = self->last_read[value] > time ? self->last_read[value] : time;
  if (goes_to_variable(self, time, node, output)) return;
  int32_t storage = takes_over(self, time, node, output);
  if (storage >= 0) {
    self->unplanned += bytes_of(self, value);
    if (self->storages[storage].last < last) self->storages[storage].last = last;
  } else {
    storage = add_storage(self, bytes_of(self, value), time, last);
  }
  self->storage_of[value] = storage;
}

/* Constants are filled once, so that nothing else may ever lie there. */
static void place_constants(planner *self) {
  for (size_t v = 0; v < self->value_count; v++)
    if (ath_graph_kind(self->graph, (ath_value)v) == ATH_VALUE_CONSTANT &&
        self->last_read[v] > 0)
      self->storage_of[v] = add_storage(self, bytes_of(self, (ath_value)v), 0, self->after);
}

/* --- from storages to places -------------------------------------------------------- */

static ath_cpu_place in_workspace(const planner *self, int32_t storage) {
  assert(storage >= 0 && (size_t)storage < self->storage_count);
  return (ath_cpu_place){.kind = ATH_CPU_WORKSPACE, .offset = self->storages[storage].offset,
                         .value = ATH_NO_VALUE};
}

static ath_cpu_place place_of_root(const planner *self, ath_value root) {
  switch (ath_graph_kind(self->graph, root)) {
    case ATH_VALUE_INPUT: return (ath_cpu_place){.kind = ATH_CPU_INPUT, .value = root};
    case ATH_VALUE_VARIABLE: return (ath_cpu_place){.kind = ATH_CPU_VARIABLE, .value = root};
    case ATH_VALUE_CONSTANT:
    case ATH_VALUE_RESULT: break;
  }
  if (self->storage_of[root] >= 0) return in_workspace(self, self->storage_of[root]);
  if (self->target[root] != ATH_NO_VALUE)
    return (ath_cpu_place){.kind = ATH_CPU_VARIABLE, .value = self->target[root]};
  return (ath_cpu_place){.kind = ATH_CPU_NOWHERE, .value = ATH_NO_VALUE};
}

/* Where a value is found after the run. */
static ath_cpu_place kept_place(const planner *self, ath_value value) {
  ath_value root = self->roots[value];
  if (self->staged[root] >= 0) return in_workspace(self, self->staged[root]);
  return place_of_root(self, root);
}

/* Before the run: what is staged. After it: assignments that are not in their variable yet. The
 * sources of the latter are never their targets, so that their order does not matter. */
static void make_copies(planner *self) {
  ath_cpu_plan *plan = self->plan;
  for (size_t v = 0; v < self->value_count; v++) {
    ath_value value = (ath_value)v;
    if (self->staged[v] >= 0)
      plan->before[plan->before_count++] = (ath_cpu_copy){
        .from = place_of_root(self, value), .to = in_workspace(self, self->staged[v]),
        .bytes = bytes_of(self, value)};
    if (ath_graph_kind(self->graph, value) != ATH_VALUE_VARIABLE) continue;
    ath_value assigned = ath_graph_assigned(self->graph, value);
    if (assigned == ATH_NO_VALUE || self->roots[assigned] == value) continue;
    ath_cpu_place from = kept_place(self, assigned);
    assert(from.kind != ATH_CPU_NOWHERE);
    if (from.kind == ATH_CPU_VARIABLE && from.value == value) continue;
    plan->after[plan->after_count++] = (ath_cpu_copy){
      .from = from, .to = place_of_root(self, value), .bytes = bytes_of(self, value)};
  }
}

/* Scratch comes last, one storage per node and alive for it alone, so that it fills what the values
 * leave free at that time. */
static ath_status make_places(planner *self, const size_t *scratch_sizes, ath_arena *arena) {
  ath_cpu_plan *plan = self->plan;
  size_t outputs = ath_graph_output_count(self->graph);
  plan->places = ath_arena_alloc(arena, self->value_count * sizeof *plan->places);
  plan->output_places = ath_arena_alloc(arena, outputs * sizeof *plan->output_places);
  plan->scratch = ath_arena_alloc(arena, self->node_count * sizeof *plan->scratch);
  plan->before = ath_arena_alloc(arena, self->value_count * sizeof *plan->before);
  plan->after = ath_arena_alloc(arena, self->value_count * sizeof *plan->after);
  if (plan->places == NULL || plan->output_places == NULL || plan->scratch == NULL ||
      plan->before == NULL || plan->after == NULL)
    return ATH_NO_MEMORY;
  size_t first_scratch = self->storage_count;
  for (size_t i = 0; i < self->node_count; i++)
    add_storage(self, scratch_sizes[i], i + 1, i + 1);
  ATH_TRY(ath_cpu_allocate(self->storages, self->storage_count, self->reuse,
                           &plan->workspace_bytes));
  for (size_t v = 0; v < self->value_count; v++)
    plan->places[v] = place_of_root(self, self->roots[v]);
  const char *name;
  for (size_t i = 0; i < outputs; i++)
    plan->output_places[i] = kept_place(self, ath_graph_output_at(self->graph, i, &name));
  for (size_t i = 0; i < self->node_count; i++)
    plan->scratch[i] = self->storages[first_scratch + i].offset;
  plan->unplanned_bytes = self->unplanned;
  make_copies(self);
  return ATH_OK;
}

static bool planner_alloc(planner *self) {
  size_t n = self->value_count + 1;
  self->roots = calloc(n, sizeof *self->roots);
  self->last_read = calloc(n, sizeof *self->last_read);
  self->target = calloc(n, sizeof *self->target);
  self->storage_of = calloc(n, sizeof *self->storage_of);
  self->staged = calloc(n, sizeof *self->staged);
  /* At most one per value, one staged copy per value, and one scratch per node. */
  self->storages = calloc(2 * n + self->node_count, sizeof *self->storages);
  return self->roots != NULL && self->last_read != NULL && self->target != NULL &&
         self->storage_of != NULL && self->staged != NULL && self->storages != NULL;
}

static void planner_free(planner *self) {
  free(self->roots);
  free(self->last_read);
  free(self->target);
  free(self->storage_of);
  free(self->staged);
  free(self->storages);
}

ath_status ath_cpu_plan_make(const ath_graph *graph, const ath_node *const *nodes,
                             size_t node_count, const size_t *scratch_sizes, bool reuse,
                             ath_arena *arena, ath_cpu_plan *out) {
  *out = (ath_cpu_plan){0};
  planner self = {.graph = graph, .nodes = nodes, .node_count = node_count,
                  .value_count = ath_graph_value_count(graph), .after = node_count + 1,
                  .reuse = reuse, .plan = out};
  ath_status status = ATH_NO_MEMORY;
  if (!planner_alloc(&self)) {
    ath_fail(ATH_NO_MEMORY, "no memory to plan a graph of %zu values", self.value_count);
  } else {
    find_roots(&self);
    find_last_reads(&self);
    mark_kept(&self);
    place_constants(&self);
    for (size_t i = 0; i < node_count; i++)
      for (int o = 0; o < nodes[i]->output_count; o++) place_result(&self, i + 1, nodes[i], o);
    status = make_places(&self, scratch_sizes, arena);
  }
  planner_free(&self);
  return status;
}
