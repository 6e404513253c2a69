/* test_gradients.c: every operation's gradient against central differences of its own values. */
#include "interpreter.h"

enum { MAX_INPUTS = 8, SAMPLES = 24 };

/* An operation under test: its f32 inputs are variables, and `build` makes its value. */
typedef struct trial {
  ath_graph *graph;
  ath_value x[MAX_INPUTS];
  int count;
  numbers numbers;
} trial;

static trial begin(uint64_t seed) {
  trial self = {.numbers = {seed}};
  assert_ok(ath_graph_create(&self.graph));
  return self;
}

static ath_value operand(trial *self, ath_type type) {
  char name[16];
  snprintf(name, sizeof name, "x%d", self->count);
  return self->x[self->count++] = ath_graph_variable(self->graph, name, type);
}

static ath_value matrix(trial *self, int rows, int columns) {
  return operand(self, ath_type_make(ATH_F32, 2, rows, columns));
}

static ath_value vector(trial *self, int n) { return operand(self, ath_type_make(ATH_F32, 1, n)); }

/* Σ r y in double: finer than a loss in f32. */
static double loss_of(interpreter *run, ath_value y, ath_value r) {
  assert_ok(interpreter_run(run));
  const float *values = value_memory(run, y), *weights = value_memory(run, r);
  double sum = 0;
  for (int64_t i = 0; i < value_elements(run->graph, y); i++)
    sum += (double)values[i] * (double)weights[i];
  return sum;
}

/* Fourth-order central difference. */
static double slope(interpreter *run, ath_value y, ath_value r, float *at) {
  const float h = 0.0625f / 4, x = *at;
  const double factors[4] = {1, -8, 8, -1};
  const float shifts[4] = {-2, -1, 1, 2};
  double sum = 0;
  for (int i = 0; i < 4; i++) {
    *at = x + shifts[i] * h;
    sum += factors[i] * loss_of(run, y, r);
  }
  *at = x;
  return sum / (12 * (double)h);
}

typedef void (*fill_inputs)(interpreter *run);

/* Checks d Σ r y / dx for samples of every operand. `more` sets inputs that are not f32. */
static void check(trial *self, ath_value y, fill_inputs more) {
  ath_graph *g = self->graph;
  ath_value r = ath_graph_input(g, "r", ath_graph_type(g, y));
  ath_value loss = ath_reduce_sum(g, ath_multiply(g, y, r)), gradients[MAX_INPUTS];
  assert_ok(ath_graph_status(g));
  assert_ok(ath_graph_gradients(g, loss, self->x, (size_t)self->count, gradients));
  interpreter run = interpreter_make(g);
  for (int i = 0; i < self->count; i++)
    fill_numbers(&self->numbers, value_memory(&run, self->x[i]), value_elements(g, self->x[i]));
  fill_numbers(&self->numbers, value_memory(&run, r), value_elements(g, r));
  if (more != NULL) more(&run);
  for (int i = 0; i < self->count; i++) {
    ath_type want = ath_graph_type(g, self->x[i]), got = ath_graph_type(g, gradients[i]);
    assert_true(ath_type_equal(&want, &got));
    int64_t n = value_elements(g, self->x[i]);
    for (int s = 0; s < SAMPLES && s < n; s++) {
      int64_t at = n <= SAMPLES ? s : next_below(&self->numbers, (int)n);
      loss_of(&run, y, r);
      double ours = (double)((float *)value_memory(&run, gradients[i]))[at];
      float *element = (float *)value_memory(&run, self->x[i]) + at;
      assert_near(ours, slope(&run, y, r, element), 2e-4, 1e-3);
    }
  }
  interpreter_free(&run);
  ath_graph_destroy(g);
}

