/* test_elementwise.c: every table against libm and against the reference. */
#include "kernels/kernel_testing.h"

#include "base/random.h"

static double gelu(double x) { return 0.5 * x * erfc(-x * 0.70710678118654752440); }
static double gelu_tanh(double x) {
  return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}
static double relu(double x) { return x > 0 ? x : 0; }
static double silu(double x) { return x / (1 + exp(-x)); }
static double (*const functions[])(double) = {gelu, gelu_tanh, relu, silu, tanh};

static void activations_agree_with_libm_to_a_millionth(void **state) {
  (void)state;
  enum { N = 20011 };
  float *x = blank_array(N), *y = blank_array(N);
  for (int i = 0; i < N; i++) x[i] = -12 + 24.0f * (float)i / N;
  for (int kind = 0; kind < 5; kind++) {
    FOR_TABLES(table) {
      table->activation(x, NULL, y, 1, N, kind);
      for (int i = 0; i < N; i++) assert_near(y[i], functions[kind](x[i]), 1e-10, 2e-6);
    }
    reference_table()->activation(x, NULL, y, 1, N, kind);
    for (int i = 0; i < N; i++) assert_near(y[i], functions[kind](x[i]), 1e-12, 2e-7);
  }
  free(x), free(y);
}

static void slopes_of_activations_agree_with_central_differences(void **state) {
  (void)state;
  enum { N = 2003 };
  float *x = blank_array(N), *dx = blank_array(N), *ones = blank_array(N);
  for (int i = 0; i < N; i++) x[i] = -9.01f + 18.0f * (float)i / N, ones[i] = 1;
  for (int kind = 0; kind < 5; kind++)
    FOR_ALL_TABLES(table) {
      table->activation_backward(x, NULL, ones, dx, 1, N, kind);
      for (int i = 0; i < N; i++) {
        double h = 1e-5, at = x[i];
        if (kind == ATH_KERNEL_RELU && fabs(at) < 1e-3) continue;
        double slope = (functions[kind](at + h) - functions[kind](at - h)) / (2 * h);
        assert_near(dx[i], slope, 2e-6, 0);
      }
    }
  free(x), free(dx), free(ones);
}

static void activations_of_extreme_numbers_stay_finite_or_pass_nan(void **state) {
  (void)state;
  float x[8] = {-INFINITY, -1e30f, -200, 0, 200, 1e10f, NAN, -0.0f}, y[8];
  FOR_TABLES(table)
    for (int kind = 0; kind < 5; kind++) {
      float largest = kind == ATH_KERNEL_TANH ? 1 : 1e10f;
      table->activation(x + 1, NULL, y + 1, 1, 7, kind);
      assert_near(y[2], kind == ATH_KERNEL_TANH ? -1 : 0, 1e-6, 0);
      assert_true(y[3] == 0 && y[7] == 0 && y[5] == largest && isnan(y[6]));
    }
}

static void a_bias_is_added_to_every_row_before_the_activation(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{1, 1}, {3, 7}, {5, 64}, {40, 1000}, {3, 9001}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    int64_t rows = shapes[s][0], width = shapes[s][1], n = rows * width;
    float *x = random_array(n), *bias = random_array(width), *dy = random_array(n);
    float *want = blank_array(n), *got = blank_array(n);
    FOR_TABLES(table)
      for (int kind = 0; kind < 5; kind++) {
        reference_table()->activation(x, bias, want, rows, width, kind);
        table->activation(x, bias, got, rows, width, kind);
        assert_arrays_near("activation", got, want, n, 1e-6);
        reference_table()->activation_backward(x, bias, dy, want, rows, width, kind);
        table->activation_backward(x, bias, dy, got, rows, width, kind);
        assert_arrays_near("activation_backward", got, want, n, 2e-6);
      }
    free(x), free(bias), free(dy), free(want), free(got);
  }
}

