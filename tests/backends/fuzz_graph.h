/* fuzz_graph.h: graphs that make no sense, of some 5 to 50 operations of every kind and on every
 * shape, for holding engines against each other. The same seed gives the same graph and data.
 *
 * A pool of values grows: each step takes one, most often a recent one, and does something with it;
 * what else the operation needs is an old value or variable of the right type, or a new one.
 * Numbers are kept within reach of each other: how often a value may have grown is counted (its
 * heat), and what gets too hot passes through tanh. */
#ifndef ATHANOR_TESTS_FUZZ_GRAPH_H
#define ATHANOR_TESTS_FUZZ_GRAPH_H

#include <math.h>

#include "interpreter.h"

enum { FUZZ_POOL = 512, FUZZ_INPUTS = 512, FUZZ_ELEMENTS = 2048, FUZZ_HEAT = 4 };

typedef struct fuzz_input {
  char name[16];
  ath_type type;
  void *data;
} fuzz_input;

typedef struct fuzz {
  ath_graph *graph;
  numbers numbers;
  bool half; /* some values are bf16, and computed with */
  bool learns; /* has a loss, its gradients and updates */
  struct {
    ath_value value;
    int heat;
  } pool[FUZZ_POOL];
  int pool_count, heat; /* heat: of what the present operation has taken */
  fuzz_input inputs[FUZZ_INPUTS], variables[FUZZ_INPUTS]; /* data: before the first run */
  ath_value variable_values[FUZZ_INPUTS];
  int input_count, variable_count, output_count;
  ath_value step; /* of dropout: input 0 */
} fuzz;

static inline int fuzz_below(fuzz *self, int n) { return next_below(&self->numbers, n); }
static inline bool fuzz_one_in(fuzz *self, int n) { return fuzz_below(self, n) == 0; }
static inline ath_type fuzz_type(fuzz *self, ath_value value) {
  return ath_graph_type(self->graph, value);
}

/* --- values from outside ------------------------------------------------------------ */

static inline void *fuzz_floats(fuzz *self, ath_type type) {
  int64_t n = ath_type_count(&type);
  float *data = calloc((size_t)n + 1, sizeof *data);
  fill_numbers(&self->numbers, data, n);
  if (type.dtype == ATH_BF16)
    for (int64_t i = 0; i < n; i++) ((uint16_t *)data)[i] = ath_bf16_from_float(data[i]);
  return data;
}

static inline ath_value fuzz_add_input(fuzz *self, ath_type type, void *data) {
  assert_true(self->input_count < FUZZ_INPUTS);
  fuzz_input *input = &self->inputs[self->input_count];
  *input = (fuzz_input){.type = type, .data = data};
  snprintf(input->name, sizeof input->name, "x%d", self->input_count++);
  return ath_graph_input(self->graph, input->name, type);
}

static inline ath_value fuzz_integers(fuzz *self, ath_type type, int below) {
  int32_t *data = calloc((size_t)ath_type_count(&type), sizeof *data);
  for (int64_t i = 0; i < ath_type_count(&type); i++) data[i] = fuzz_below(self, below);
  return fuzz_add_input(self, type, data);
}

static inline ath_value fuzz_add_variable(fuzz *self, ath_type type) {
  assert_true(self->variable_count < FUZZ_INPUTS);
  fuzz_input *variable = &self->variables[self->variable_count];
  *variable = (fuzz_input){.type = type, .data = fuzz_floats(self, type)};
  snprintf(variable->name, sizeof variable->name, "w%d", self->variable_count);
  ath_value value = ath_graph_variable(self->graph, variable->name, type);
  return self->variable_values[self->variable_count++] = value;
}

/* A variable of this type that there is already, or a new one. */
static inline ath_value fuzz_some_variable(fuzz *self, ath_type type) {
  for (int i = 0; i < self->variable_count; i++)
    if (ath_type_equal(&self->variables[i].type, &type) && fuzz_one_in(self, 3))
      return self->variable_values[i];
  return fuzz_add_variable(self, type);
}

static inline void fuzz_keep(fuzz *self, ath_value value, int heat) {
  assert_true(self->pool_count < FUZZ_POOL);
  self->pool[self->pool_count].value = value;
  self->pool[self->pool_count++].heat = heat;
}