static void add_and_its_repeated_operand(void **state) {
  (void)state;
  trial t = begin(1);
  check(&t, ath_add(t.graph, matrix(&t, 5, 7), matrix(&t, 5, 7)), NULL);
  t = begin(2);
  check(&t, ath_add(t.graph, operand(&t, ath_type_make(ATH_F32, 3, 2, 3, 5)), vector(&t, 5)),
        NULL);
  t = begin(3);
  check(&t, ath_add(t.graph, matrix(&t, 5, 7), operand(&t, ath_type_make(ATH_F32, 0))), NULL);
}

static void multiply_and_its_repeated_operand(void **state) {
  (void)state;
  trial t = begin(4);
  check(&t, ath_multiply(t.graph, matrix(&t, 5, 7), matrix(&t, 5, 7)), NULL);
  t = begin(5);
  check(&t, ath_multiply(t.graph, operand(&t, ath_type_make(ATH_F32, 3, 4, 3, 5)),
                         matrix(&t, 3, 5)), NULL);
  t = begin(6);
  check(&t, ath_multiply(t.graph, matrix(&t, 2, 9), operand(&t, ath_type_make(ATH_F32, 0))),
        NULL);
  t = begin(7); /* both operands are one value */
  ath_value x = vector(&t, 9);
  check(&t, ath_multiply(t.graph, x, x), NULL);
}

static void scale_reshape_and_sums(void **state) {
  (void)state;
  trial t = begin(8);
  check(&t, ath_scale(t.graph, matrix(&t, 3, 5), -2.5f), NULL);
  t = begin(9);
  check(&t, ath_reshape(t.graph, matrix(&t, 4, 6), ath_type_make(ATH_F32, 3, 2, 4, 3)), NULL);
  t = begin(10);
  check(&t, ath_reduce_sum(t.graph, matrix(&t, 4, 6)), NULL);
  t = begin(11);
  check(&t, ath_reduce_rows(t.graph, operand(&t, ath_type_make(ATH_F32, 3, 2, 4, 6))), NULL);
  t = begin(12);
  ath_value values[2] = {matrix(&t, 3, 5), vector(&t, 4)};
  check(&t, ath_sum_of_squares(t.graph, values, 2), NULL);
}

static void every_kind_of_activation(void **state) {
  (void)state;
  for (int kind = ATH_GELU; kind <= ATH_TANH; kind++) {
    if (kind == ATH_RELU) continue; /* differences near its corner are not derivatives */
    trial t = begin(20 + (uint64_t)kind);
    check(&t, ath_activation(t.graph, ath_scale(t.graph, matrix(&t, 6, 9), 3),
                             (ath_activation_kind)kind), NULL);
    t = begin(30 + (uint64_t)kind);
    check(&t, ath_bias_activation(t.graph, matrix(&t, 6, 9), vector(&t, 9),
                                  (ath_activation_kind)kind), NULL);
  }
}

static void the_slope_of_relu_is_0_or_1(void **state) {
  (void)state;
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  ath_value x = ath_graph_variable(g, "x", ath_type_make(ATH_F32, 1, 3)), dx;
  ath_value loss = ath_reduce_sum(g, ath_activation(g, x, ATH_RELU));
  assert_ok(ath_graph_gradients(g, loss, &x, 1, &dx));
  interpreter run = interpreter_make(g);
  memcpy(value_memory(&run, x), (float[]){-2, 0.5f, 3}, 12);
  assert_ok(interpreter_run(&run));
  assert_memory_equal(value_memory(&run, dx), ((float[]){0, 1, 1}), 12);
  interpreter_free(&run);
  ath_graph_destroy(g);
}

static void matrix_products_in_all_four_forms(void **state) {
  (void)state;
  for (int form = 0; form < 4; form++) {
    bool ta = form & 1, tb = form & 2;
    trial t = begin(40 + (uint64_t)form);
    ath_value a = ta ? matrix(&t, 5, 3) : matrix(&t, 3, 5);
    ath_value b = tb ? matrix(&t, 4, 5) : matrix(&t, 5, 4);
    check(&t, ath_matmul(t.graph, a, b, ta, tb), NULL);
  }
  trial t = begin(44);
  ath_value a = operand(&t, ath_type_make(ATH_F32, 3, 2, 3, 5));
  check(&t, ath_matmul(t.graph, a, matrix(&t, 5, 4), false, false), NULL);
  t = begin(45);
  a = operand(&t, ath_type_make(ATH_F32, 3, 2, 3, 5));
  ath_value b = operand(&t, ath_type_make(ATH_F32, 3, 3, 2, 4));
  check(&t, ath_matmul(t.graph, a, b, true, false), NULL);
}

