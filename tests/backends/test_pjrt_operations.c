/* test_pjrt_operations.c: every operation, forward and gradient, on random shapes: the embedded
 * engine and XLA on every CPU plugin agree, in f32 and in bf16. */
#include <math.h>

#include "athanor/backend.h"
#include "base/bf16.h"
#include "interpreter.h"
#include "pjrt_testing.h"

/* In f32 the engines differ by the order of sums and the last digits of exp, tanh and erf. In bf16
 * XLA's results are held against the embedded engine's f32 ones from inputs that bf16 can hold:
 * what differs is rounding to 8 bits, once or a few times over. Both are relative to the largest
 * element of the tensor. */
static const double F32_TOLERANCE = 1e-5, BF16_TOLERANCE = 0x1p-6;

enum { MAX_OPERANDS = 12 };

static ath_backend *cpu, *xla;
static int plugin_now; /* each plugin has shapes of its own, and of four forms two opposite ones */

typedef struct operand {
  char name[16];
  ath_type type;
  void *data;
  ath_value value;
  bool wants_gradient;
} operand;

/* Two graphs of the same operands: the embedded engine's in f32, XLA's in f32 or bf16. */
typedef struct trial {
  ath_graph *graph;
  bool half;         /* matrices and activations are bf16 in this graph */
  bool round_inputs; /* the numbers are such that bf16 can hold them */
  operand operands[MAX_OPERANDS];
  int count;
  numbers numbers;
} trial;

typedef ath_value (*build)(trial *self);

static operand *add_operand(trial *self, ath_type type) {
  assert_true(self->count < MAX_OPERANDS);
  operand *o = &self->operands[self->count];
  *o = (operand){.type = type, .data = calloc(ath_type_bytes(&type) + 1, 1)};
  snprintf(o->name, sizeof o->name, "x%d", self->count++);
  o->value = ath_graph_input(self->graph, o->name, type);
  return o;
}

static ath_value floats(trial *self, ath_type type, bool may_be_half) {
  operand *o = add_operand(self, type);
  o->wants_gradient = true;
  float *data = o->data;
  fill_numbers(&self->numbers, data, ath_type_count(&type));
  for (int64_t i = 0; i < ath_type_count(&type); i++)
    if (self->round_inputs) data[i] = ath_bf16_to_float(ath_bf16_from_float(data[i]));
  return may_be_half && self->half ? ath_convert(self->graph, o->value, ATH_BF16) : o->value;
}

/* Tensors take the graph's element type; vectors per column are f32 always. */
static ath_value tensor(trial *self, ath_type type) { return floats(self, type, true); }
static ath_value matrix(trial *self, int rows, int columns) {
  return tensor(self, ath_type_make(ATH_F32, 2, rows, columns));
}
static ath_value vector(trial *self, int n) {
  return floats(self, ath_type_make(ATH_F32, 1, n), false);
}

static ath_value integers(trial *self, ath_type type, int below) {
  operand *o = add_operand(self, type);
  for (int64_t i = 0; i < ath_type_count(&type); i++)
    ((int32_t *)o->data)[i] = next_below(&self->numbers, below);
  return o->value;
}

static ath_dropout_place place(trial *self, float rate) {
  operand *o = add_operand(self, ath_type_make(ATH_U32, 0));
  *(uint32_t *)o->data = next_bits(&self->numbers) * 2 + 1;
  return (ath_dropout_place){.rate = rate, .step = o->value, .site = next_bits(&self->numbers),
                             .seed = (uint64_t)next_bits(&self->numbers) << 32 | 77};
}

/* A size in 1 … most. */
static int size(trial *self, int most) { return 1 + next_below(&self->numbers, most); }

/* --- running ------------------------------------------------------------------------ */

typedef struct results {
  float *values[MAX_OPERANDS + 1]; /* y, then the gradients of those operands that have one */
  int64_t counts[MAX_OPERANDS + 1];
  int count;
} results;

static const char *output_name(int i) {
  static char name[16];
  snprintf(name, sizeof name, "out%d", i);
  return name;
}