/* A new leaf of this type: most often a variable, which may be stored in the other precision. */
static inline ath_value fuzz_leaf(fuzz *self, ath_type type) {
  ath_type stored = type;
  if (fuzz_one_in(self, 8)) stored.dtype = type.dtype == ATH_F32 ? ATH_BF16 : ATH_F32;
  ath_value value;
  int choice = fuzz_below(self, 10);
  if (choice == 0)
    value = ath_graph_constant(self->graph, type, (double)fuzz_below(self, 9) / 4 - 1);
  else if (choice < 3) value = fuzz_add_input(self, stored, fuzz_floats(self, stored));
  else value = fuzz_some_variable(self, stored);
  value = ath_convert(self->graph, value, type.dtype);
  if (fuzz_one_in(self, 2)) fuzz_keep(self, value, 1);
  return value;
}

/* --- choosing ----------------------------------------------------------------------- */

/* A size of 1 … most: often a small one or a power of two. */
static inline int fuzz_size(fuzz *self, int most) {
  static const int usual[] = {1, 2, 3, 4, 8, 16};
  int size = fuzz_one_in(self, 2) ? usual[fuzz_below(self, 6)] : 1 + fuzz_below(self, most);
  return size < most ? size : most;
}

static inline ath_type fuzz_shape(fuzz *self, ath_dtype dtype, int rank) {
  ath_type type = {.dtype = dtype, .rank = rank};
  int64_t room = FUZZ_ELEMENTS;
  for (int i = rank - 1; i >= 0; i--) {
    int most = room < 40 ? (int)room : 40;
    type.dims[i] = fuzz_size(self, most);
    room /= type.dims[i];
  }
  return type;
}

static inline ath_value fuzz_take(fuzz *self, int at) {
  self->heat += self->pool[at].heat;
  return self->pool[at].value;
}

/* Recent values more often, so that graphs get deep; old ones too, so that memory is held. */
static inline ath_value fuzz_pick(fuzz *self) {
  int n = self->pool_count, recent = n < 4 ? n : 4;
  if (!fuzz_one_in(self, 3)) return fuzz_take(self, n - 1 - fuzz_below(self, recent));
  return fuzz_take(self, fuzz_below(self, n));
}

/* A value of this type: of the pool where there is one, if luck has it, or a new leaf. */
static inline ath_value fuzz_like(fuzz *self, ath_type type) {
  int from = fuzz_below(self, self->pool_count);
  for (int i = 0; i < self->pool_count && !fuzz_one_in(self, 40); i++) {
    int at = (from + i) % self->pool_count;
    ath_type other = fuzz_type(self, self->pool[at].value);
    if (ath_type_equal(&other, &type)) return fuzz_take(self, at);
  }
  return fuzz_leaf(self, type);
}

static inline ath_value fuzz_per_column(fuzz *self, ath_value x) {
  ath_type type = fuzz_type(self, x);
  return fuzz_like(self, ath_type_make(ATH_F32, 1, (int)type.dims[type.rank - 1]));
}

static inline ath_dropout_place fuzz_place(fuzz *self) {
  static const float rates[] = {0, 0.1f, 0.25f, 0.5f, 0.9f};
  return (ath_dropout_place){.rate = rates[fuzz_below(self, 5)], .step = self->step,
                             .seed = (uint64_t)next_bits(&self->numbers) << 32 | 5,
                             .site = next_bits(&self->numbers)};
}

static inline ath_activation_kind fuzz_kind(fuzz *self) {
  return (ath_activation_kind)fuzz_below(self, ATH_TANH + 1);
}

/* --- operations --------------------------------------------------------------------- */

static inline int64_t fuzz_rows(const ath_type *type) {
  return ath_type_count(type) / type->dims[type->rank - 1];
}

/* The same value with at least one dimension: rows of columns. */
static inline ath_value fuzz_with_rows(fuzz *self, ath_value x) {
  ath_type type = fuzz_type(self, x);
  if (type.rank > 0) return x;
  type.rank = 1;
  type.dims[0] = 1;
  return ath_reshape(self->graph, x, type);
}

