/* test_values.c: what every operation computes, against formulas written out here in double.
 * Sizes are odd so that vector tails are met. */
#include <math.h>

#include "base/random.h"
#include "interpreter.h"

enum { MAX_VALUES = 16 };

typedef struct trial {
  ath_graph *graph;
  interpreter run;
  numbers dice;
} trial;

static trial begin(void) {
  trial self = {.dice = {77}};
  assert_ok(ath_graph_create(&self.graph));
  return self;
}

static ath_value value(trial *self, const char *name, ath_type type) {
  return ath_graph_input(self->graph, name, type);
}

/* Makes memory and fills every f32 input with numbers. */
static void fill(trial *self) {
  self->run = interpreter_make(self->graph);
  for (size_t v = 0; v < ath_graph_value_count(self->graph); v++)
    if (ath_graph_kind(self->graph, (ath_value)v) != ATH_VALUE_RESULT &&
        ath_graph_type(self->graph, (ath_value)v).dtype == ATH_F32)
      fill_numbers(&self->dice, self->run.memory[v], value_elements(self->graph, (ath_value)v));
}

static float *at(trial *self, ath_value v) { return value_memory(&self->run, v); }

static void end(trial *self) {
  interpreter_free(&self->run);
  ath_graph_destroy(self->graph);
}

#define assert_close(a, b) assert_near((double)(a), (double)(b), 2e-6, 2e-6)

static double activate(double x, int kind) {
  switch (kind) {
    case ATH_GELU: return 0.5 * x * (1 + erf(x / sqrt(2)));
    case ATH_GELU_TANH: return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case ATH_RELU: return x > 0 ? x : 0;
    case ATH_SILU: return x / (1 + exp(-x));
    default: return tanh(x);
  }
}

static void elementwise(void **state) {
  (void)state;
  trial t = begin();
  ath_value a = value(&t, "a", ath_type_make(ATH_F32, 3, 3, 5, 7));
  ath_value b = value(&t, "b", ath_type_make(ATH_F32, 2, 5, 7));
  ath_value bias = value(&t, "bias", ath_type_make(ATH_F32, 1, 7));
  ath_value sum = ath_add(t.graph, a, b), product = ath_multiply(t.graph, a, b);
  ath_value same = ath_graph_sum(t.graph, a, product), scaled = ath_scale(t.graph, a, -1.5f);
  ath_value acts[5], biased[5];
  for (int k = 0; k < 5; k++) {
    acts[k] = ath_activation(t.graph, a, (ath_activation_kind)k);
    biased[k] = ath_bias_activation(t.graph, a, bias, (ath_activation_kind)k);
  }
  fill(&t);
  assert_ok(interpreter_run(&t.run));
  for (int i = 0; i < 105; i++) {
    double x = (double)at(&t, a)[i], y = (double)at(&t, b)[i % 35];
    assert_close(at(&t, sum)[i], x + y);
    assert_close(at(&t, product)[i], x * y);
    assert_close(at(&t, same)[i], x + x * y);
    assert_close(at(&t, scaled)[i], -1.5 * x);
    for (int k = 0; k < 5; k++) {
      assert_close(at(&t, acts[k])[i], activate(x, k));
      assert_close(at(&t, biased[k])[i], activate(x + (double)at(&t, bias)[i % 7], k));
    }
  }
  end(&t);
}