static void the_second_operand_repeats_over_the_first(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{12, 12}, {12, 3}, {100, 1}, {9009, 1001}, {40000, 20000}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    int64_t n = shapes[s][0], period = shapes[s][1];
    float *a = random_array(n), *b = random_array(period), *y = blank_array(n);
    FOR_ALL_TABLES(table) {
      table->add(a, b, y, n, period);
      for (int64_t i = 0; i < n; i++) assert_true(y[i] == a[i] + b[i % period]);
      table->multiply(a, b, y, n, period);
      for (int64_t i = 0; i < n; i++) assert_true(y[i] == a[i] * b[i % period]);
      table->scale(a, 0.3f, y, n);
      for (int64_t i = 0; i < n; i++) assert_true(y[i] == a[i] * 0.3f);
    }
    free(a), free(b), free(y);
  }
}

static void dropout_keeps_exactly_what_the_hash_keeps(void **state) {
  (void)state;
  enum { N = 50021 };
  float *x = blank_array(N), *y = blank_array(N);
  for (int i = 0; i < N; i++) x[i] = 1 + (float)i;
  ath_dropout_key2 dropout = dropout_of(ath_dropout_threshold(0.1));
  ath_dropout_key(42, 7, 3, dropout.key);
  FOR_ALL_TABLES(table) {
    table->dropout(x, y, 1, N, dropout);
    int dropped = 0;
    for (int i = 0; i < N; i++) {
      bool keeps = ath_dropout_hash((uint32_t)i, dropout.key) >= dropout.threshold;
      assert_true(y[i] == (keeps ? x[i] * dropout.scale : 0));
      dropped += !keeps;
    }
    assert_near(dropped, 0.1 * N, 5 * sqrt(0.09 * N), 0);
  }
  free(x), free(y);
}

/* Chosen rows are masked as they would be where they come from. */
static void dropout_by_rows_is_that_of_the_whole(void **state) {
  (void)state;
  enum { ROWS = 90, WIDTH = 301, CHOSEN = 70 };
  float *x = random_array(ROWS * WIDTH), *y = blank_array(ROWS * WIDTH);
  float *part = blank_array(CHOSEN * WIDTH), *got = blank_array(CHOSEN * WIDTH);
  int32_t rows[CHOSEN];
  ath_dropout_key2 dropout = dropout_of(ath_dropout_threshold(0.3));
  for (int i = 0; i < CHOSEN; i++) {
    rows[i] = i * 37 % ROWS;
    memcpy(part + i * WIDTH, x + rows[i] * WIDTH, WIDTH * sizeof *x);
  }
  FOR_ALL_TABLES(table) {
    dropout.rows = NULL;
    table->dropout(x, y, ROWS, WIDTH, dropout);
    dropout.rows = rows;
    table->dropout(part, got, CHOSEN, WIDTH, dropout);
    for (int i = 0; i < CHOSEN; i++)
      assert_memory_equal(got + i * WIDTH, y + rows[i] * WIDTH, WIDTH * sizeof *x);
  }
  free(x), free(y), free(part), free(got);
}

static void dropout_without_a_threshold_copies(void **state) {
  (void)state;
  float x[5] = {1, 2, 3, 4, 5}, y[5];
  FOR_TABLES(table) {
    table->dropout(x, y, 1, 5, (ath_dropout_key2){.scale = 0});
    assert_memory_equal(x, y, sizeof x);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(activations_agree_with_libm_to_a_millionth),
      cmocka_unit_test(slopes_of_activations_agree_with_central_differences),
      cmocka_unit_test(activations_of_extreme_numbers_stay_finite_or_pass_nan),
      cmocka_unit_test(a_bias_is_added_to_every_row_before_the_activation),
      cmocka_unit_test(the_second_operand_repeats_over_the_first),
      cmocka_unit_test(dropout_keeps_exactly_what_the_hash_keeps),
      cmocka_unit_test(dropout_by_rows_is_that_of_the_whole),
      cmocka_unit_test(dropout_without_a_threshold_copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