/* The other operand of a sum or product: of the same shape or fewer leading dimensions. */
static inline ath_value fuzz_repeated(fuzz *self, ath_value x) {
  ath_type type = fuzz_type(self, x), other = {.dtype = type.dtype};
  int left_out = fuzz_one_in(self, 2) ? 0 : fuzz_below(self, type.rank + 1);
  other.rank = type.rank - left_out;
  for (int i = 0; i < other.rank; i++) other.dims[i] = type.dims[left_out + i];
  return fuzz_like(self, other);
}

static inline int64_t fuzz_divisor(fuzz *self, int64_t n, int most) {
  int64_t d = fuzz_size(self, n < most ? (int)n : most);
  while (n % d != 0) d--;
  return d;
}

static inline ath_value fuzz_reshape(fuzz *self, ath_value x) {
  ath_type type = fuzz_type(self, x), to = {.dtype = type.dtype};
  int64_t left = ath_type_count(&type);
  to.rank = 1 + fuzz_below(self, ATH_MAX_RANK);
  for (int i = 0; i < to.rank - 1; i++) left /= to.dims[i] = fuzz_divisor(self, left, 40);
  to.dims[to.rank - 1] = left;
  if (left == 1 && fuzz_one_in(self, 2) && ath_type_count(&type) == 1)
    to = (ath_type){.dtype = type.dtype};
  return ath_reshape(self->graph, x, to);
}

/* To bf16 and back, which every engine can; in a half graph the type changes for good. */
static inline ath_value fuzz_convert(fuzz *self, ath_value x) {
  bool is_half = fuzz_type(self, x).dtype == ATH_BF16;
  ath_value other = ath_convert(self->graph, x, is_half ? ATH_F32 : ATH_BF16);
  return self->half ? other : ath_convert(self->graph, fuzz_reshape(self, other), ATH_F32);
}

static inline ath_value fuzz_matmul(fuzz *self, ath_value x) {
  x = fuzz_with_rows(self, x);
  ath_type type = fuzz_type(self, x);
  bool ta = fuzz_one_in(self, 2), tb = fuzz_one_in(self, 2);
  int64_t rows = fuzz_rows(&type), columns = type.dims[type.rank - 1];
  int k = (int)(ta ? rows : columns), m = (int)(ta ? columns : rows);
  int most = m < k ? FUZZ_ELEMENTS / k : FUZZ_ELEMENTS / m;
  int n = fuzz_size(self, most < 1 ? 1 : most < 40 ? most : 40);
  ath_value b = fuzz_like(self, ath_type_make(type.dtype, 2, tb ? n : k, tb ? k : n));
  return ath_scale(self->graph, ath_matmul(self->graph, x, b, ta, tb), 1 / sqrtf((float)k));
}

/* x wᵀ + bias with so many columns. */
static inline ath_value fuzz_columns(fuzz *self, ath_value x, int columns) {
  ath_type type = fuzz_type(self, x);
  int in = (int)type.dims[type.rank - 1];
  ath_value w = fuzz_like(self, ath_type_make(type.dtype, 2, columns, in)), bias = ATH_NO_VALUE;
  if (!fuzz_one_in(self, 3)) bias = fuzz_like(self, ath_type_make(ATH_F32, 1, columns));
  return ath_scale(self->graph, ath_linear(self->graph, x, w, bias), 1 / sqrtf((float)in));
}

static inline ath_value fuzz_linear(fuzz *self, ath_value x) {
  x = fuzz_with_rows(self, x);
  ath_type type = fuzz_type(self, x);
  int64_t rows = fuzz_rows(&type), most = rows > FUZZ_ELEMENTS ? 1 : FUZZ_ELEMENTS / rows;
  return fuzz_columns(self, x, fuzz_size(self, most < 40 ? (int)most : 40));
}

static inline ath_value fuzz_embedding(fuzz *self, ath_value x) {
  ath_type type = fuzz_type(self, x);
  if (type.rank != 2) {
    type = ath_type_make(type.dtype, 2, fuzz_size(self, 40), fuzz_size(self, 30));
    x = fuzz_like(self, type);
  }
  ath_type ids = fuzz_shape(self, ATH_I32, 1 + fuzz_below(self, 2));
  while (ath_type_count(&ids) * type.dims[1] > FUZZ_ELEMENTS && ids.dims[0] > 1) ids.dims[0] /= 2;
  int padding = fuzz_one_in(self, 2) ? -1 : fuzz_below(self, (int)type.dims[0]);
  return ath_embedding(self->graph, x, fuzz_integers(self, ids, (int)type.dims[0]), padding);
}