/* Adds y and d Σ r y by every float operand to the graph's outputs, with room for their values. */
static results ask(trial *self, ath_value y) {
  ath_graph *g = self->graph;
  y = ath_convert(g, y, ATH_F32);
  operand *weights = add_operand(self, ath_graph_type(g, y));
  fill_numbers(&self->numbers, weights->data, ath_type_count(&weights->type));
  ath_value loss = ath_reduce_sum(g, ath_multiply(g, y, weights->value));
  ath_value wrt[MAX_OPERANDS], values[MAX_OPERANDS + 1] = {y};
  results out = {.count = 1};
  for (int i = 0; i < self->count; i++)
    if (self->operands[i].wants_gradient) wrt[out.count++ - 1] = self->operands[i].value;
  assert_ok(ath_graph_status(g));
  assert_ok(ath_graph_gradients(g, loss, wrt, (size_t)out.count - 1, values + 1));
  for (int i = 0; i < out.count; i++) {
    ath_graph_output(g, output_name(i), values[i]);
    out.counts[i] = value_elements(g, values[i]);
    out.values[i] = calloc((size_t)out.counts[i], sizeof(float));
  }
  return out;
}

static results run(trial *self, ath_value y, ath_backend *backend) {
  results out = ask(self, y);
  ath_state *state;
  ath_program *program;
  assert_ok(ath_state_create(backend, &state));
  assert_ok(ath_program_create(self->graph, state, &program));
  for (int i = 0; i < self->count; i++) {
    operand *o = &self->operands[i];
    ath_status status = ath_program_set_input(program, o->name, o->data);
    assert_true(status == ATH_OK || status == ATH_NOT_FOUND); /* not all are read */
  }
  assert_ok(ath_program_run(program));
  for (int i = 0; i < out.count; i++)
    assert_ok(ath_program_get_output(program, output_name(i), out.values[i]));
  ath_program_destroy(program);
  ath_state_destroy(state);
  return out;
}

static void free_trial(trial *self, results *its) {
  for (int i = 0; i < self->count; i++) free(self->operands[i].data);
  for (int i = 0; i < its->count; i++) free(its->values[i]);
  ath_graph_destroy(self->graph);
}

static void compare(const results *ours, const results *theirs, double tolerance,
                    const char *what, uint64_t seed) {
  assert_int_equal(ours->count, theirs->count);
  for (int i = 0; i < ours->count; i++) {
    double largest = 1e-30, worst = 0;
    for (int64_t k = 0; k < ours->counts[i]; k++) {
      double a = (double)ours->values[i][k], b = (double)theirs->values[i][k];
      assert_true(isfinite(a));
      largest = fmax(largest, fabs(a));
      worst = isfinite(b) ? fmax(worst, fabs(a - b)) : (double)INFINITY;
    }
    if (!(worst <= tolerance * largest))
      fail_msg("%s, seed %d, result %d: differs by %g where the largest element is %g", what,
               (int)seed, i, worst, largest);
  }
}

static trial begin(uint64_t seed, bool half, bool round_inputs) {
  trial self = {.half = half, .round_inputs = round_inputs, .numbers = {seed * 1000 + 1}};
  assert_ok(ath_graph_create(&self.graph));
  return self;
}

static void check_within(build make, const char *what, double f32, double bf16) {
  for (int half = 0; half <= (bf16 > 0); half++) {
    uint64_t seed = (uint64_t)(1 + 2 * plugin_now + half);
    trial a = begin(seed, false, half), b = begin(seed, half, half);
    results ours = run(&a, make(&a), cpu), theirs = run(&b, make(&b), xla);
    compare(&ours, &theirs, half ? bf16 : f32, what, seed);
    free_trial(&a, &ours);
    free_trial(&b, &theirs);
  }
}

#define CHECK(make) check_within(make, #make, F32_TOLERANCE, BF16_TOLERANCE)

/* --- elementwise -------------------------------------------------------------------- */

