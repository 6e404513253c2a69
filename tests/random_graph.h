/* random_graph.h: training steps that make no sense, of 5 to 50 operations, for holding engines
 * and plans against each other. The same seed gives the same graph. */
#ifndef ATHANOR_TESTS_RANDOM_GRAPH_H
#define ATHANOR_TESTS_RANDOM_GRAPH_H

#include "interpreter.h"

enum { GRAPH_ROWS = 10, GRAPH_WIDTH = 20, MAX_POOL = 96, MAX_VARIABLES = 24 };

typedef struct random_graph {
  ath_graph *graph;
  numbers numbers;
  ath_value pool[MAX_POOL];  /* f32 [10, 20] */
  int pool_count;
  ath_value variables[MAX_VARIABLES];
  int variable_count;
  ath_value step, loss;
} random_graph;

static inline ath_value random_variable(random_graph *self, ath_type type) {
  char name[16];
  snprintf(name, sizeof name, "w%d", self->variable_count);
  ath_value value = ath_graph_variable(self->graph, name, type);
  assert_true(self->variable_count < MAX_VARIABLES);
  return self->variables[self->variable_count++] = value;
}

/* A variable of this type: an old one, so that it has many readers, or a new one. */
static inline ath_value some_variable(random_graph *self, ath_type type) {
  for (int i = 0; i < self->variable_count; i++) {
    ath_type old = ath_graph_type(self->graph, self->variables[i]);
    if (ath_type_equal(&old, &type) &&
        (self->variable_count >= MAX_VARIABLES - 4 || next_below(&self->numbers, 3) == 0))
      return self->variables[i];
  }
  return random_variable(self, type);
}

/* Recent values more often, so that graphs get deep; old ones too, so that memory is held. */
static inline ath_value some_value(random_graph *self) {
  int n = self->pool_count, recent = n < 3 ? n : 3;
  if (next_below(&self->numbers, 3) > 0)
    return self->pool[n - 1 - next_below(&self->numbers, recent)];
  return self->pool[next_below(&self->numbers, n)];
}

static inline ath_dropout_place some_place(random_graph *self) {
  return (ath_dropout_place){.rate = 0.25f, .seed = 5, .step = self->step,
                             .site = next_bits(&self->numbers) % 100};
}

static inline ath_value some_operation(random_graph *self) {
  ath_graph *g = self->graph;
  ath_type row = ath_type_make(ATH_F32, 1, GRAPH_WIDTH);
  ath_type square = ath_type_make(ATH_F32, 2, GRAPH_WIDTH, GRAPH_WIDTH);
  ath_type matrix = ath_type_make(ATH_F32, 2, GRAPH_ROWS, GRAPH_WIDTH);
  ath_type turned = ath_type_make(ATH_F32, 3, 2, GRAPH_WIDTH, GRAPH_ROWS / 2);
  ath_value x = some_value(self), y = some_value(self);
  switch (next_below(&self->numbers, 13)) {
    case 0: return ath_add(g, x, y);
    case 1: return ath_multiply(g, x, ath_activation(g, y, ATH_TANH));
    case 2: return ath_scale(g, x, next_number(&self->numbers));
    case 3: return ath_activation(g, x, next_below(&self->numbers, 2) ? ATH_GELU : ATH_SILU);
    case 4: return ath_dropout(g, x, some_place(self));
    case 5: return ath_reshape(g, ath_scale(g, ath_reshape(g, x, turned), 0.5f), matrix);
    case 6: return ath_linear(g, x, some_variable(self, square), some_variable(self, row));
    case 7: return ath_matmul(g, x, ath_matmul(g, y, y, true, false), false, true);
    case 8: return ath_layer_norm(g, x, some_variable(self, row), some_variable(self, row), 0.1f);
    case 9:
      return ath_residual_norm(g, x, some_variable(self, row), y, some_variable(self, row),
                               some_variable(self, row), 0.1f, some_place(self));
    case 10: return ath_bias_activation(g, x, some_variable(self, row), ATH_GELU_TANH);
    case 11: return ath_add(g, x, ath_activation(g, ath_reduce_rows(g, y), ATH_TANH));
    default: return ath_multiply(g, x, ath_scale(g, ath_reduce_sum(g, y), 0.02f));
  }
}

/* Keeps numbers small: what enters the pool has passed through tanh now and then. */
static inline void grow(random_graph *self, int operations) {
  for (int i = 0; i < operations; i++) {
    ath_value value = some_operation(self);
    value = ath_activation(self->graph, value, ATH_TANH);
    self->pool[self->pool_count++] = value;
  }
}

/* The forward part: variables, an input, a loss. */
static inline random_graph random_graph_make(uint64_t seed) {
  random_graph self = {.numbers = {seed * 2 + 1}};
  assert_ok(ath_graph_create(&self.graph));
  ath_type matrix = ath_type_make(ATH_F32, 2, GRAPH_ROWS, GRAPH_WIDTH);
  self.step = ath_graph_input(self.graph, "step", ath_type_make(ATH_U32, 0));
  self.pool[self.pool_count++] = ath_graph_input(self.graph, "x", matrix);
  self.pool[self.pool_count++] = random_variable(&self, matrix);
  random_variable(&self, ath_type_make(ATH_F32, 1, GRAPH_WIDTH));
  random_variable(&self, ath_type_make(ATH_F32, 2, GRAPH_WIDTH, GRAPH_WIDTH));
  grow(&self, 3 + next_below(&self.numbers, 25));
  ath_value last = self.pool[self.pool_count - 1];
  for (int i = 0; i < 2; i++) last = ath_add(self.graph, last, some_value(&self));
  self.loss = ath_reduce_sum(self.graph, ath_multiply(self.graph, last, self.pool[0]));
  assert_ok(ath_graph_status(self.graph));
  return self;
}

/* What follows the gradients in a step: assignments of every sort, and outputs. */
static inline void random_graph_finish(random_graph *self, const ath_value *gradients) {
  ath_graph *g = self->graph;
  int count = self->variable_count; /* new ones below have no gradient */
  for (int i = 0; i < count; i++) {
    ath_value w = self->variables[i];
    switch (next_below(&self->numbers, 5)) {
      case 0: ath_graph_assign(g, w, ath_add(g, w, ath_scale(g, gradients[i], -0.1f))); break;
      case 1: ath_graph_assign(g, w, gradients[i]); break;
      case 2: ath_graph_assign(g, w, ath_add(g, gradients[i], w)); break;
      case 3: { /* a variable of the same type, perhaps itself assigned */
        ath_type type = ath_graph_type(g, w);
        ath_graph_assign(g, w, some_variable(self, type));
        break;
      }
      default: break;
    }
    char name[16];
    snprintf(name, sizeof name, "g%d", i);
    if (next_below(&self->numbers, 3) == 0) ath_graph_output(g, name, gradients[i]);
    snprintf(name, sizeof name, "v%d", i);
    if (next_below(&self->numbers, 5) == 0) ath_graph_output(g, name, w);
  }
  ath_graph_output(g, "loss", self->loss);
  ath_graph_output(g, "x again", self->pool[0]);
  ath_graph_output(g, "some value", some_value(self));
  assert_ok(ath_graph_status(g));
}

#endif
