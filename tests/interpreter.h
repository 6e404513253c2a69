/* interpreter.h: runs a graph the plain way: every value in memory of its own, every node in
 * order. What the engine's plans are held against, and what tests of operations run on.
 *
 * The entries of the operations compute in f32. For bf16 they are given f32 copies, and what they
 * write is rounded: an engine that rounds each node's results once, as ops.h has it. */
#ifndef ATHANOR_TESTS_INTERPRETER_H
#define ATHANOR_TESTS_INTERPRETER_H

#include "athanor/ops.h"
#include "base/bf16.h"
#include "graph/op.h"
#include "testing.h"

typedef struct interpreter {
  const ath_graph *graph;
  void **memory; /* [value] */
  size_t count;
} interpreter;

static inline void *value_memory(const interpreter *self, ath_value value) {
  assert_true(value >= 0 && (size_t)value < self->count);
  return self->memory[value];
}

static inline size_t value_bytes(const ath_graph *graph, ath_value value) {
  ath_type type = ath_graph_type(graph, value);
  return ath_type_bytes(&type);
}

static inline int64_t value_elements(const ath_graph *graph, ath_value value) {
  ath_type type = ath_graph_type(graph, value);
  return ath_type_count(&type);
}

static inline void *aligned_memory(size_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
  assert_non_null(memory);
  return memset(memory, 0xA5, (bytes + 64) / 64 * 64); /* what is not written is noticed */
}

static inline interpreter interpreter_make(const ath_graph *graph) {
  assert_ok(ath_graph_status(graph));
  interpreter self = {.graph = graph, .count = ath_graph_value_count(graph)};
  self.memory = calloc(self.count + 1, sizeof *self.memory);
  for (size_t v = 0; v < self.count; v++) {
    self.memory[v] = aligned_memory(value_bytes(graph, (ath_value)v));
    if (ath_graph_kind(graph, (ath_value)v) != ATH_VALUE_CONSTANT) continue;
    int64_t n = value_elements(graph, (ath_value)v);
    float fill = (float)ath_graph_constant_fill(graph, (ath_value)v);
    bool half = ath_graph_type(graph, (ath_value)v).dtype == ATH_BF16;
    for (int64_t i = 0; i < n; i++)
      if (half) ((uint16_t *)self.memory[v])[i] = ath_bf16_from_float(fill);
      else ((float *)self.memory[v])[i] = fill;
  }
  return self;
}

static inline void interpreter_free(interpreter *self) {
  for (size_t v = 0; v < self->count; v++) free(self->memory[v]);
  free(self->memory);
}

static inline float *widened(const uint16_t *halves, int64_t n) {
  float *floats = aligned_memory((size_t)n * sizeof *floats);
  for (int64_t i = 0; i < n; i++) floats[i] = ath_bf16_to_float(halves[i]);
  return floats;
}

static inline void round_to(uint16_t *halves, const float *floats, int64_t n) {
  for (int64_t i = 0; i < n; i++) halves[i] = ath_bf16_from_float(floats[i]);
}

/* What an entry is given for a value: its memory, or for bf16 an f32 copy, the caller's. */
static inline void *operand_memory(const interpreter *self, const ath_node *node, ath_value value,
                                   ath_type *type) {
  *type = ath_graph_type(self->graph, value);
  if (value == ATH_NO_VALUE) return NULL;
  if (type->dtype != ATH_BF16 || node->op->cpu_bf16) return self->memory[value];
  type->dtype = ATH_F32;
  return widened(self->memory[value], ath_type_count(type));
}

static inline ath_status run_node(interpreter *self, const ath_node *node) {
  ath_type input_types[64], output_types[ATH_MAX_OUTPUTS];
  void *inputs[64], *outputs[ATH_MAX_OUTPUTS];
  assert_true(node->input_count <= 64);
  for (int i = 0; i < node->input_count; i++)
    inputs[i] = operand_memory(self, node, node->inputs[i], &input_types[i]);
  for (int o = 0; o < node->output_count; o++)
    outputs[o] = operand_memory(self, node, node->outputs[o], &output_types[o]);
  ath_cpu_call call = {.node = node, .input_types = input_types, .output_types = output_types,
                       .inputs = inputs, .outputs = outputs};
  if (node->op->cpu_prepare != NULL) assert_ok(node->op->cpu_prepare(&call));
  call.scratch =
      aligned_memory(node->op->cpu_scratch != NULL ? node->op->cpu_scratch(&call) : 0);
  ath_status status = node->op->cpu(&call);
  if (node->op->cpu_release != NULL) node->op->cpu_release(&call);
  free(call.scratch);
  for (int i = 0; i < node->input_count; i++)
    if (inputs[i] != NULL && inputs[i] != self->memory[node->inputs[i]]) free(inputs[i]);
  for (int o = 0; o < node->output_count; o++) {
    if (outputs[o] == self->memory[node->outputs[o]]) continue;
    round_to(self->memory[node->outputs[o]], outputs[o], ath_type_count(&output_types[o]));
    free(outputs[o]);
  }
  return status;
}

static inline ath_status interpreter_run(interpreter *self) {
  size_t count = ath_graph_node_count(self->graph);
  for (size_t i = 0; i < count; i++) ATH_TRY(run_node(self, ath_graph_node(self->graph, i)));
  return ATH_OK;
}

/* Gives the variables their assigned values, all of them those from before any assignment. */
static inline void interpreter_assign(interpreter *self) {
  void **copies = calloc(self->count, sizeof *copies);
  for (int round = 0; round < 2; round++)
    for (size_t v = 0; v < self->count; v++) {
      if (ath_graph_kind(self->graph, (ath_value)v) != ATH_VALUE_VARIABLE) continue;
      ath_value source = ath_graph_assigned(self->graph, (ath_value)v);
      if (source == ATH_NO_VALUE) continue;
      size_t bytes = value_bytes(self->graph, source);
      if (round == 0) copies[v] = memcpy(aligned_memory(bytes), self->memory[source], bytes);
      else memcpy(self->memory[v], copies[v], bytes);
    }
  for (size_t v = 0; v < self->count; v++) free(copies[v]);
  free(copies);
}

/* A fixed sequence of numbers in −1 … 1 for a seed. */
typedef struct numbers {
  uint64_t state;
} numbers;

static inline uint32_t next_bits(numbers *self) {
  self->state = self->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(self->state >> 33);
}

static inline int next_below(numbers *self, int n) { return (int)(next_bits(self) % (uint32_t)n); }

static inline float next_number(numbers *self) {
  return (float)next_bits(self) * 0x1p-30f - 1.0f;
}

static inline void fill_numbers(numbers *self, float *to, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] = next_number(self);
}

#endif
