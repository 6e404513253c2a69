/* test_attention.c: every table against the reference, the reference against a plain double
 * computation, and gradients against central differences. */
#include "kernels/kernel_testing.h"

#include "base/random.h"

typedef struct problem {
  ath_attention_shape shape;
  ath_dropout_key2 dropout;
  int64_t values, rows, statistics; /* floats of qkv, of out, of lse */
  float *qkv, *dout;
  int32_t *mask;
} problem;

static problem make_problem(int64_t batch, int64_t length, int64_t heads, int64_t size,
                            uint32_t threshold) {
  problem p = {.shape = {batch, length, heads, size}, .dropout = dropout_of(threshold)};
  p.rows = batch * length * heads * size;
  p.values = 3 * p.rows;
  p.statistics = batch * heads * length;
  p.qkv = random_array(p.values);
  p.dout = random_array(p.rows);
  p.mask = calloc((size_t)(batch * length), sizeof *p.mask);
  for (int64_t i = 0; i < batch * length; i++) p.mask[i] = random_bits() % 4 != 0;
  return p;
}

static void free_problem(problem *p) { free(p->qkv), free(p->dout), free(p->mask); }

static void forward(const ath_kernels *table, const problem *p, const float *qkv, float *out,
                    float *lse) {
  size_t bytes = table->attention_scratch(p->shape, 0);
  void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  assert_non_null(scratch);
  memset(scratch, 0xff, bytes); /* NaN: nothing may be read before it is written */
  table->attention(qkv, p->mask, out, lse, p->shape, p->dropout, scratch);
  free(scratch);
}

static void backward(const ath_kernels *table, const problem *p, const float *out,
                     const float *lse, float *dqkv) {
  size_t bytes = table->attention_scratch(p->shape, 1);
  void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  assert_non_null(scratch);
  memset(scratch, 0xff, bytes);
  table->attention_backward(p->qkv, p->mask, out, lse, p->dout, dqkv, p->shape, p->dropout,
                            scratch);
  free(scratch);
}

static void compare_with_reference(const problem *p) {
  float *out = blank_array(p->rows), *want = blank_array(p->rows);
  float *lse = blank_array(p->statistics), *want_lse = blank_array(p->statistics);
  float *dqkv = blank_array(p->values), *want_dqkv = blank_array(p->values);
  forward(reference_table(), p, p->qkv, want, want_lse);
  backward(reference_table(), p, want, want_lse, want_dqkv);
  FOR_TABLES(table) {
    forward(table, p, p->qkv, out, lse);
    assert_arrays_near("out", out, want, p->rows, 5e-6);
    assert_arrays_near("lse", lse, want_lse, p->statistics, 2e-6);
    backward(table, p, out, lse, dqkv);
    assert_arrays_near("dqkv", dqkv, want_dqkv, p->values, 2e-5);
  }
  free(out), free(want), free(lse), free(want_lse), free(dqkv), free(want_dqkv);
}