static ath_value add_repeated(trial *t) {
  int n = size(t, 5), rows = size(t, 9), width = size(t, 33);
  ath_value a = tensor(t, ath_type_make(ATH_F32, 3, n, rows, width));
  return ath_add(t->graph, ath_add(t->graph, a, matrix(t, rows, width)),
                 tensor(t, ath_type_make(ATH_F32, 1, width)));
}

static ath_value multiply_repeated(trial *t) {
  int rows = size(t, 9), width = size(t, 33);
  ath_value a = matrix(t, rows, width), b = matrix(t, rows, width);
  ath_value scalar = tensor(t, ath_type_make(ATH_F32, 0));
  return ath_multiply(t->graph, ath_multiply(t->graph, a, b), scalar);
}

static ath_value scale_and_reshape(trial *t) {
  int a = size(t, 7), b = size(t, 7), c = size(t, 7);
  ath_value x = matrix(t, a * b, c);
  ath_type type = ath_type_make(t->half ? ATH_BF16 : ATH_F32, 3, b, c, a);
  return ath_reshape(t->graph, ath_scale(t->graph, x, -1.7f), type);
}

/* One value with two readers: its gradients are added by the graph's own sum. */
static ath_value read_twice(trial *t) {
  ath_value x = matrix(t, size(t, 9), size(t, 9));
  return ath_add(t->graph, ath_activation(t->graph, x, ATH_TANH), ath_scale(t->graph, x, 0.5f));
}

static void elementwise(void **state) {
  (void)state;
  CHECK(add_repeated);
  /* Sums that cancel. */
  check_within(multiply_repeated, "multiply_repeated", F32_TOLERANCE, 0x1p-4);
  CHECK(scale_and_reshape);
  CHECK(read_twice);
}

/* --- activations -------------------------------------------------------------------- */

static ath_activation_kind kind_now;

static ath_value activation(trial *t) {
  ath_value x = ath_scale(t->graph, matrix(t, size(t, 40), size(t, 70)), 6);
  return ath_activation(t->graph, x, kind_now);
}

static ath_value bias_activation(trial *t) {
  int width = size(t, 70);
  ath_value x = tensor(t, ath_type_make(ATH_F32, 3, size(t, 3), size(t, 20), width));
  return ath_bias_activation(t->graph, ath_scale(t->graph, x, 4), vector(t, width), kind_now);
}

/* Where slopes end, and a formula may lose more than the engines' functions do: 1 − tanh² times
 * x³ is off by 4e-6, for XLA's tanh ends at 1 − 1e-7. */
static ath_value activation_of_large_numbers(trial *t) {
  ath_value x = matrix(t, size(t, 9), 60 + size(t, 40));
  return ath_activation(t->graph, ath_scale(t->graph, x, 9), kind_now);
}

static void every_kind_of_activation(void **state) {
  (void)state;
  static const char *const names[] = {"gelu", "gelu_tanh", "relu", "silu", "tanh"};
  for (int kind = ATH_GELU; kind <= ATH_TANH; kind++) {
    kind_now = (ath_activation_kind)kind;
    check_within(activation, names[kind], F32_TOLERANCE, BF16_TOLERANCE);
    if (kind % CPU_PLUGINS != plugin_now) continue;
    CHECK(bias_activation);
    check_within(activation_of_large_numbers, names[kind], 1.5e-6, BF16_TOLERANCE);
  }
}

/* --- sums --------------------------------------------------------------------------- */

static ath_value sums(trial *t) {
  ath_value x = tensor(t, ath_type_make(ATH_F32, 3, size(t, 4), size(t, 60), size(t, 70)));
  ath_value rows = ath_reduce_rows(t->graph, ath_multiply(t->graph, x, x));
  return ath_multiply(t->graph, rows, ath_reduce_sum(t->graph, ath_multiply(t->graph, x, x)));
}

static ath_value squares(trial *t) {
  ath_value values[3] = {matrix(t, size(t, 50), size(t, 50)), vector(t, size(t, 99)),
                         tensor(t, ath_type_make(ATH_F32, 0))};
  return ath_sum_of_squares(t->graph, values, 3);
}