static void sums(void **state) {
  (void)state;
  trial t = begin();
  ath_value x = value(&t, "x", ath_type_make(ATH_F32, 3, 3, 11, 7));
  ath_value y = value(&t, "y", ath_type_make(ATH_F32, 1, 5)), both[2] = {x, y};
  ath_value total = ath_reduce_sum(t.graph, x), rows = ath_reduce_rows(t.graph, x);
  ath_value squares = ath_sum_of_squares(t.graph, both, 2);
  ath_value shape = ath_reshape(t.graph, x, ath_type_make(ATH_F32, 2, 21, 11));
  fill(&t);
  assert_ok(interpreter_run(&t.run));
  double sum = 0, square = 0, column[7] = {0};
  for (int i = 0; i < 231; i++) {
    double v = (double)at(&t, x)[i];
    sum += v, square += v * v, column[i % 7] += v;
  }
  for (int i = 0; i < 5; i++) square += (double)at(&t, y)[i] * (double)at(&t, y)[i];
  assert_close(*at(&t, total), sum);
  assert_close(*at(&t, squares), square);
  for (int c = 0; c < 7; c++) assert_close(at(&t, rows)[c], column[c]);
  assert_memory_equal(at(&t, shape), at(&t, x), 231 * sizeof(float));
  end(&t);
}

static void matrix_products(void **state) {
  (void)state;
  enum { M = 5, N = 9, K = 7 };
  for (int form = 0; form < 4; form++) {
    bool ta = form & 1, tb = form & 2;
    trial t = begin();
    ath_value a = value(&t, "a", ath_type_make(ATH_F32, 2, ta ? K : M, ta ? M : K));
    ath_value b = value(&t, "b", ath_type_make(ATH_F32, 2, tb ? N : K, tb ? K : N));
    ath_value c = ath_matmul(t.graph, a, b, ta, tb);
    fill(&t);
    assert_ok(interpreter_run(&t.run));
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
          sum += (double)at(&t, a)[ta ? k * M + i : i * K + k] *
                 (double)at(&t, b)[tb ? j * K + k : k * N + j];
        assert_close(at(&t, c)[i * N + j], sum);
      }
    end(&t);
  }
}

static void linear(void **state) {
  (void)state;
  trial t = begin();
  ath_value x = value(&t, "x", ath_type_make(ATH_F32, 3, 2, 3, 7));
  ath_value w = value(&t, "w", ath_type_make(ATH_F32, 2, 5, 7));
  ath_value bias = value(&t, "bias", ath_type_make(ATH_F32, 1, 5));
  ath_value y = ath_linear(t.graph, x, w, bias), bare = ath_linear(t.graph, x, w, ATH_NO_VALUE);
  fill(&t);
  assert_ok(interpreter_run(&t.run));
  for (int r = 0; r < 6; r++)
    for (int o = 0; o < 5; o++) {
      double sum = 0;
      for (int i = 0; i < 7; i++)
        sum += (double)at(&t, x)[r * 7 + i] * (double)at(&t, w)[o * 7 + i];
      assert_close(at(&t, bare)[r * 5 + o], sum);
      assert_close(at(&t, y)[r * 5 + o], sum + (double)at(&t, bias)[o]);
    }
  end(&t);
}

/* What dropout multiplies element `index` by, from base/random.h alone. */
static double kept(uint32_t index, ath_dropout_place place, uint32_t step) {
  uint32_t key[2];
  ath_dropout_key(place.seed, step, place.site, key);
  bool keep = ath_dropout_hash(index, key) >= ath_dropout_threshold((double)place.rate);
  return keep ? 1 / (1 - (double)place.rate) : 0;
}

static void dropout_depends_on_seed_step_site_and_index(void **state) {
  (void)state;
  trial t = begin();
  ath_value x = value(&t, "x", ath_type_make(ATH_F32, 2, 40, 25));
  ath_value step = value(&t, "step", ath_type_make(ATH_U32, 0));
  ath_dropout_place place = {.rate = 0.3f, .seed = 12345678901, .site = 6, .step = step};
  ath_value y = ath_dropout(t.graph, x, place);
  fill(&t);
  for (uint32_t s = 1; s <= 3; s++) {
    int zeros = 0;
    *(uint32_t *)at(&t, step) = s;
    assert_ok(interpreter_run(&t.run));
    for (uint32_t i = 0; i < 1000; i++) {
      assert_close(at(&t, y)[i], (double)at(&t, x)[i] * kept(i, place, s));
      zeros += kept(i, place, s) == 0;
    }
    assert_in_range(zeros, 240, 360);
  }
  end(&t);
}

