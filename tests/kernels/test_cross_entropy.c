/* test_cross_entropy.c: every table against the reference and against a double computation. */
#include "kernels/kernel_testing.h"

typedef struct problem {
  int64_t n, classes;
  float *logits, *weights;
  int32_t *labels;
} problem;

static problem make_problem(int64_t n, int64_t classes) {
  problem p = {.n = n, .classes = classes, .logits = random_array(n * classes),
               .weights = random_array(n), .labels = calloc((size_t)n, sizeof *p.labels)};
  for (int64_t i = 0; i < n; i++) {
    p.labels[i] = (int32_t)(random_bits() % (uint32_t)classes);
    p.weights[i] = i % 3 == 2 ? 0 : i % 3 == 1 ? 1 : 0.5f;
    if (p.weights[i] == 0) p.labels[i] = -100; /* must not be read */
    if (i % 4 == 0 && p.labels[i] >= 0) p.logits[i * classes + p.labels[i]] = 2; /* the highest */
  }
  return p;
}

static void free_problem(problem *p) { free(p->logits), free(p->weights), free(p->labels); }

static double loss_in_double(const problem *p, const double *logits) {
  double loss = 0;
  for (int64_t i = 0; i < p->n; i++) {
    if (p->weights[i] == 0) continue;
    double total = 0;
    for (int64_t j = 0; j < p->classes; j++) total += exp(logits[i * p->classes + j]);
    loss += p->weights[i] * (log(total) - logits[i * p->classes + p->labels[i]]);
  }
  return loss;
}

static void every_table_agrees_with_the_reference(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{1, 1}, {2, 3}, {7, 50}, {40, 1000}, {5, 32003}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    problem p = make_problem(shapes[s][0], shapes[s][1]);
    int64_t n = p.n * p.classes;
    float *lse = blank_array(p.n), *want_lse = blank_array(p.n), sums[3], want[3];
    float *slope = blank_array(n), *want_slope = blank_array(n);
    assert_true(reference_table()->cross_entropy(p.logits, p.labels, p.weights, p.n, p.classes,
                                                 want_lse, want) == -1);
    reference_table()->cross_entropy_backward(p.logits, p.labels, p.weights, want_lse, 0.7f, p.n,
                                              p.classes, want_slope);
    FOR_TABLES(table) {
      assert_true(table->cross_entropy(p.logits, p.labels, p.weights, p.n, p.classes, lse, sums) ==
                  -1);
      assert_near(sums[0], want[0], 1e-6, 2e-6);
      assert_true(sums[1] == want[1] && sums[2] == want[2]);
      for (int64_t i = 0; i < p.n; i++)
        if (p.weights[i] != 0) assert_near(lse[i], want_lse[i], 2e-6, 1e-6);
      table->cross_entropy_backward(p.logits, p.labels, p.weights, lse, 0.7f, p.n, p.classes,
                                    slope);
      assert_arrays_near("dlogits", slope, want_slope, n, 3e-6);
    }
    free(lse), free(want_lse), free(slope), free(want_slope);
    free_problem(&p);
  }
}

static void loss_and_gradient_agree_with_double_arithmetic(void **state) {
  (void)state;
  problem p = make_problem(6, 11);
  enum { N = 66 };
  double logits[N];
  float want[N], got[N], lse[6], sums[3];
  for (int i = 0; i < N; i++) logits[i] = p.logits[i];
  for (int i = 0; i < N; i++) {
    double h = 1e-5, kept = logits[i];
    logits[i] = kept + h;
    double above = loss_in_double(&p, logits);
    logits[i] = kept - h;
    want[i] = (float)(2.5 * (above - loss_in_double(&p, logits)) / (2 * h));
    logits[i] = kept;
  }
  FOR_ALL_TABLES(table) {
    assert_true(table->cross_entropy(p.logits, p.labels, p.weights, 6, 11, lse, sums) == -1);
    assert_near(sums[0], loss_in_double(&p, logits), 1e-6, 1e-6);
    table->cross_entropy_backward(p.logits, p.labels, p.weights, lse, 2.5f, 6, 11, got);
    assert_arrays_near(table->isa, got, want, N, 1e-5);
  }
  free_problem(&p);
}