/* Long enough that a single running sum in f32 would be off by more than the tolerance. */
static ath_value long_sum(trial *t) {
  ath_value x = matrix(t, 1500, 1024);
  return ath_sum_of_squares(t->graph, &x, 1);
}

static void sums_of_rows_of_all_and_of_squares(void **state) {
  (void)state;
  CHECK(sums);
  CHECK(squares);
  check_within(long_sum, "long_sum", F32_TOLERANCE, 0);
}

/* --- products ----------------------------------------------------------------------- */

static int form_now;

static ath_value matmul(trial *t) {
  bool ta = form_now & 1, tb = form_now & 2;
  int m = size(t, 40), n = size(t, 40), k = size(t, 60), lead = size(t, 3);
  ath_value a = ta ? matrix(t, k, m) : tensor(t, ath_type_make(ATH_F32, 3, lead, m, k));
  ath_value b = tb ? matrix(t, n, k) : matrix(t, k, n);
  return ath_matmul(t->graph, a, b, ta, tb);
}

/* What a weight's gradient is: the leading dimensions of both are summed over. */
static ath_value matmul_over_rows(trial *t) {
  int lead = size(t, 4), rows = size(t, 9);
  ath_value a = tensor(t, ath_type_make(ATH_F32, 3, lead, rows, size(t, 30)));
  ath_value b = tensor(t, ath_type_make(ATH_F32, 3, rows, lead, size(t, 30)));
  return ath_matmul(t->graph, a, b, true, false);
}

static ath_value linear(trial *t) {
  int in = size(t, 60), out = size(t, 60);
  ath_value x = tensor(t, ath_type_make(ATH_F32, 3, size(t, 4), size(t, 20), in));
  ath_value y = ath_linear(t->graph, x, matrix(t, out, in), vector(t, out));
  return ath_linear(t->graph, y, matrix(t, size(t, 20), out), ATH_NO_VALUE);
}

static void products(void **state) {
  (void)state;
  for (form_now = 0; form_now < 4; form_now++) CHECK(matmul);
  CHECK(matmul_over_rows);
  CHECK(linear);
}

/* --- norms -------------------------------------------------------------------------- */

/* Far from 0, where Σ x² − (Σ x)² would cancel. */
static float offset_now;

static ath_value layer_norm(trial *t) {
  int width = 2 + size(t, 130);
  ath_value x = tensor(t, ath_type_make(ATH_F32, 3, size(t, 4), size(t, 20), width));
  ath_value offset = ath_graph_constant(
      t->graph, (ath_type){.dtype = t->half ? ATH_BF16 : ATH_F32}, (double)offset_now);
  return ath_layer_norm(t->graph, ath_add(t->graph, x, offset), vector(t, width),
                        vector(t, width), 1e-5f);
}

static ath_value layer_norm_of_a_vector(trial *t) {
  int width = 2 + size(t, 130);
  ath_value x = tensor(t, ath_type_make(ATH_F32, 1, width));
  return ath_layer_norm(t->graph, x, vector(t, width), vector(t, width), 1e-5f);
}

static bool with_bias, with_dropout;

static ath_value residual_norm(trial *t) {
  int rows = size(t, 40), width = 2 + size(t, 130);
  ath_value x = matrix(t, rows, width), residual = matrix(t, rows, width);
  ath_value bias = with_bias ? vector(t, width) : ATH_NO_VALUE;
  ath_dropout_place dropout = place(t, with_dropout ? 0.3f : 0);
  return ath_residual_norm(t->graph, x, bias, residual, vector(t, width), vector(t, width), 1e-5f,
                           dropout);
}

static void norms(void **state) {
  (void)state;
  offset_now = 0;
  CHECK(layer_norm);
  CHECK(layer_norm_of_a_vector);
  offset_now = 64;
  check_within(layer_norm, "layer_norm far from 0", F32_TOLERANCE, 0);
  for (int i = 0; i < 2; i++) {
    int form = i == 0 ? plugin_now : 3 ^ plugin_now;
    with_bias = form & 1;
    with_dropout = form & 2;
    CHECK(residual_norm);
  }
}