/* A row of one element; some seeds keep it, some do not. */
static void dropout_of_a_scalar(void **state) {
  (void)state;
  int zeros = 0;
  for (uint32_t seed = 0; seed < 20; seed++) {
    trial t = begin();
    ath_value x = value(&t, "x", ath_type_make(ATH_F32, 0));
    ath_value step = value(&t, "step", ath_type_make(ATH_U32, 0));
    ath_dropout_place place = {.rate = 0.5f, .seed = seed, .site = 6, .step = step};
    ath_value y = ath_dropout(t.graph, x, place);
    fill(&t);
    *(uint32_t *)at(&t, step) = 1;
    assert_ok(interpreter_run(&t.run));
    assert_close(at(&t, y)[0], (double)at(&t, x)[0] * kept(0, place, 1));
    zeros += kept(0, place, 1) == 0;
    end(&t);
  }
  assert_in_range(zeros, 1, 19);
}

/* The formulas of ops.h, in double, for rows of `width`. */
static void check_norm(const float *y, const double *z, const float *gamma, const float *beta,
                       int rows, int width, double epsilon) {
  for (int r = 0; r < rows; r++) {
    double mean = 0, variance = 0;
    for (int c = 0; c < width; c++) mean += z[r * width + c] / width;
    for (int c = 0; c < width; c++)
      variance += (z[r * width + c] - mean) * (z[r * width + c] - mean) / width;
    for (int c = 0; c < width; c++)
      assert_near((double)y[r * width + c],
                  (z[r * width + c] - mean) / sqrt(variance + epsilon) * (double)gamma[c] +
                      (double)beta[c], 5e-6, 5e-6);
  }
}

static void norms(void **state) {
  (void)state;
  enum { ROWS = 6, WIDTH = 11 };
  trial t = begin();
  ath_type matrix = ath_type_make(ATH_F32, 2, ROWS, WIDTH), row = ath_type_make(ATH_F32, 1, WIDTH);
  ath_value x = value(&t, "x", matrix), residual = value(&t, "residual", matrix);
  ath_value bias = value(&t, "bias", row), gamma = value(&t, "gamma", row);
  ath_value beta = value(&t, "beta", row), step = value(&t, "step", ath_type_make(ATH_U32, 0));
  ath_dropout_place place = {.rate = 0.4f, .seed = 3, .site = 8, .step = step};
  ath_value plain = ath_layer_norm(t.graph, x, gamma, beta, 1e-3f);
  ath_value fused = ath_residual_norm(t.graph, x, bias, residual, gamma, beta, 1e-3f, place);
  fill(&t);
  *(uint32_t *)at(&t, step) = 9;
  assert_ok(interpreter_run(&t.run));
  double z[ROWS * WIDTH];
  for (int i = 0; i < ROWS * WIDTH; i++) z[i] = (double)at(&t, x)[i];
  check_norm(at(&t, plain), z, at(&t, gamma), at(&t, beta), ROWS, WIDTH, 1e-3);
  for (int i = 0; i < ROWS * WIDTH; i++)
    z[i] = (double)at(&t, residual)[i] +
           (z[i] + (double)at(&t, bias)[i % WIDTH]) * kept((uint32_t)i, place, 9);
  check_norm(at(&t, fused), z, at(&t, gamma), at(&t, beta), ROWS, WIDTH, 1e-3);
  end(&t);
}

