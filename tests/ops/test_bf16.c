/* test_bf16.c: every operation in bf16: the element types of its results and gradients, and its
 * numbers beside those of f32. */
#include <math.h>

#include "interpreter.h"

enum { MAX_OPERANDS = 6, ROWS = 6, COLUMNS = 8, HEADS = 2, LENGTH = 5, CLASSES = 7 };

/* A graph with one operation in it. Operands are f32 variables, of which all but vectors per
 * column reach the operation in the type under test. */
typedef struct trial {
  ath_graph *graph;
  ath_dtype dtype;
  ath_value operands[MAX_OPERANDS];
  int count;
  ath_value ids, labels, weights, mask, step; /* made when first asked for */
} trial;

static ath_value vector(trial *t, int n) {
  char name[16];
  snprintf(name, sizeof name, "x%d", t->count);
  assert_true(t->count < MAX_OPERANDS);
  return t->operands[t->count++] =
             ath_graph_variable(t->graph, name, ath_type_make(ATH_F32, 1, n));
}

static ath_value tensor(trial *t, ath_type type) {
  int n = (int)ath_type_count(&type);
  return ath_convert(t->graph, ath_reshape(t->graph, vector(t, n), type), t->dtype);
}

static ath_value matrix(trial *t, int rows, int columns) {
  return tensor(t, ath_type_make(ATH_F32, 2, rows, columns));
}

static ath_dropout_place dropout(trial *t) {
  t->step = ath_graph_input(t->graph, "step", ath_type_make(ATH_U32, 0));
  return (ath_dropout_place){.rate = 0.3f, .seed = 5, .site = 2, .step = t->step};
}

/* --- the operations ----------------------------------------------------------------------- */

static ath_value add_repeated(trial *t) {
  ath_value x = matrix(t, ROWS, COLUMNS);
  return ath_add(t->graph, x, tensor(t, ath_type_make(ATH_F32, 1, COLUMNS)));
}
static ath_value multiply_repeated(trial *t) {
  ath_value x = matrix(t, ROWS, COLUMNS);
  return ath_multiply(t->graph, x, tensor(t, ath_type_make(ATH_F32, 1, COLUMNS)));
}
static ath_value scale(trial *t) { return ath_scale(t->graph, matrix(t, ROWS, COLUMNS), 0.7f); }
static ath_value gelu(trial *t) {
  return ath_activation(t->graph, matrix(t, ROWS, COLUMNS), ATH_GELU);
}
static ath_value dropped(trial *t) {
  return ath_dropout(t->graph, matrix(t, ROWS, COLUMNS), dropout(t));
}
static ath_value sum(trial *t) { return ath_reduce_sum(t->graph, matrix(t, ROWS, COLUMNS)); }
static ath_value row_sums(trial *t) { return ath_reduce_rows(t->graph, matrix(t, ROWS, COLUMNS)); }
static ath_value squares(trial *t) {
  ath_value values[2] = {matrix(t, ROWS, COLUMNS), matrix(t, 2, 3)};
  return ath_sum_of_squares(t->graph, values, 2);
}
static ath_value matmul(trial *t) {
  ath_value a = matrix(t, COLUMNS, ROWS);
  return ath_matmul(t->graph, a, matrix(t, CLASSES, COLUMNS), true, true);
}
static ath_value linear(trial *t) {
  ath_value x = tensor(t, ath_type_make(ATH_F32, 3, 2, ROWS, COLUMNS));
  ath_value w = matrix(t, CLASSES, COLUMNS);
  return ath_linear(t->graph, x, w, vector(t, CLASSES));
}
static ath_value embedding(trial *t) {
  t->ids = ath_graph_input(t->graph, "ids", ath_type_make(ATH_I32, 1, 4));
  return ath_embedding(t->graph, matrix(t, ROWS, COLUMNS), t->ids, -1);
}
static ath_value layer_norm(trial *t) {
  ath_value x = matrix(t, ROWS, COLUMNS), gamma = vector(t, COLUMNS);
  return ath_layer_norm(t->graph, x, gamma, vector(t, COLUMNS), 1e-5f);
}
static ath_value residual_norm(trial *t) {
  ath_value x = matrix(t, ROWS, COLUMNS), residual = matrix(t, ROWS, COLUMNS);
  ath_value bias = vector(t, COLUMNS), gamma = vector(t, COLUMNS), beta = vector(t, COLUMNS);
  return ath_residual_norm(t->graph, x, bias, residual, gamma, beta, 1e-5f, dropout(t));
}
static ath_value bias_activation(trial *t) {
  ath_value x = matrix(t, ROWS, COLUMNS);
  return ath_bias_activation(t->graph, x, vector(t, COLUMNS), ATH_GELU_TANH);
}
static ath_value attention(trial *t) {
  t->mask = ath_graph_input(t->graph, "mask", ath_type_make(ATH_I32, 2, 2, LENGTH));
  ath_value qkv = tensor(t, ath_type_make(ATH_F32, 3, 2, LENGTH, 3 * COLUMNS));
  return ath_attention(t->graph, qkv, t->mask, HEADS, dropout(t));
}
static ath_value cross_entropy(trial *t) {
  t->labels = ath_graph_input(t->graph, "labels", ath_type_make(ATH_I32, 1, ROWS));
  t->weights = ath_graph_input(t->graph, "weights", ath_type_make(ATH_F32, 1, ROWS));
  return ath_cross_entropy(t->graph, matrix(t, ROWS, CLASSES), t->labels, t->weights).loss;
}

