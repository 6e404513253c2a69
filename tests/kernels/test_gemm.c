/* test_gemm.c: matrix products: both engines against a plain product in double. */
#include "kernels/kernel_testing.h"

/* The leak sanitizer's tracer crashes on the thread-local storage of a library that was opened at
 * run time, as oneDNN is here; the other sanitizers stay on. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }

typedef struct product {
  ath_gemm_shape shape;
  float *a, *b, *bias, *c, *want;
} product;

static void multiply_plainly(product *p) {
  ath_gemm_shape s = p->shape;
  for (int64_t i = 0; i < s.m; i++)
    for (int64_t j = 0; j < s.n; j++) {
      double sum = s.accumulate ? p->c[i * s.n + j] : 0;
      if (s.bias) sum += p->bias[j];
      for (int64_t k = 0; k < s.k; k++)
        sum += (double)p->a[s.transpose_a ? k * s.m + i : i * s.k + k] *
               p->b[s.transpose_b ? j * s.k + k : k * s.n + j];
      p->want[i * s.n + j] = (float)sum;
    }
}

static product make_product(ath_gemm_shape s) {
  product p = {.shape = s, .a = random_array(s.m * s.k), .b = random_array(s.k * s.n),
               .bias = random_array(s.n), .c = random_array(s.m * s.n),
               .want = random_array(s.m * s.n)};
  multiply_plainly(&p);
  return p;
}

static void free_product(product *p) {
  free(p->a), free(p->b), free(p->bias), free(p->c), free(p->want);
}

/* Runs the product into a copy of c, with scratch full of NaN. */
static float *run_product(const product *p) {
  size_t count = (size_t)(p->shape.m * p->shape.n);
  float *c = blank_array((int64_t)count);
  memcpy(c, p->c, sizeof(float) * count);
  ath_gemm *plan;
  assert_ok(ath_gemm_create(p->shape, &plan));
  size_t bytes = ath_gemm_scratch(plan);
  void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  assert_non_null(scratch);
  memset(scratch, 0xff, bytes);
  assert_ok(ath_gemm_run(plan, p->a, p->b, p->shape.bias ? p->bias : NULL, c, scratch));
  ath_gemm_destroy(plan);
  free(scratch);
  return c;
}

static void check(ath_gemm_shape shape) {
  product p = make_product(shape);
  char what[128];
  snprintf(what, sizeof what, "%lld x %lld x %lld, transposed %d %d, bias %d, accumulate %d",
           (long long)shape.m, (long long)shape.n, (long long)shape.k, shape.transpose_a,
           shape.transpose_b, shape.bias, shape.accumulate);
  float *c = run_product(&p);
  assert_arrays_near(what, c, p.want, shape.m * shape.n, 1e-6 * sqrt((double)shape.k + 10));
  free(c);
  free_product(&p);
}

static void check_all_forms(int64_t m, int64_t n, int64_t k) {
  for (int form = 0; form < 16; form++)
    check((ath_gemm_shape){.m = m, .n = n, .k = k, .transpose_a = form & 1,
                           .transpose_b = form >> 1 & 1, .bias = form >> 2 & 1,
                           .accumulate = form >> 3 & 1});
}

static const int64_t sizes[][3] = {{1, 1, 1},    {1, 17, 3},   {7, 1, 40},   {6, 16, 8},
                                   {13, 33, 5},  {64, 64, 64}, {101, 75, 390}, {29, 530, 67},
                                   {150, 40, 801}};

static void own_products_are_right_in_every_form(void **state) {
  (void)state;
  setenv("ATHANOR_GEMM", "own", 1);
  for (int table = 0; table < 3; table++) {
    if (ath_kernels_named(table_names[table]) == NULL) continue;
    setenv("ATHANOR_ISA", table_names[table], 1);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
      check_all_forms(sizes[i][0], sizes[i][1], sizes[i][2]);
  }
  unsetenv("ATHANOR_ISA");
  unsetenv("ATHANOR_GEMM");
}

static void onednn_products_are_right_in_every_form(void **state) {
  (void)state;
  setenv("ATHANOR_GEMM", "onednn", 1);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    check_all_forms(sizes[i][0], sizes[i][1], sizes[i][2]);
  unsetenv("ATHANOR_GEMM");
}

static void products_beyond_one_panel_of_rows_or_columns_are_right(void **state) {
  (void)state;
  check((ath_gemm_shape){.m = 4500, .n = 20, .k = 30, .transpose_b = 1, .bias = 1});
  check((ath_gemm_shape){.m = 20, .n = 40, .k = 9000, .transpose_a = 1, .bias = 1});
  check((ath_gemm_shape){.m = 20, .n = 9001, .k = 500, .transpose_a = 1, .accumulate = 1});
}

static void an_empty_sum_gives_the_bias(void **state) {
  (void)state;
  check((ath_gemm_shape){.m = 3, .n = 20, .k = 0, .bias = 1});
  check((ath_gemm_shape){.m = 0, .n = 20, .k = 4});
  check((ath_gemm_shape){.m = 3, .n = 0, .k = 4});
}

static void the_number_of_threads_changes_no_bit_of_an_own_product(void **state) {
  (void)state;
  setenv("ATHANOR_GEMM", "own", 1);
  product p = make_product((ath_gemm_shape){.m = 301, .n = 500, .k = 700, .transpose_b = 1});
  int usual = omp_get_max_threads();
  omp_set_num_threads(1);
  float *one = run_product(&p);
  for (int threads = 2; threads <= 3; threads++) {
    omp_set_num_threads(threads);
    float *more = run_product(&p);
    assert_memory_equal(one, more, sizeof(float) * 301 * 500);
    free(more);
  }
  omp_set_num_threads(usual);
  unsetenv("ATHANOR_GEMM");
  free(one);
  free_product(&p);
}

static void an_unknown_engine_is_refused_by_name(void **state) {
  (void)state;
  ath_gemm *plan;
  setenv("ATHANOR_GEMM", "fast", 1);
  assert_fails(ath_gemm_create((ath_gemm_shape){.m = 1, .n = 1, .k = 1}, &plan), ATH_USAGE,
               "ATHANOR_GEMM=fast");
  unsetenv("ATHANOR_GEMM");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(own_products_are_right_in_every_form),
      cmocka_unit_test(onednn_products_are_right_in_every_form),
      cmocka_unit_test(products_beyond_one_panel_of_rows_or_columns_are_right),
      cmocka_unit_test(an_empty_sum_gives_the_bias),
      cmocka_unit_test(the_number_of_threads_changes_no_bit_of_an_own_product),
      cmocka_unit_test(an_unknown_engine_is_refused_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