/* Chosen rows are masked as in the whole matrix. */
static void chosen_rows_keep_the_masks_of_their_places(void **state) {
  (void)state;
  enum { ROWS = 12, WIDTH = 9, CHOSEN = 6 };
  trial t = begin();
  ath_value x = value(&t, "x", ath_type_make(ATH_F32, 2, ROWS, WIDTH));
  ath_value ids = value(&t, "ids", ath_type_make(ATH_I32, 1, CHOSEN));
  ath_value step = value(&t, "step", ath_type_make(ATH_U32, 0));
  ath_dropout_place place = {.rate = 0.4f, .seed = 3, .site = 8, .step = step};
  ath_value whole = ath_dropout(t.graph, x, place);
  place.by_rows = true;
  place.rows = ids;
  ath_value chosen = ath_dropout(t.graph, ath_choose_rows(t.graph, x, ids, 3), place);
  fill(&t);
  static const int32_t rows[CHOSEN] = {3, 0, 5, 7, 8, 8}; /* two of each four */
  *(uint32_t *)at(&t, step) = 2;
  memcpy(at(&t, ids), rows, sizeof rows);
  assert_ok(interpreter_run(&t.run));
  for (int i = 0; i < CHOSEN; i++)
    assert_memory_equal(at(&t, chosen) + i * WIDTH, at(&t, whole) + rows[i] * WIDTH,
                        WIDTH * sizeof(float));
  end(&t);
}

static void embedding_and_its_bad_id(void **state) {
  (void)state;
  trial t = begin();
  ath_graph_set_scope(t.graph, "embeddings");
  ath_value table = value(&t, "table", ath_type_make(ATH_F32, 2, 4, 3));
  ath_value ids = value(&t, "ids", ath_type_make(ATH_I32, 2, 2, 2));
  ath_value y = ath_embedding(t.graph, table, ids, -1);
  fill(&t);
  int32_t *id = value_memory(&t.run, ids);
  memcpy(id, (int32_t[]){3, 0, 3, 2}, 16);
  assert_ok(interpreter_run(&t.run));
  for (int i = 0; i < 4; i++)
    assert_memory_equal(at(&t, y) + 3 * i, at(&t, table) + 3 * id[i], 12);
  id[2] = 4;
  assert_fails(interpreter_run(&t.run), ATH_INVALID,
               "id 4 at position 2 is not a row of the table, which has 4");
  id[2] = -1;
  assert_fails(interpreter_run(&t.run), ATH_INVALID, "id -1 at position 2");
  end(&t);
}

/* One query's output by the textbook. */
static void attend(const float *qkv, const int32_t *mask, int length, int heads, int size, int b,
                   int h, int q, ath_dropout_place place, uint32_t step, double *out) {
  int hidden = heads * size;
  double scores[16], sum = 0;
  assert_true(length <= 16);
  for (int c = 0; c < size; c++) out[c] = 0;
  for (int k = 0; k < length; k++) {
    const float *query = qkv + (b * length + q) * 3 * hidden + h * size;
    const float *key = qkv + (b * length + k) * 3 * hidden + hidden + h * size;
    double dot = 0;
    for (int c = 0; c < size; c++) dot += (double)query[c] * (double)key[c];
    scores[k] = mask[b * length + k] ? exp(dot / sqrt(size)) : 0;
    sum += scores[k];
  }
  for (int k = 0; k < length && sum > 0; k++) {
    const float *v = qkv + (b * length + k) * 3 * hidden + 2 * hidden + h * size;
    uint32_t index = (uint32_t)(((b * heads + h) * length + q) * length + k);
    double p = scores[k] / sum * (place.rate > 0 ? kept(index, place, step) : 1);
    for (int c = 0; c < size; c++) out[c] += p * (double)v[c];
  }
}