/* --- embedding ---------------------------------------------------------------------- */

static int rows_now, padding_now;

static ath_value embedding(trial *t) {
  ath_value table = matrix(t, rows_now, size(t, 40));
  ath_value ids = integers(t, ath_type_make(ATH_I32, 2, size(t, 5), size(t, 30)), rows_now);
  ((int32_t *)t->operands[t->count - 1].data)[0] = padding_now >= 0 ? padding_now : 0;
  return ath_embedding(t->graph, table, ids, padding_now);
}

/* Few rows: the gradient is a product; many: a scatter. */
static void embedding_with_and_without_padding(void **state) {
  (void)state;
  const int cases[4][2] = {{1, -1}, {7, 1}, {1024, -1}, {1025, 1}};
  for (int i = 0; i < 4; i++) {
    rows_now = cases[i][0];
    padding_now = cases[i][1];
    CHECK(embedding);
  }
}

/* --- dropout ------------------------------------------------------------------------ */

static ath_value dropout(trial *t) {
  int a = size(t, 3), b = size(t, 5), c = size(t, 9);
  ath_value x = tensor(t, ath_type_make(ATH_F32, 4, a, b, c, size(t, 70)));
  return ath_dropout(t->graph, x, place(t, 0.25f));
}

static void dropout_and_its_gradient(void **state) {
  (void)state;
  check_within(dropout, "dropout", 0, BF16_TOLERANCE); /* f32: equal to the last bit */
}

/* --- attention ---------------------------------------------------------------------- */

static float rate_now;
static int keyless; /* so many batch rows whose keys are all hidden */
static bool long_key; /* one that is hidden, but makes the bound of the scores large */

static ath_value attention(trial *t) {
  int heads = size(t, 4), head_size = size(t, 24), batch = 1 + size(t, 3), length = size(t, 40);
  ath_value x = tensor(t, ath_type_make(ATH_F32, 3, batch, length, 3 * heads * head_size));
  ath_value mask = integers(t, ath_type_make(ATH_I32, 2, batch, length), 3);
  int32_t *keys = t->operands[t->count - 1].data;
  for (int i = keyless * length; i < batch * length; i += length) keys[i] = 1;
  memset(keys, 0, (size_t)(keyless * length) * sizeof *keys);
  if (long_key && length > 1) {
    int hidden = heads * head_size;
    float *key = (float *)t->operands[t->count - 2].data + (length - 1) * 3 * hidden + hidden;
    for (int c = 0; c < hidden; c++) key[c] = 1000;
    keys[length - 1] = 0;
  }
  return ath_attention(t->graph, ath_scale(t->graph, x, 2), mask, heads, place(t, rate_now));
}

/* All scores are 50: their exponentials are far from too large, but gradients as tiny as these,
 * divided by the sum of them, would be lost. */
static ath_value attention_of_high_scores(trial *t) {
  int heads = size(t, 4), head_size = size(t, 24), length = size(t, 40);
  int hidden = heads * head_size;
  ath_value x = tensor(t, ath_type_make(ATH_F32, 3, 1, length, 3 * hidden));
  float *element = t->operands[t->count - 1].data;
  for (int i = 0; i < length * 3 * hidden; i++)
    if (i % (3 * hidden) < 2 * hidden) element[i] = (float)sqrt(50 / sqrt((double)head_size));
  ath_value mask = integers(t, ath_type_make(ATH_I32, 2, 1, length), 1);
  int32_t *keys = t->operands[t->count - 1].data;
  for (int i = 0; i < length; i++) keys[i] = 1;
  return ath_scale(t->graph, ath_attention(t->graph, x, mask, heads, place(t, 0.2f)), 1e-10f);
}

static void attention_of_high_scores_keeps_tiny_gradients(void **state) {
  (void)state;
  CHECK(attention_of_high_scores);
}