static void every_table_agrees_with_the_reference_for_any_shape(void **state) {
  (void)state;
  static const int64_t shapes[][4] = {{1, 1, 1, 1},   {2, 3, 2, 5},   {1, 16, 1, 16},
                                      {3, 33, 2, 64}, {2, 65, 3, 32}, {1, 130, 2, 128},
                                      {2, 71, 1, 7},  {1, 97, 1, 72}, {1, 9, 1, 700}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
    for (int drops = 0; drops < 2; drops++) {
      const int64_t *s = shapes[i];
      problem p = make_problem(s[0], s[1], s[2], s[3], drops ? 1u << 30 : 0);
      compare_with_reference(&p);
      free_problem(&p);
    }
}

/* Plain attention of one head in double, straight from the definition. */
static void attend_in_double(const problem *p, const double *qkv, double *out) {
  int64_t n = p->shape.length, d = p->shape.head_size, heads = p->shape.heads, h = heads * d;
  double weights[64];
  assert_true(n <= 64);
  for (int64_t row = 0; row < p->shape.batch * heads * n; row++) {
    int64_t b = row / (heads * n), head = row / n % heads, i = row % n;
    const double *q = qkv + (b * n + i) * 3 * h + head * d;
    double total = 0;
    for (int64_t j = 0; j < n; j++) {
      const double *k = qkv + (b * n + j) * 3 * h + h + head * d;
      double score = 0;
      for (int64_t c = 0; c < d; c++) score += q[c] * k[c];
      weights[j] = p->mask[b * n + j] ? exp(score / sqrt((double)d)) : 0;
      total += weights[j];
    }
    for (int64_t c = 0; c < d; c++) {
      double value = 0;
      for (int64_t j = 0; j < n; j++) {
        uint32_t index = (uint32_t)(((b * heads + head) * n + i) * n + j);
        bool keeps = ath_dropout_hash(index, p->dropout.key) >= p->dropout.threshold;
        if (keeps && weights[j] > 0)
          value += weights[j] / total * p->dropout.scale *
                   qkv[(b * n + j) * 3 * h + 2 * h + head * d + c];
      }
      out[(b * n + i) * h + head * d + c] = value;
    }
  }
}

static void all_tables_compute_attention_as_defined(void **state) {
  (void)state;
  problem p = make_problem(2, 21, 3, 12, 1u << 29);
  double *qkv = calloc((size_t)p.values, sizeof *qkv), *want = calloc((size_t)p.rows, sizeof *want);
  float *out = blank_array(p.rows), *lse = blank_array(p.statistics), *single = blank_array(p.rows);
  for (int64_t i = 0; i < p.values; i++) qkv[i] = p.qkv[i];
  attend_in_double(&p, qkv, want);
  for (int64_t i = 0; i < p.rows; i++) single[i] = (float)want[i];
  forward(reference_table(), &p, p.qkv, out, lse);
  assert_arrays_near("reference", out, single, p.rows, 1e-6);
  FOR_TABLES(table) {
    forward(table, &p, p.qkv, out, lse);
    assert_arrays_near(table->isa, out, single, p.rows, 5e-6);
  }
  free(qkv), free(want), free(out), free(lse), free(single);
  free_problem(&p);
}

/* The scalar whose gradient is checked: Σ out * dout, in double. */
static double objective(const problem *p, const double *qkv, double *out) {
  double total = 0;
  attend_in_double(p, qkv, out);
  for (int64_t i = 0; i < p->rows; i++) total += out[i] * p->dout[i];
  return total;
}

static void gradients_agree_with_central_differences(void **state) {
  (void)state;
  problem p = make_problem(2, 9, 2, 6, 1u << 30);
  double *qkv = calloc((size_t)p.values, sizeof *qkv), *work = calloc((size_t)p.rows, sizeof *work);
  float *out = blank_array(p.rows), *lse = blank_array(p.statistics);
  float *got = blank_array(p.values), *want = blank_array(p.values);
  for (int64_t i = 0; i < p.values; i++) qkv[i] = p.qkv[i];
  for (int64_t i = 0; i < p.values; i++) {
    double h = 1e-5, kept = qkv[i];
    qkv[i] = kept + h;
    double above = objective(&p, qkv, work);
    qkv[i] = kept - h;
    want[i] = (float)((above - objective(&p, qkv, work)) / (2 * h));
    qkv[i] = kept;
  }
  FOR_ALL_TABLES(table) {
    forward(table, &p, p.qkv, out, lse);
    backward(table, &p, out, lse, got);
    assert_arrays_near(table->isa, got, want, p.values, 1e-5);
  }
  free(qkv), free(work), free(out), free(lse), free(got), free(want);
  free_problem(&p);
}

static void a_row_without_keys_gives_zeros_and_no_gradient(void **state) {
  (void)state;
  problem p = make_problem(2, 19, 2, 8, 0);
  float *out = blank_array(p.rows), *lse = blank_array(p.statistics), *dqkv = blank_array(p.values);
  memset(p.mask, 0, sizeof *p.mask * 19); /* the first sample */
  FOR_ALL_TABLES(table) {
    forward(table, &p, p.qkv, out, lse);
    backward(table, &p, out, lse, dqkv);
    for (int64_t i = 0; i < p.rows / 2; i++) assert_true(out[i] == 0);
    for (int64_t i = 0; i < p.values / 2; i++) assert_true(dqkv[i] == 0);
    for (int64_t i = p.rows / 2; i < p.rows; i++) assert_true(isfinite(out[i]) && out[i] != 12345);
  }
  free(out), free(lse), free(dqkv);
  free_problem(&p);
}

static void large_scores_do_not_overflow(void **state) {
  (void)state;
  problem p = make_problem(1, 40, 1, 16, 0);
  for (int64_t i = 0; i < p.values; i++) p.qkv[i] *= 60; /* scores of several thousands */
  float *out = blank_array(p.rows), *lse = blank_array(p.statistics);
  float *want = blank_array(p.rows), *dqkv = blank_array(p.values);
  forward(reference_table(), &p, p.qkv, want, lse);
  FOR_TABLES(table) {
    forward(table, &p, p.qkv, out, lse);
    assert_arrays_near("out", out, want, p.rows, 2e-3);
    backward(table, &p, out, lse, dqkv);
    for (int64_t i = 0; i < p.values; i++) assert_true(isfinite(dqkv[i]));
  }
  free(out), free(lse), free(want), free(dqkv);
  free_problem(&p);
}

static void hidden_keys_have_no_influence_even_when_they_are_nan(void **state) {
  (void)state;
  problem p = make_problem(1, 23, 1, 8, 0);
  float *out = blank_array(p.rows), *lse = blank_array(p.statistics), *want = blank_array(p.rows);
  forward(reference_table(), &p, p.qkv, want, lse);
  for (int64_t j = 0; j < 23; j++)
    if (p.mask[j] == 0)
      for (int64_t c = 8; c < 24; c++) p.qkv[j * 24 + c] = NAN;
  FOR_TABLES(table) {
    forward(table, &p, p.qkv, out, lse);
    assert_arrays_near("out", out, want, p.rows, 5e-6);
  }
  free(out), free(lse), free(want);
  free_problem(&p);
}

static void the_number_of_threads_changes_no_bit(void **state) {
  (void)state;
  problem p = make_problem(4, 67, 3, 32, 1u << 30);
  float *out[2] = {blank_array(p.rows), blank_array(p.rows)};
  float *dqkv[2] = {blank_array(p.values), blank_array(p.values)}, *lse = blank_array(p.statistics);
  int usual = omp_get_max_threads();
  FOR_TABLES(table)
    for (int threads = 1; threads <= 3; threads++) {
      int which = threads > 1;
      omp_set_num_threads(threads);
      forward(table, &p, p.qkv, out[which], lse);
      backward(table, &p, out[which], lse, dqkv[which]);
      if (threads == 1) continue;
      assert_memory_equal(out[0], out[1], sizeof(float) * (size_t)p.rows);
      assert_memory_equal(dqkv[0], dqkv[1], sizeof(float) * (size_t)p.values);
    }
  omp_set_num_threads(usual);
  for (int i = 0; i < 2; i++) free(out[i]), free(dqkv[i]);
  free(lse);
  free_problem(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_table_agrees_with_the_reference_for_any_shape),
      cmocka_unit_test(all_tables_compute_attention_as_defined),
      cmocka_unit_test(gradients_agree_with_central_differences),
      cmocka_unit_test(a_row_without_keys_gives_zeros_and_no_gradient),
      cmocka_unit_test(large_scores_do_not_overflow),
      cmocka_unit_test(hidden_keys_have_no_influence_even_when_they_are_nan),
      cmocka_unit_test(the_number_of_threads_changes_no_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