static void linear_with_and_without_bias(void **state) {
  (void)state;
  trial t = begin(50);
  ath_value x = operand(&t, ath_type_make(ATH_F32, 3, 2, 3, 5));
  check(&t, ath_linear(t.graph, x, matrix(&t, 4, 5), vector(&t, 4)), NULL);
  t = begin(51);
  x = matrix(&t, 6, 5);
  check(&t, ath_linear(t.graph, x, matrix(&t, 4, 5), ATH_NO_VALUE), NULL);
}

static void set_ids(interpreter *run) {
  const int32_t ids[6] = {0, 4, 4, 1, 2, 4};
  memcpy(value_memory(run, 1), ids, sizeof ids);
}

static void embedding_adds_up_the_rows_of_equal_ids(void **state) {
  (void)state;
  trial t = begin(60);
  ath_value table = matrix(&t, 5, 3);
  ath_value ids = ath_graph_input(t.graph, "ids", ath_type_make(ATH_I32, 2, 2, 3));
  assert_int_equal(ids, 1);
  check(&t, ath_embedding(t.graph, table, ids, -1), set_ids);
}

static void the_padding_row_of_an_embedding_gets_no_gradient(void **state) {
  (void)state;
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  ath_value table = ath_graph_variable(g, "table", ath_type_make(ATH_F32, 2, 5, 2)), gradient;
  ath_value ids = ath_graph_input(g, "ids", ath_type_make(ATH_I32, 1, 6));
  ath_value loss = ath_reduce_sum(g, ath_embedding(g, table, ids, 4));
  assert_ok(ath_graph_gradients(g, loss, &table, 1, &gradient));
  interpreter run = interpreter_make(g);
  memset(value_memory(&run, table), 0, 40);
  set_ids(&run);
  assert_ok(interpreter_run(&run));
  const float expected[10] = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
  assert_memory_equal(value_memory(&run, gradient), expected, sizeof expected);
  interpreter_free(&run);
  ath_graph_destroy(g);
}

static void layer_norm_of_rows(void **state) {
  (void)state;
  trial t = begin(70);
  ath_value x = operand(&t, ath_type_make(ATH_F32, 3, 2, 3, 8));
  check(&t, ath_layer_norm(t.graph, ath_scale(t.graph, x, 2), vector(&t, 8), vector(&t, 8),
                           1e-5f), NULL);
}

/* The step of dropout is a value of the graph like any other. */
static ath_value step_value;
static void set_step(interpreter *run) { *(uint32_t *)value_memory(run, step_value) = 17; }

static ath_dropout_place place_in(ath_graph *g, float rate, uint32_t site) {
  step_value = ath_graph_input(g, "step", ath_type_make(ATH_U32, 0));
  return (ath_dropout_place){.rate = rate, .seed = 99, .site = site, .step = step_value};
}

static void dropout_passes_gradients_through_its_own_mask(void **state) {
  (void)state;
  trial t = begin(71);
  ath_value x = matrix(&t, 6, 9);
  check(&t, ath_dropout(t.graph, x, place_in(t.graph, 0.4f, 2)), set_step);
}

static void residual_norm_in_all_its_forms(void **state) {
  (void)state;
  for (int form = 0; form < 4; form++) {
    trial t = begin(80 + (uint64_t)form);
    ath_value x = matrix(&t, 6, 8), residual = matrix(&t, 6, 8);
    ath_value gamma = vector(&t, 8), beta = vector(&t, 8);
    ath_value bias = form & 1 ? vector(&t, 8) : ATH_NO_VALUE;
    ath_dropout_place place = {.step = ATH_NO_VALUE};
    if (form & 2) place = place_in(t.graph, 0.3f, 3);
    check(&t, ath_residual_norm(t.graph, x, bias, residual, gamma, beta, 1e-5f, place),
          form & 2 ? set_step : NULL);
  }
}