static const struct operation {
  const char *name;
  ath_value (*build)(trial *t);
  bool sums; /* gives f32 whatever it is given */
} operations[] = {
  {"add", add_repeated, false},
  {"multiply", multiply_repeated, false},
  {"scale", scale, false},
  {"activation", gelu, false},
  {"dropout", dropped, false},
  {"reduce_sum", sum, true},
  {"reduce_rows", row_sums, true},
  {"sum_of_squares", squares, true},
  {"matmul", matmul, false},
  {"linear", linear, false},
  {"embedding", embedding, false},
  {"layer_norm", layer_norm, false},
  {"residual_norm", residual_norm, false},
  {"bias_activation", bias_activation, false},
  {"attention", attention, false},
  {"cross_entropy", cross_entropy, true},
};

/* --- running ------------------------------------------------------------------------------ */

static void set_inputs(const trial *t, interpreter *run, ath_value r) {
  static const int32_t ids[4] = {3, 0, 3, 5}, labels[ROWS] = {0, 6, 2, 2, 5, 1};
  static const int32_t mask[2 * LENGTH] = {1, 1, 0, 1, 1, 1, 1, 1, 1, 0};
  static const float weights[ROWS] = {1, 1, 0, 1, 1, 1};
  numbers source = {77};
  for (int i = 0; i < t->count; i++) {
    float *x = value_memory(run, t->operands[i]);
    int64_t n = value_elements(t->graph, t->operands[i]);
    fill_numbers(&source, x, n);
    for (int64_t k = 0; k < n; k++) x[k] = ath_bf16_to_float(ath_bf16_from_float(x[k]));
  }
  fill_numbers(&source, value_memory(run, r), value_elements(t->graph, r));
  if (t->ids != ATH_NO_VALUE) memcpy(value_memory(run, t->ids), ids, sizeof ids);
  if (t->labels != ATH_NO_VALUE) memcpy(value_memory(run, t->labels), labels, sizeof labels);
  if (t->mask != ATH_NO_VALUE) memcpy(value_memory(run, t->mask), mask, sizeof mask);
  if (t->step != ATH_NO_VALUE) *(uint32_t *)value_memory(run, t->step) = 3;
  if (t->weights != ATH_NO_VALUE) memcpy(value_memory(run, t->weights), weights, sizeof weights);
}

/* The value of the operation as f32, and behind it the gradients of Σ r y for all operands. */
typedef struct outcome {
  float values[1 + MAX_OPERANDS][1024];
  int64_t sizes[1 + MAX_OPERANDS];
  int count;
} outcome;

static void keep(outcome *to, const interpreter *run, ath_value value) {
  assert_int_equal(ath_graph_type(run->graph, value).dtype, ATH_F32);
  to->sizes[to->count] = value_elements(run->graph, value);
  assert_true(to->sizes[to->count] <= 1024);
  memcpy(to->values[to->count++], value_memory(run, value), value_bytes(run->graph, value));
}

static void run_operation(const struct operation *operation, ath_dtype dtype, outcome *out) {
  trial t = {.dtype = dtype, .ids = ATH_NO_VALUE, .labels = ATH_NO_VALUE, .mask = ATH_NO_VALUE,
             .step = ATH_NO_VALUE, .weights = ATH_NO_VALUE};
  ath_value gradients[MAX_OPERANDS];
  assert_ok(ath_graph_create(&t.graph));
  ath_value y = operation->build(&t);
  assert_ok(ath_graph_status(t.graph));
  assert_int_equal(ath_graph_type(t.graph, y).dtype, operation->sums ? ATH_F32 : dtype);
  ath_value wide = ath_convert(t.graph, y, ATH_F32);
  ath_value r = ath_graph_input(t.graph, "r", ath_graph_type(t.graph, wide));
  ath_value loss = ath_reduce_sum(t.graph, ath_multiply(t.graph, wide, r));
  assert_ok(ath_graph_gradients(t.graph, loss, t.operands, (size_t)t.count, gradients));
  interpreter run = interpreter_make(t.graph);
  set_inputs(&t, &run, r);
  assert_ok(interpreter_run(&run));
  *out = (outcome){0};
  keep(out, &run, wide);
  for (int i = 0; i < t.count; i++) keep(out, &run, gradients[i]);
  interpreter_free(&run);
  ath_graph_destroy(t.graph);
}