static void attention_with_hidden_keys_and_dropout(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    int form = i == 0 ? plugin_now : 3 ^ plugin_now;
    keyless = form & 1;
    rate_now = form & 2 ? 0.2f : 0;
    long_key = i > 0;
    CHECK(attention);
  }
}

/* --- loss --------------------------------------------------------------------------- */

static int part_now; /* 0: the loss; 1: the sum of weights; 2: of those whose label is best */

/* Logits of few different values have ties. Every third row counts for nothing, and its label is no
 * class at all. */
static ath_value cross_entropy(trial *t) {
  int rows = 2 + size(t, 40), classes = 2 + size(t, part_now == 2 ? 3 : 99);
  ath_value logits = ath_scale(t->graph, matrix(t, rows, classes), 4);
  float *logit = t->operands[t->count - 1].data;
  for (int i = 0; part_now == 2 && i < rows * classes; i++) logit[i] = rintf(logit[i]);
  ath_value labels = integers(t, ath_type_make(ATH_I32, 1, rows), classes);
  ath_value weights = vector(t, rows);
  t->operands[t->count - 1].wants_gradient = false;
  int32_t *label = t->operands[t->count - 2].data;
  float *weight = t->operands[t->count - 1].data;
  for (int i = 0; i < rows; i += 3) {
    weight[i] = 0;
    label[i] = i % 2 ? INT32_MIN : INT32_MAX;
  }
  ath_cross_entropy_result result = ath_cross_entropy(t->graph, logits, labels, weights);
  const ath_value parts[3] = {result.loss, result.weight, result.correct};
  return parts[part_now];
}

static void cross_entropy_of_rows_that_count(void **state) {
  (void)state;
  for (part_now = 0; part_now < 3; part_now++) CHECK(cross_entropy);
}

/* --- optimiser ---------------------------------------------------------------------- */

enum { WEIGHTS = 37, VALUES = 2 + 3 * WEIGHTS };

/* Sums of squares and divisors, in turn: a usual step, nothing scored, no gradient, sums that have
 * overflowed or are no number. */
static const float clip_cases[][2] = {{9, 4}, {400, 4}, {9, 0}, {0, 7}, {INFINITY, 7}, {NAN, 7}};
enum { CLIP_CASES = sizeof clip_cases / sizeof *clip_cases };

typedef struct optimiser_inputs {
  float squares, divisor, rate, correction1, correction2, gradient[WEIGHTS];
} optimiser_inputs;

/* Clipping and AdamW of one parameter. */
static ath_graph *optimiser_graph(float max_norm) {
  const ath_type scalar = {.dtype = ATH_F32}, row = ath_type_make(ATH_F32, 1, WEIGHTS);
  const ath_adamw_options options = {0.9f, 0.98f, 1e-6f, 0.1f};
  ath_graph *g;
  assert_ok(ath_graph_create(&g));
  ath_value squares = ath_graph_input(g, "squares", scalar);
  ath_clip_result clip = ath_clip(g, squares, ath_graph_input(g, "divisor", scalar), max_norm);
  ath_value p = ath_graph_variable(g, "p", row), m = ath_graph_variable(g, "m", row);
  ath_value v = ath_graph_variable(g, "v", row), gradient = ath_graph_input(g, "gradient", row);
  ath_adamw_scalars scalars = {ath_graph_input(g, "rate", scalar),
                               ath_graph_input(g, "correction1", scalar),
                               ath_graph_input(g, "correction2", scalar), clip.scale};
  ath_adamw(g, p, m, v, gradient, scalars, options);
  ath_graph_output(g, "scale", clip.scale);
  ath_graph_output(g, "norm", clip.norm);
  assert_ok(ath_graph_status(g));
  return g;
}