static ath_value mask_value;
static void set_mask(interpreter *run) {
  const int32_t mask[10] = {1, 1, 1, 0, 1, /* the second sample */ 1, 0, 1, 1, 0};
  memcpy(value_memory(run, mask_value), mask, sizeof mask);
  if (step_value != ATH_NO_VALUE) set_step(run);
}

static void attention_with_mask_and_dropout(void **state) {
  (void)state;
  for (int dropout = 0; dropout < 2; dropout++) {
    trial t = begin(90 + (uint64_t)dropout);
    ath_value qkv = operand(&t, ath_type_make(ATH_F32, 3, 2, 5, 24));
    mask_value = ath_graph_input(t.graph, "mask", ath_type_make(ATH_I32, 2, 2, 5));
    step_value = ATH_NO_VALUE;
    ath_dropout_place place = {.step = ATH_NO_VALUE};
    if (dropout) place = place_in(t.graph, 0.25f, 4);
    check(&t, ath_attention(t.graph, ath_scale(t.graph, qkv, 2), mask_value, 2, place), set_mask);
  }
}

static ath_value label_value, weight_value;
static void set_labels(interpreter *run) {
  memcpy(value_memory(run, label_value), (int32_t[]){2, 0, 6, -100}, 16);
  memcpy(value_memory(run, weight_value), (float[]){1, 0.5f, 2, 0}, 16);
}

static void cross_entropy_of_weighted_rows(void **state) {
  (void)state;
  trial t = begin(100);
  ath_value logits = matrix(&t, 4, 7);
  label_value = ath_graph_input(t.graph, "labels", ath_type_make(ATH_I32, 1, 4));
  weight_value = ath_graph_input(t.graph, "weights", ath_type_make(ATH_F32, 1, 4));
  ath_cross_entropy_result result =
      ath_cross_entropy(t.graph, logits, label_value, weight_value);
  check(&t, result.loss, set_labels);
}

static void an_operation_without_gradient_is_named(void **state) {
  (void)state;
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  ath_value x = ath_graph_variable(g, "x", ath_type_make(ATH_F32, 1, 3)), gradient;
  ath_value divisor = ath_graph_constant(g, ath_type_make(ATH_F32, 0), 1);
  ath_graph_set_scope(g, "optimiser");
  ath_value scale = ath_clip(g, ath_sum_of_squares(g, &x, 1), divisor, 1).scale;
  assert_fails(ath_graph_gradients(g, scale, &x, 1, &gradient), ATH_UNSUPPORTED,
               "optimiser/clip: the operation clip has no gradient");
  ath_graph_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(add_and_its_repeated_operand),
    cmocka_unit_test(multiply_and_its_repeated_operand),
    cmocka_unit_test(scale_reshape_and_sums),
    cmocka_unit_test(every_kind_of_activation),
    cmocka_unit_test(the_slope_of_relu_is_0_or_1),
    cmocka_unit_test(matrix_products_in_all_four_forms),
    cmocka_unit_test(linear_with_and_without_bias),
    cmocka_unit_test(embedding_adds_up_the_rows_of_equal_ids),
    cmocka_unit_test(the_padding_row_of_an_embedding_gets_no_gradient),
    cmocka_unit_test(layer_norm_of_rows),
    cmocka_unit_test(dropout_passes_gradients_through_its_own_mask),
    cmocka_unit_test(residual_norm_in_all_its_forms),
    cmocka_unit_test(attention_with_mask_and_dropout),
    cmocka_unit_test(cross_entropy_of_weighted_rows),
    cmocka_unit_test(an_operation_without_gradient_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