static void attention_masks_drops_and_gives_zeros_without_keys(void **state) {
  (void)state;
  enum { BATCH = 3, LENGTH = 5, HEADS = 2, SIZE = 4, HIDDEN = HEADS * SIZE };
  for (int dropout = 0; dropout < 2; dropout++) {
    trial t = begin();
    ath_value qkv = value(&t, "qkv", ath_type_make(ATH_F32, 3, BATCH, LENGTH, 3 * HIDDEN));
    ath_value mask = value(&t, "mask", ath_type_make(ATH_I32, 2, BATCH, LENGTH));
    ath_value step = value(&t, "step", ath_type_make(ATH_U32, 0));
    ath_dropout_place place = {.rate = dropout ? 0.5f : 0, .seed = 4, .site = 1, .step = step};
    ath_value y = ath_attention(t.graph, qkv, mask, HEADS, place);
    fill(&t);
    *(uint32_t *)at(&t, step) = 2;
    int32_t *keys = value_memory(&t.run, mask);
    for (int i = 0; i < BATCH * LENGTH; i++) keys[i] = i < LENGTH || (i >= 2 * LENGTH && i % 2);
    assert_ok(interpreter_run(&t.run)); /* the second sample has no keys at all */
    for (int b = 0; b < BATCH; b++)
      for (int h = 0; h < HEADS; h++)
        for (int q = 0; q < LENGTH; q++) {
          double out[SIZE];
          attend(at(&t, qkv), keys, LENGTH, HEADS, SIZE, b, h, q, place, 2, out);
          for (int c = 0; c < SIZE; c++)
            assert_close(at(&t, y)[(b * LENGTH + q) * HIDDEN + h * SIZE + c], out[c]);
        }
    end(&t);
  }
}

static void cross_entropy_sums_and_its_bad_label(void **state) {
  (void)state;
  trial t = begin();
  ath_value logits = value(&t, "logits", ath_type_make(ATH_F32, 2, 4, 9));
  ath_value labels = value(&t, "labels", ath_type_make(ATH_I32, 1, 4));
  ath_value weights = value(&t, "weights", ath_type_make(ATH_F32, 1, 4));
  ath_cross_entropy_result result = ath_cross_entropy(t.graph, logits, labels, weights);
  fill(&t);
  int32_t *label = value_memory(&t.run, labels);
  memcpy(label, (int32_t[]){3, -100, 2, 0}, 16);
  memcpy(at(&t, weights), (float[]){1, 0, 0.5f, 2}, 16);
  float *row = at(&t, logits);
  row[2 * 9 + 2] = row[2 * 9 + 7] = 5; /* a tie: the lower id, which is right, wins */
  row[3 * 9 + 0] = -5;                 /* a miss */
  row[0 * 9 + 3] = 1e4f;               /* a hit that overflows a naive softmax */
  assert_ok(interpreter_run(&t.run));
  double loss = 0;
  for (int r = 0; r < 4; r++) {
    double top = -INFINITY, sum = 0, weight = (double)at(&t, weights)[r];
    if (weight == 0) continue;
    for (int c = 0; c < 9; c++) top = fmax(top, (double)row[r * 9 + c]);
    for (int c = 0; c < 9; c++) sum += exp((double)row[r * 9 + c] - top);
    loss += weight * (top + log(sum) - (double)row[r * 9 + label[r]]);
  }
  assert_close(*at(&t, result.loss), loss);
  assert_close(*at(&t, result.weight), 3.5);
  assert_close(*at(&t, result.correct), 1.5);
  label[3] = 9;
  assert_fails(interpreter_run(&t.run), ATH_INVALID,
               "label 9 at position 3 is not one of 9 classes");
  end(&t);
}

/* torch.nn.utils.clip_grad_norm_'s formula. */
static void check_clip(double squares, double divisor, double max_norm, double scale,
                       double norm) {
  trial t = begin();
  ath_value s = value(&t, "s", ath_type_make(ATH_F32, 0));
  ath_value d = value(&t, "d", ath_type_make(ATH_F32, 0));
  ath_clip_result result = ath_clip(t.graph, s, d, (float)max_norm);
  fill(&t);
  *at(&t, s) = (float)squares;
  *at(&t, d) = (float)divisor;
  assert_ok(interpreter_run(&t.run));
  assert_close(*at(&t, result.scale), scale);
  assert_close(*at(&t, result.norm), norm);
  end(&t);
}

static void clipping(void **state) {
  (void)state;
  check_clip(400, 4, 1, 1 / (5 + 1e-6) / 4, 5);  /* norm 5 is cut to 1 */
  check_clip(4, 4, 1, 0.25, 0.5);                /* below the bound */
  check_clip(400, 4, 0, 0.25, 5);                /* no bound */
  check_clip(400, 0, 1, 0, 0);                   /* nothing was scored */
}