static void a_label_out_of_range_is_named_by_its_row(void **state) {
  (void)state;
  float logits[6] = {0}, weights[3] = {0, 1, 1}, lse[3], sums[3];
  int32_t labels[3] = {9, 1, 2};
  FOR_ALL_TABLES(table) {
    assert_int_equal(table->cross_entropy(logits, labels, weights, 3, 2, lse, sums), 2);
  }
}

static void of_equal_logits_the_lowest_id_is_the_prediction(void **state) {
  (void)state;
  float logits[8] = {1, 3, 3, 0, 3, 1, 3, 2}, weights[2] = {1, 1}, lse[2], sums[3];
  FOR_ALL_TABLES(table) {
    table->cross_entropy(logits, (int32_t[]){1, 0}, weights, 2, 4, lse, sums);
    assert_true(sums[2] == 2);
    table->cross_entropy(logits, (int32_t[]){2, 2}, weights, 2, 4, lse, sums);
    assert_true(sums[2] == 0);
  }
}

static void large_logits_do_not_overflow(void **state) {
  (void)state;
  float logits[6] = {3e4f, 0, -3e4f, -1e4f, -1e4f, -2e4f}, weights[2] = {1, 1}, lse[2], sums[3];
  float slope[6];
  int32_t labels[2] = {0, 1};
  FOR_ALL_TABLES(table) {
    table->cross_entropy(logits, labels, weights, 2, 3, lse, sums);
    assert_near(sums[0], log(2.0), 2e-3, 0); /* lse near −1e4 has steps of 1e-3 */
    table->cross_entropy_backward(logits, labels, weights, lse, 1, 2, 3, slope);
    assert_near(slope[3], 0.5, 1e-3, 0);
    assert_near(slope[0], 0, 1e-6, 0);
  }
}

static void the_gradient_may_overwrite_the_logits(void **state) {
  (void)state;
  problem p = make_problem(9, 33);
  float *lse = blank_array(9), sums[3], *slope = blank_array(9 * 33);
  FOR_TABLES(table) {
    float *logits = blank_array(9 * 33);
    memcpy(logits, p.logits, sizeof(float) * 9 * 33);
    table->cross_entropy(logits, p.labels, p.weights, 9, 33, lse, sums);
    table->cross_entropy_backward(logits, p.labels, p.weights, lse, 1, 9, 33, slope);
    table->cross_entropy_backward(logits, p.labels, p.weights, lse, 1, 9, 33, logits);
    assert_memory_equal(logits, slope, sizeof(float) * 9 * 33);
    free(logits);
  }
  free(lse), free(slope);
  free_problem(&p);
}

static void the_number_of_threads_changes_no_bit(void **state) {
  (void)state;
  problem p = make_problem(77, 1001);
  float *lse = blank_array(77), one[3], more[3];
  int usual = omp_get_max_threads();
  FOR_TABLES(table)
    for (int threads = 1; threads <= 3; threads++) {
      omp_set_num_threads(threads);
      float *sums = threads == 1 ? one : more;
      table->cross_entropy(p.logits, p.labels, p.weights, 77, 1001, lse, sums);
      if (threads > 1) assert_memory_equal(one, more, sizeof one);
    }
  omp_set_num_threads(usual);
  free(lse);
  free_problem(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_table_agrees_with_the_reference),
      cmocka_unit_test(loss_and_gradient_agree_with_double_arithmetic),
      cmocka_unit_test(a_label_out_of_range_is_named_by_its_row),
      cmocka_unit_test(of_equal_logits_the_lowest_id_is_the_prediction),
      cmocka_unit_test(large_logits_do_not_overflow),
      cmocka_unit_test(the_gradient_may_overwrite_the_logits),
      cmocka_unit_test(the_number_of_threads_changes_no_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