static void set_inputs(ath_program *program, const optimiser_inputs *in) {
  assert_ok(ath_program_set_input(program, "squares", &in->squares));
  assert_ok(ath_program_set_input(program, "divisor", &in->divisor));
  assert_ok(ath_program_set_input(program, "rate", &in->rate));
  assert_ok(ath_program_set_input(program, "correction1", &in->correction1));
  assert_ok(ath_program_set_input(program, "correction2", &in->correction2));
  assert_ok(ath_program_set_input(program, "gradient", in->gradient));
}

/* One step for each case; after each: scale, norm, p, m, v. */
static void optimise(ath_backend *backend, float max_norm, float out[CLIP_CASES][VALUES]) {
  ath_graph *g = optimiser_graph(max_norm);
  numbers random = {3};
  optimiser_inputs in = {.rate = 0.01f};
  ath_state *state;
  ath_program *program;
  assert_ok(ath_state_create(backend, &state));
  assert_ok(ath_program_create(g, state, &program));
  for (int i = 0; i < CLIP_CASES; i++) {
    in.squares = clip_cases[i][0];
    in.divisor = clip_cases[i][1];
    in.correction1 = 1 - powf(0.9f, (float)(i + 1));
    in.correction2 = 1 - powf(0.98f, (float)(i + 1));
    fill_numbers(&random, in.gradient, WEIGHTS);
    set_inputs(program, &in);
    assert_ok(ath_program_run(program));
    assert_ok(ath_program_get_output(program, "scale", &out[i][0]));
    assert_ok(ath_program_get_output(program, "norm", &out[i][1]));
    const char *const names[3] = {"p", "m", "v"};
    for (int k = 0; k < 3; k++)
      assert_ok(ath_state_read(state, names[k], &out[i][2 + k * WEIGHTS],
                               WEIGHTS * sizeof(float)));
  }
  ath_program_destroy(program);
  ath_state_destroy(state);
  ath_graph_destroy(g);
}

static void clipping_and_adamw_step_by_step(void **state) {
  (void)state;
  static float ours[CLIP_CASES][VALUES], theirs[CLIP_CASES][VALUES];
  for (int limited = 0; limited < 2; limited++) {
    optimise(cpu, limited ? 1 : 0, ours);
    optimise(xla, limited ? 1 : 0, theirs);
    assert_true(isnan(ours[CLIP_CASES - 1][0])); /* the last case spoils everything */
    for (int i = 0; i < CLIP_CASES; i++)
      for (int k = 0; k < VALUES; k++) {
        double a = (double)ours[i][k], b = (double)theirs[i][k];
        if ((isnan(a) && isnan(b)) || a == b) continue;
        assert_near(b, a, 1e-8, F32_TOLERANCE);
      }
  }
}

/* --- with every plugin -------------------------------------------------------------- */

static int open_engines(void **state) {
  (void)state;
  assert_ok(ath_backend_open("cpu", &cpu));
  assert_ok(ath_backend_open(cpu_plugins[plugin_now], &xla));
  return 0;
}

static int close_engines(void **state) {
  (void)state;
  ath_backend_close(xla);
  ath_backend_close(cpu);
  return 0;
}

static int run_all(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(elementwise),
    cmocka_unit_test(every_kind_of_activation),
    cmocka_unit_test(sums_of_rows_of_all_and_of_squares),
    cmocka_unit_test(products),
    cmocka_unit_test(norms),
    cmocka_unit_test(embedding_with_and_without_padding),
    cmocka_unit_test(dropout_and_its_gradient),
    cmocka_unit_test(attention_with_hidden_keys_and_dropout),
    cmocka_unit_test(attention_of_high_scores_keeps_tiny_gradients),
    cmocka_unit_test(cross_entropy_of_rows_that_count),
    cmocka_unit_test(clipping_and_adamw_step_by_step),
  };
  return cmocka_run_group_tests_name(cpu_plugins[plugin_now], tests, open_engines, close_engines);
}

int main(void) {
  int failures = 0;
  setenv("ATHANOR_COMPILE_CACHE", "off", 1);
  for (plugin_now = 0; plugin_now < CPU_PLUGINS; plugin_now++)
    if (have_plugin(cpu_plugins[plugin_now])) failures += run_all();
  return failures;
}