static void clipping_does_not_hide_nan(void **state) {
  (void)state;
  trial t = begin();
  ath_value s = value(&t, "s", ath_type_make(ATH_F32, 0));
  ath_clip_result result = ath_clip(t.graph, s, s, 1);
  fill(&t);
  *at(&t, s) = NAN;
  assert_ok(interpreter_run(&t.run));
  assert_true(isnan(*at(&t, result.norm)) && isnan(*at(&t, result.scale)));
  end(&t);
}

static void adamw_follows_its_formula_for_twenty_steps(void **state) {
  (void)state;
  enum { N = 13 };
  trial t = begin();
  ath_type type = ath_type_make(ATH_F32, 1, N), scalar = ath_type_make(ATH_F32, 0);
  ath_value p = ath_graph_variable(t.graph, "p", type), m = ath_graph_variable(t.graph, "m", type);
  ath_value v = ath_graph_variable(t.graph, "v", type), g = value(&t, "g", type);
  ath_adamw_scalars scalars = {value(&t, "rate", scalar), value(&t, "c1", scalar),
                               value(&t, "c2", scalar), value(&t, "scale", scalar)};
  ath_adamw(t.graph, p, m, v, g, scalars,
            (ath_adamw_options){.beta1 = 0.9f, .beta2 = 0.98f, .epsilon = 1e-6f,
                                .weight_decay = 0.1f});
  assert_ok(ath_graph_status(t.graph));
  fill(&t);
  double weight[N], first[N] = {0}, second[N] = {0};
  for (int i = 0; i < N; i++) weight[i] = (double)at(&t, p)[i], at(&t, m)[i] = at(&t, v)[i] = 0;
  for (int step = 1; step <= 20; step++) {
    double rate = 0.01 / step, c1 = 1 - pow(0.9, step), c2 = 1 - pow(0.98, step);
    fill_numbers(&t.dice, at(&t, g), N);
    *at(&t, scalars.learning_rate) = (float)rate, *at(&t, scalars.gradient_scale) = 0.5f;
    *at(&t, scalars.correction1) = (float)c1, *at(&t, scalars.correction2) = (float)c2;
    assert_ok(interpreter_run(&t.run));
    interpreter_assign(&t.run);
    for (int i = 0; i < N; i++) {
      double slope = 0.5 * (double)at(&t, g)[i];
      weight[i] *= 1 - rate * 0.1;
      first[i] = 0.9 * first[i] + 0.1 * slope;
      second[i] = 0.98 * second[i] + 0.02 * slope * slope;
      weight[i] -= rate * (first[i] / c1) / (sqrt(second[i] / c2) + 1e-6);
      assert_near((double)at(&t, p)[i], weight[i], 2e-6, 2e-6);
      assert_near((double)at(&t, m)[i], first[i], 1e-6, 1e-6);
      assert_near((double)at(&t, v)[i], second[i], 1e-6, 2e-6);
    }
  }
  end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(elementwise),
    cmocka_unit_test(sums),
    cmocka_unit_test(matrix_products),
    cmocka_unit_test(linear),
    cmocka_unit_test(dropout_depends_on_seed_step_site_and_index),
    cmocka_unit_test(dropout_of_a_scalar),
    cmocka_unit_test(norms),
    cmocka_unit_test(chosen_rows_keep_the_masks_of_their_places),
    cmocka_unit_test(embedding_and_its_bad_id),
    cmocka_unit_test(attention_masks_drops_and_gives_zeros_without_keys),
    cmocka_unit_test(cross_entropy_sums_and_its_bad_label),
    cmocka_unit_test(clipping),
    cmocka_unit_test(clipping_does_not_hide_nan),
    cmocka_unit_test(adamw_follows_its_formula_for_twenty_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
