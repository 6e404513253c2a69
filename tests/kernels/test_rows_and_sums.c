/* test_rows_and_sums.c: gather, scatter, sums and AdamW; and the choice of the table. */
#include "kernels/kernel_testing.h"

static void gather_copies_the_rows_named(void **state) {
  (void)state;
  enum { ROWS = 50, WIDTH = 37, N = 600 };
  float *from = random_array(ROWS * WIDTH), *y = blank_array(N * WIDTH);
  int32_t ids[N];
  for (int i = 0; i < N; i++) ids[i] = (int32_t)(random_bits() % ROWS);
  FOR_ALL_TABLES(table) {
    assert_int_equal(table->gather(from, ROWS, WIDTH, ids, N, y), -1);
    for (int i = 0; i < N; i++)
      assert_memory_equal(y + i * WIDTH, from + ids[i] * WIDTH, sizeof(float) * WIDTH);
  }
  free(from), free(y);
}

static void gather_names_the_first_id_outside_the_table(void **state) {
  (void)state;
  float from[6] = {0}, y[8];
  FOR_ALL_TABLES(table) {
    assert_int_equal(table->gather(from, 3, 2, (int32_t[]){0, 2, 3, -1}, 4, y), 2);
    assert_int_equal(table->gather(from, 3, 2, (int32_t[]){0, -1, 3, 1}, 4, y), 1);
  }
}

static void scatter_adds_repeated_rows_and_skips_padding(void **state) {
  (void)state;
  static const int64_t widths[] = {1, 15, 16, 100, 770};
  enum { ROWS = 12, N = 90 };
  for (int w = 0; w < 5; w++) {
    int64_t width = widths[w];
    float *dy = random_array(N * width), *got = blank_array(ROWS * width);
    double *want = calloc((size_t)(ROWS * width), sizeof *want);
    int32_t ids[N];
    for (int i = 0; i < N; i++) {
      ids[i] = (int32_t)(random_bits() % (ROWS - 1));
      for (int64_t j = 0; j < width && ids[i] != 4; j++)
        want[ids[i] * width + j] += dy[i * width + j];
    }
    FOR_ALL_TABLES(table)
      for (int threads = 1; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        table->scatter_add(got, ROWS, width, ids, N, dy, 4);
        for (int64_t i = 0; i < ROWS * width; i++) assert_near(got[i], want[i], 1e-5, 0);
      }
    omp_set_num_threads(omp_get_num_procs());
    free(dy), free(got), free(want);
  }
}

static void sums_agree_with_double_and_do_not_depend_on_threads(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{1, 1}, {3, 5}, {15, 33}, {16, 8}, {1000, 41}, {333, 777}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    int64_t rows = shapes[s][0], width = shapes[s][1], n = rows * width;
    float *x = random_array(n), *got = blank_array(width), *want = blank_array(width);
    float *one = blank_array(width), *scratch = blank_array(ATH_ROW_BLOCKS * width);
    double sum = 0, square = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i], square += (double)x[i] * x[i];
    for (int64_t j = 0; j < width; j++) {
      double column = 0;
      for (int64_t i = 0; i < rows; i++) column += x[i * width + j];
      want[j] = (float)column;
    }
    FOR_ALL_TABLES(table) {
      double first[2] = {table->sum(x, n), table->sum_of_squares(x, n)};
      assert_near(first[0], sum, 1e-9, 1e-12);
      assert_near(first[1], square, 1e-9, 1e-12);
      table->reduce_rows(x, one, rows, width, scratch);
      assert_arrays_near("reduce_rows", one, want, width, 1e-5);
      for (int threads = 1; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        assert_true(table->sum(x, n) == first[0] && table->sum_of_squares(x, n) == first[1]);
        table->reduce_rows(x, got, rows, width, scratch);
        assert_memory_equal(got, one, sizeof(float) * (size_t)width);
      }
    }
    omp_set_num_threads(omp_get_num_procs());
    free(x), free(got), free(want), free(one), free(scratch);
  }
}

static void the_address_of_the_data_changes_no_bit_of_a_sum(void **state) {
  (void)state;
  enum { N = 4099 };
  float *x = random_array(N), *moved = random_array(N + 16);
  FOR_ALL_TABLES(table)
    for (int shift = 1; shift < 16; shift++) {
      memcpy(moved + shift, x, sizeof(float) * N);
      assert_true(table->sum(x, N) == table->sum(moved + shift, N));
      assert_true(table->sum_of_squares(x, N) == table->sum_of_squares(moved + shift, N));
    }
  free(x), free(moved);
}

/* Kingma & Ba 2015 with the decay of Loshchilov & Hutter 2019, written out. */
static void adamw_takes_the_step_of_the_papers(void **state) {
  (void)state;
  enum { N = 30011 };
  float *p = random_array(N), *m = random_array(N), *v = random_array(N), *g = random_array(N);
  float *p1 = blank_array(N), *m1 = blank_array(N), *v1 = blank_array(N);
  const double rate = 0.01f, b1 = 0.9f, b2 = 0.999f, eps = 1e-8f, decay = 0.1f, scale = 0.25;
  const double c1 = 1 - b1 * b1, c2 = 1 - b2 * b2;
  for (int i = 0; i < N; i++) v[i] = v[i] * v[i];
  FOR_ALL_TABLES(table) {
    memcpy(p1, p, sizeof(float) * N), memcpy(m1, m, sizeof(float) * N);
    memcpy(v1, v, sizeof(float) * N);
    table->adamw(p1, m1, v1, g, N, (float)scale, (float)rate, (float)c1, (float)c2, (float)b1,
                 (float)b2, (float)eps, (float)decay);
    for (int i = 0; i < N; i++) {
      double slope = scale * g[i], wm = b1 * m[i] + (1 - b1) * slope;
      double wv = b2 * v[i] + (1 - b2) * slope * slope;
      double step = rate * (wm / c1) / (sqrt(wv / c2) + eps);
      assert_near(m1[i], wm, 1e-6, 1e-6);
      assert_near(v1[i], wv, 1e-7, 1e-6);
      assert_near(p1[i], p[i] * (1 - rate * decay) - step, 1e-7 + 2e-6 * fabs(step), 2e-7);
    }
  }
  free(p), free(m), free(v), free(g), free(p1), free(m1), free(v1);
}

static void the_environment_chooses_the_table(void **state) {
  (void)state;
  const ath_kernels *table;
  setenv("ATHANOR_ISA", "baseline", 1);
  assert_ok(ath_kernels_get(&table));
  assert_ptr_equal(table, ath_kernels_named("baseline"));
  setenv("ATHANOR_ISA", "sse9", 1);
  assert_fails(ath_kernels_get(&table), ATH_UNSUPPORTED, "ATHANOR_ISA=sse9");
  unsetenv("ATHANOR_ISA");
  assert_ok(ath_kernels_get(&table));
  assert_string_not_equal(table->isa, "reference");
  assert_null(ath_kernels_named("sse9"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gather_copies_the_rows_named),
      cmocka_unit_test(gather_names_the_first_id_outside_the_table),
      cmocka_unit_test(scatter_adds_repeated_rows_and_skips_padding),
      cmocka_unit_test(sums_agree_with_double_and_do_not_depend_on_threads),
      cmocka_unit_test(the_address_of_the_data_changes_no_bit_of_a_sum),
      cmocka_unit_test(adamw_takes_the_step_of_the_papers),
      cmocka_unit_test(the_environment_chooses_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