static inline ath_value fuzz_norm(fuzz *self, ath_value x) {
  float epsilon = fuzz_one_in(self, 2) ? 1e-5f : 1e-3f;
  x = fuzz_with_rows(self, x);
  ath_value gamma = fuzz_per_column(self, x), beta = fuzz_per_column(self, x);
  if (fuzz_one_in(self, 2)) return ath_layer_norm(self->graph, x, gamma, beta, epsilon);
  ath_value residual = fuzz_like(self, fuzz_type(self, x));
  ath_value bias = fuzz_one_in(self, 3) ? ATH_NO_VALUE : fuzz_per_column(self, x);
  if (fuzz_one_in(self, 2)) /* the plain nodes, which ath_graph_fuse looks for */
    return ath_layer_norm(
        self->graph, ath_add(self->graph, residual,
                             ath_dropout(self->graph, x, fuzz_place(self))), gamma, beta, epsilon);
  return ath_residual_norm(self->graph, x, bias, residual, gamma, beta, epsilon,
                           fuzz_place(self));
}

static inline ath_value fuzz_attention(fuzz *self, ath_value x) {
  int heads = 1 + fuzz_below(self, 4), head_size = fuzz_size(self, 8);
  x = fuzz_with_rows(self, x);
  ath_type type = fuzz_type(self, x);
  int rows = (int)fuzz_rows(&type), length = (int)fuzz_divisor(self, rows, 48);
  if (rows * 3 * heads * head_size > 4 * FUZZ_ELEMENTS) heads = head_size = 1;
  int batch = rows / length, columns = 3 * heads * head_size;
  if (type.dims[type.rank - 1] != columns) x = fuzz_columns(self, x, columns);
  x = ath_reshape(self->graph, x, ath_type_make(type.dtype, 3, batch, length, columns));
  ath_value mask = fuzz_integers(self, ath_type_make(ATH_I32, 2, batch, length), 4);
  return ath_attention(self->graph, ath_scale(self->graph, x, 2), mask, heads, fuzz_place(self));
}

/* One of the three sums over rows; every third row has weight 0, and a label that is no class. */
static inline ath_value fuzz_cross_entropy(fuzz *self, ath_value x) {
  x = fuzz_with_rows(self, x);
  ath_type type = fuzz_type(self, x);
  int classes = (int)type.dims[type.rank - 1], rows = (int)fuzz_rows(&type);
  x = ath_reshape(self->graph, x, ath_type_make(type.dtype, 2, rows, classes));
  ath_value labels = fuzz_integers(self, ath_type_make(ATH_I32, 1, rows), classes);
  int32_t *label = self->inputs[self->input_count - 1].data;
  float *weight = fuzz_floats(self, ath_type_make(ATH_F32, 1, rows));
  for (int i = 0; i < rows; i++) {
    weight[i] = i % 3 == 2 ? 0 : fabsf(weight[i]);
    if (i % 3 == 2) label[i] = i % 2 ? -1 : classes;
  }
  ath_value weights = fuzz_add_input(self, ath_type_make(ATH_F32, 1, rows), weight);
  ath_cross_entropy_result its = ath_cross_entropy(self->graph, x, labels, weights);
  int part = fuzz_below(self, 6);
  return ath_scale(self->graph, part == 0 ? its.weight : part == 1 ? its.correct : its.loss,
                   1 / (float)rows);
}

/* A sum of some sort, made a mean; the sum of squares over several values. */
static inline ath_value fuzz_sum(fuzz *self, ath_value x) {
  ath_type type = fuzz_type(self, x);
  float part = 1 / (float)ath_type_count(&type);
  ath_value values[3] = {x};
  int more = fuzz_below(self, 3);
  switch (fuzz_below(self, 3)) {
    case 0: return ath_scale(self->graph, ath_reduce_sum(self->graph, x), part);
    case 1:
      x = fuzz_with_rows(self, x);
      type = fuzz_type(self, x);
      part = 1 / (float)fuzz_rows(&type);
      return ath_scale(self->graph, ath_reduce_rows(self->graph, x), part);
    default:
      for (int i = 1; i <= more; i++) values[i] = fuzz_pick(self);
      return ath_scale(self->graph, ath_sum_of_squares(self->graph, values, (size_t)more + 1),
                       part / FUZZ_HEAT);
  }
}