/* |a − b| / |b| */
static double distance(const float *a, const float *b, int64_t n) {
  double difference = 0, length = 0;
  for (int64_t i = 0; i < n; i++) {
    difference += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    length += (double)b[i] * (double)b[i];
  }
  return sqrt(difference / length);
}

/* A rounding is off by 2^-9 at most; a gradient has gone through a few of them. */
static void values_and_gradients_are_those_of_f32_but_for_rounding(void **state) {
  (void)state;
  static outcome half, whole;
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
    run_operation(&operations[i], ATH_F32, &whole);
    run_operation(&operations[i], ATH_BF16, &half);
    assert_int_equal(half.count, whole.count);
    for (int k = 0; k < whole.count; k++) {
      assert_int_equal(half.sizes[k], whole.sizes[k]);
      double apart = distance(half.values[k], whole.values[k], whole.sizes[k]);
      double allowed = k == 0 ? 0x1p-8 : 0.015;
      if (!(apart <= allowed))
        fail_msg("%s: %s %d is %g apart", operations[i].name, k == 0 ? "value" : "gradient of",
                 k - 1, apart);
    }
  }
}

/* --- shape rules -------------------------------------------------------------------------- */

#define assert_refused(build, text)                         \
  do {                                                      \
    assert_ok(ath_graph_create(&g));                        \
    assert_int_equal((build), ATH_NO_VALUE);                \
    assert_fails(ath_graph_status(g), ATH_INVALID, text);   \
    ath_graph_destroy(g);                                   \
  } while (0)

static ath_value in(ath_graph *g, const char *name, ath_dtype dtype, int rows, int columns) {
  return ath_graph_input(g, name, rows > 0 ? ath_type_make(dtype, 2, rows, columns)
                                           : ath_type_make(dtype, 1, columns));
}

static void mixed_element_types_are_refused_with_both(void **state) {
  (void)state;
  ath_graph *g;
  assert_refused(ath_add(g, in(g, "a", ATH_BF16, 2, 3), in(g, "b", ATH_F32, 2, 3)),
                 "add: b f32[2, 3] cannot be repeated over a bf16[2, 3]");
  assert_refused(ath_matmul(g, in(g, "a", ATH_BF16, 2, 3), in(g, "b", ATH_F32, 3, 2), 0, 0),
                 "a bf16[2, 3] has 3 inner elements, but b f32[3, 2] has 3");
  assert_refused(ath_linear(g, in(g, "x", ATH_BF16, 2, 3), in(g, "w", ATH_F32, 4, 3), -1),
                 "x bf16[2, 3] has 3 columns, but w f32[4, 3] wants 3");
  assert_refused(ath_linear(g, in(g, "x", ATH_BF16, 2, 3), in(g, "w", ATH_BF16, 4, 3),
                            in(g, "bias", ATH_BF16, 0, 4)),
                 "bias is bf16[4], but the result bf16[2, 4] wants f32[4]");
  assert_refused(ath_layer_norm(g, in(g, "x", ATH_BF16, 2, 3), in(g, "gamma", ATH_BF16, 0, 3),
                                in(g, "beta", ATH_F32, 0, 3), 1e-5f),
                 "gamma is bf16[3], but x bf16[2, 3] wants f32[3]");
}

/* A sum with a bf16 vector is no bias: it stays as it is, where the fused form would refuse it. */
static void a_sum_of_bf16_is_not_fused_as_a_bias(void **state) {
  (void)state;
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  ath_value x = ath_add(g, in(g, "x", ATH_BF16, 2, 3), in(g, "b", ATH_BF16, 0, 3));
  ath_graph_output(g, "y", ath_activation(g, x, ATH_GELU));
  assert_ok(ath_graph_fuse(g));
  assert_int_equal(ath_graph_node_count(g), 2);
  ath_graph_destroy(g);
}

static void the_optimiser_takes_f32_alone(void **state) {
  (void)state;
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  ath_type scalar = ath_type_make(ATH_F32, 0);
  ath_value one = ath_graph_constant(g, scalar, 1), p[3];
  for (int i = 0; i < 3; i++) {
    char name[2] = {(char)('p' + i), 0};
    p[i] = ath_graph_variable(g, name, ath_type_make(ATH_BF16, 1, 4));
  }
  ath_adamw(g, p[0], p[1], p[2], p[0], (ath_adamw_scalars){one, one, one, one},
            (ath_adamw_options){0});
  assert_fails(ath_graph_status(g), ATH_INVALID, "the parameter is bf16[4], not f32");
  ath_graph_destroy(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_and_gradients_are_those_of_f32_but_for_rounding),
    cmocka_unit_test(mixed_element_types_are_refused_with_both),
    cmocka_unit_test(a_sum_of_bf16_is_not_fused_as_a_bias),
    cmocka_unit_test(the_optimiser_takes_f32_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