static inline ath_value fuzz_operation(fuzz *self, ath_value x) {
  ath_graph *g = self->graph;
  switch (fuzz_below(self, 17)) {
    case 0: return ath_add(g, x, fuzz_repeated(self, x));
    case 1: return ath_multiply(g, x, fuzz_repeated(self, x));
    case 2: return ath_scale(g, x, next_number(&self->numbers) * 2);
    case 3: return fuzz_convert(self, x);
    case 4: return ath_activation(g, x, fuzz_kind(self));
    case 5: return ath_dropout(g, x, fuzz_place(self));
    case 6: return fuzz_reshape(self, x);
    case 7: return fuzz_sum(self, x);
    case 8: case 9: return fuzz_matmul(self, x);
    case 10: return fuzz_linear(self, x);
    case 11: return fuzz_embedding(self, x);
    case 12: return fuzz_norm(self, x);
    case 13:
      x = fuzz_with_rows(self, x);
      return ath_bias_activation(g, x, fuzz_per_column(self, x), fuzz_kind(self));
    case 14: return fuzz_attention(self, x);
    case 15: /* a linear layer as a model has it, for ath_graph_fuse */
      return ath_activation(g, fuzz_linear(self, x), fuzz_kind(self));
    default: return fuzz_cross_entropy(self, x);
  }
}

static inline void fuzz_grow(fuzz *self) {
  self->heat = 1;
  ath_value value = fuzz_operation(self, fuzz_pick(self));
  bool hot = self->heat > FUZZ_HEAT;
  if (hot) value = ath_activation(self->graph, value, ATH_TANH);
  fuzz_keep(self, value, hot ? 1 : self->heat);
}

/* --- the rest of a step ------------------------------------------------------------- */

static inline void fuzz_output(fuzz *self, ath_value value) {
  char name[16];
  snprintf(name, sizeof name, "y%d", self->output_count++);
  ath_graph_output(self->graph, name, value);
}

/* Σ r x of the last value, of two others, and of the scalars that it finds there: f32. */
static inline ath_value fuzz_loss(fuzz *self) {
  ath_graph *g = self->graph;
  ath_value loss = ATH_NO_VALUE;
  for (int i = 0; i < 3; i++) {
    ath_value x = i == 0 ? self->pool[self->pool_count - 1].value : fuzz_pick(self);
    x = ath_convert(g, x, ATH_F32);
    ath_type type = fuzz_type(self, x);
    ath_value weights = fuzz_add_input(self, type, fuzz_floats(self, type));
    ath_value sum = ath_reduce_sum(g, ath_multiply(g, x, weights));
    loss = loss == ATH_NO_VALUE ? sum : ath_add(g, loss, sum);
  }
  return loss;
}

static inline ath_value fuzz_scalar(fuzz *self, float number) {
  float *data = calloc(1, sizeof *data);
  *data = number;
  return fuzz_add_input(self, (ath_type){.dtype = ATH_F32}, data);
}

/* AdamW on an f32 variable, which gets moments of its own; the second one is not negative. */
static inline void fuzz_adamw(fuzz *self, ath_value w, ath_value gradient, ath_value scale) {
  ath_type type = fuzz_type(self, w);
  ath_value m = fuzz_add_variable(self, type), v = fuzz_add_variable(self, type);
  float *second = self->variables[self->variable_count - 1].data;
  for (int64_t i = 0; i < ath_type_count(&type); i++) second[i] = fabsf(second[i]);
  ath_adamw_scalars scalars = {fuzz_scalar(self, 0.03f), fuzz_scalar(self, 0.1f),
                               fuzz_scalar(self, 0.02f), scale};
  ath_adamw(self->graph, w, m, v, gradient, scalars, (ath_adamw_options){0.9f, 0.98f, 1e-6f, 0.1f});
}

/* What becomes of a variable: nothing, AdamW, gradient descent, the gradient, another variable. */
static inline void fuzz_update(fuzz *self, int at, ath_value gradient, ath_value scale) {
  ath_graph *g = self->graph;
  ath_value w = self->variable_values[at];
  ath_type type = fuzz_type(self, w);
  int choice = type.dtype == ATH_F32 ? fuzz_below(self, 6) : 3 + fuzz_below(self, 3);
  switch (choice) {
    case 0: case 1: fuzz_adamw(self, w, gradient, scale); return;
    case 2: ath_graph_assign(g, w, ath_add(g, w, ath_scale(g, gradient, -0.1f))); return;
    case 3: ath_graph_assign(g, w, gradient); return;
    case 4: ath_graph_assign(g, w, fuzz_some_variable(self, type)); return;
    default: return;
  }
}

/* Gradients of a loss by the variables; then their norm, updates, outputs. Where all is to run on
 * the embedded engine variables in bf16 get none: two of them would be added in bf16. */
static inline void fuzz_learn(fuzz *self) {
  ath_graph *g = self->graph;
  ath_value wrt[FUZZ_INPUTS], gradients[FUZZ_INPUTS], loss = fuzz_loss(self);
  int places[FUZZ_INPUTS], count = 0;
  for (int i = 0; i < self->variable_count; i++) {
    if (self->variables[i].type.dtype == ATH_BF16 && !self->half) continue;
    places[count] = i;
    wrt[count++] = self->variable_values[i];
  }
  assert_ok(ath_graph_status(g));
  if (fuzz_one_in(self, 2)) assert_ok(ath_graph_fuse(g));
  assert_ok(ath_graph_gradients(g, loss, wrt, (size_t)count, gradients));
  fuzz_output(self, loss);
  if (count == 0) return;
  ath_value squares = ath_sum_of_squares(g, gradients, (size_t)(count < 40 ? count : 40));
  float max_norm = fuzz_one_in(self, 3) ? 0 : 0.5f;
  ath_clip_result clip = ath_clip(g, squares, fuzz_scalar(self, 4), max_norm);
  fuzz_output(self, clip.norm);
  for (int i = 0; i < count; i++) {
    if (fuzz_one_in(self, 2)) fuzz_output(self, gradients[i]);
    fuzz_update(self, places[i], gradients[i], clip.scale);
  }
}

/* Without gradients: variables get values of the pool, rounded where they are bf16. */
static inline void fuzz_move(fuzz *self) {
  for (int i = 0, count = self->variable_count; i < count; i++) {
    ath_type type = self->variables[i].type;
    if (!fuzz_one_in(self, 2)) continue;
    type.dtype = ATH_F32;
    ath_value value = fuzz_like(self, type);
    value = ath_convert(self->graph, value, self->variables[i].type.dtype);
    ath_graph_assign(self->graph, self->variable_values[i], value);
  }
}

static inline fuzz fuzz_make(uint64_t seed) {
  fuzz self = {.numbers = {seed * 2 + 1}};
  for (int i = 0; i < 4; i++) next_bits(&self.numbers);
  assert_ok(ath_graph_create(&self.graph));
  self.half = fuzz_one_in(&self, 4);
  self.step = fuzz_integers(&self, (ath_type){.dtype = ATH_U32}, 1000);
  for (int i = 0; i < 3; i++) {
    ath_dtype dtype = self.half && i > 0 ? ATH_BF16 : ATH_F32;
    fuzz_keep(&self, fuzz_leaf(&self, fuzz_shape(&self, dtype, fuzz_below(&self, 5))), 1);
  }
  self.learns = !fuzz_one_in(&self, 4);
  int operations = 2 + fuzz_below(&self, self.learns ? 10 : 34);
  for (int i = 0; i < operations; i++) fuzz_grow(&self);
  if (self.learns) fuzz_learn(&self);
  else fuzz_move(&self);
  for (int i = 0; i < 3; i++) fuzz_output(&self, fuzz_pick(&self));
  assert_ok(ath_graph_status(self.graph));
  if (fuzz_one_in(&self, 2)) assert_ok(ath_graph_prune(self.graph));
  return self;
}

static inline void fuzz_free(fuzz *self) {
  for (int i = 0; i < self->input_count; i++) free(self->inputs[i].data);
  for (int i = 0; i < self->variable_count; i++) free(self->variables[i].data);
  ath_graph_destroy(self->graph);
}

#endif
