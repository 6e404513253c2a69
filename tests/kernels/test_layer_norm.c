/* test_layer_norm.c: every table against the reference, the reference against a double
 * computation, gradients against central differences. */
#include "kernels/kernel_testing.h"

#include "base/random.h"

typedef struct problem {
  int64_t rows, width, n;
  float *x, *bias, *residual, *gamma, *beta, *dy;
  int32_t *chosen; /* the rows whose masks the rows get, where those of their own are not wanted */
  ath_dropout_key2 dropout;
} problem;

typedef struct result {
  float *z, *y, *mean, *rstd, *dz, *dx, *dgamma, *dbeta, *dbias;
} result;

static problem make_problem(int64_t rows, int64_t width, uint32_t threshold) {
  int64_t n = rows * width;
  int32_t *chosen = calloc((size_t)rows, sizeof *chosen);
  for (int64_t i = 0; i < rows; i++) chosen[i] = (int32_t)(1000003 * (rows - i));
  return (problem){.chosen = chosen, .rows = rows, .width = width, .n = n, .x = random_array(n),
                   .bias = random_array(width), .residual = random_array(n),
                   .gamma = random_array(width), .beta = random_array(width),
                   .dy = random_array(n), .dropout = dropout_of(threshold)};
}

static void free_problem(problem *p) {
  free(p->x), free(p->bias), free(p->residual), free(p->gamma), free(p->beta), free(p->dy);
  free(p->chosen);
}

/* `parts`: 1 bias, 2 residual, 4 dropout, 8 gradient of x wanted, 16 masks of other rows; 0 is
 * plain layer norm. */
static result run(const ath_kernels *table, const problem *p, int parts) {
  result r = {blank_array(p->n),     blank_array(p->n), blank_array(p->rows),
              blank_array(p->rows),  blank_array(p->n), blank_array(p->n),
              blank_array(p->width), blank_array(p->width), blank_array(p->width)};
  float *scratch = blank_array(3 * ATH_ROW_BLOCKS * p->width);
  ath_dropout_key2 dropout = parts & 4 ? p->dropout : dropout_of(0);
  if (parts & 16) dropout.rows = p->chosen;
  table->layer_norm(p->x, parts & 1 ? p->bias : NULL, parts & 2 ? p->residual : NULL, p->gamma,
                    p->beta, parts != 0 ? r.z : NULL, r.y, r.mean, r.rstd, p->rows, p->width,
                    1e-5f, dropout);
  table->layer_norm_backward(parts != 0 ? r.z : p->x, p->gamma, r.mean, r.rstd, p->dy, r.dz,
                             parts & 8 ? r.dx : NULL, r.dgamma, r.dbeta,
                             parts & 1 ? r.dbias : NULL, p->rows, p->width, dropout, scratch);
  free(scratch);
  return r;
}

static void free_result(result *r) {
  free(r->z), free(r->y), free(r->mean), free(r->rstd), free(r->dz), free(r->dx);
  free(r->dgamma), free(r->dbeta), free(r->dbias);
}

static void every_table_agrees_with_the_reference(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{1, 1}, {1, 5}, {3, 64}, {17, 31}, {50, 256}, {120, 769}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (int parts = 0; parts < 32; parts++) {
      problem p = make_problem(shapes[s][0], shapes[s][1], 1u << 30);
      result want = run(reference_table(), &p, parts);
      FOR_TABLES(table) {
        result got = run(table, &p, parts);
        /* Of one column everything cancels but rounding, times 1 / sqrt(1e-5). */
        double tolerance = p.width == 1 ? 0.1 : 5e-6;
        if (parts != 0) assert_arrays_near("z", got.z, want.z, p.n, 1e-6);
        assert_arrays_near("y", got.y, want.y, p.n, 3e-6);
        assert_arrays_near("mean", got.mean, want.mean, p.rows, 2e-5); /* may nearly cancel */
        assert_arrays_near("rstd", got.rstd, want.rstd, p.rows, 2e-6);
        assert_arrays_near("dz", got.dz, want.dz, p.n, tolerance);
        if (parts & 8) assert_arrays_near("dx", got.dx, want.dx, p.n, tolerance);
        assert_arrays_near("dgamma", got.dgamma, want.dgamma, p.width, 2e-5);
        assert_arrays_near("dbeta", got.dbeta, want.dbeta, p.width, 1e-5);
        if (parts & 1)
          assert_arrays_near("dbias", got.dbias, want.dbias, p.width, fmax(tolerance, 1e-4));
        free_result(&got);
      }
      free_result(&want);
      free_problem(&p);
    }
}

/* Σ y * dy of layer_norm(residual + dropout(x + bias)) in double; v: x, bias, residual, gamma,
 * beta one after the other. */
static double objective(const problem *p, const double *v) {
  const double *x = v, *bias = x + p->n, *residual = bias + p->width;
  const double *gamma = residual + p->n, *beta = gamma + p->width;
  double total = 0, z[64];
  assert_true(p->width <= 64);
  for (int64_t i = 0; i < p->rows; i++) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < p->width; j++) {
      int64_t at = i * p->width + j;
      uint32_t index = (uint32_t)(p->chosen[i] * p->width + j);
      bool keeps = ath_dropout_hash(index, p->dropout.key) >= p->dropout.threshold;
      z[j] = residual[at] + (keeps ? (x[at] + bias[j]) * p->dropout.scale : 0);
      mean += z[j] / (double)p->width;
    }
    for (int64_t j = 0; j < p->width; j++) variance += (z[j] - mean) * (z[j] - mean);
    variance /= (double)p->width;
    for (int64_t j = 0; j < p->width; j++)
      total += p->dy[i * p->width + j] *
               ((z[j] - mean) / sqrt(variance + 1e-5) * gamma[j] + beta[j]);
  }
  return total;
}

static void gradients_agree_with_central_differences(void **state) {
  (void)state;
  problem p = make_problem(5, 24, 1u << 30);
  int64_t count = 2 * p.n + 3 * p.width;
  double *v = calloc((size_t)count, sizeof *v);
  float *want = blank_array(count);
  const float *inputs[] = {p.x, p.bias, p.residual, p.gamma, p.beta};
  int64_t sizes[] = {p.n, p.width, p.n, p.width, p.width};
  for (int64_t k = 0, at = 0; k < 5; k++)
    for (int64_t i = 0; i < sizes[k]; i++) v[at++] = inputs[k][i];
  for (int64_t i = 0; i < count; i++) {
    double h = 1e-5, kept = v[i];
    v[i] = kept + h;
    double above = objective(&p, v);
    v[i] = kept - h;
    want[i] = (float)((above - objective(&p, v)) / (2 * h));
    v[i] = kept;
  }
  FOR_ALL_TABLES(table) {
    result r = run(table, &p, 31);
    const float *got[] = {r.dx, r.dbias, r.dz, r.dgamma, r.dbeta};
    for (int64_t k = 0, at = 0; k < 5; at += sizes[k++])
      assert_arrays_near(table->isa, got[k], want + at, sizes[k], 1e-5);
    double total = 0;
    for (int64_t i = 0; i < p.n; i++) total += (double)r.y[i] * p.dy[i];
    assert_near(total, objective(&p, v), 1e-4, 1e-5);
    free_result(&r);
  }
  free(v), free(want);
  free_problem(&p);
}

static void rows_far_from_zero_keep_their_variance(void **state) {
  (void)state;
  problem p = make_problem(4, 300, 0);
  for (int64_t i = 0; i < p.n; i++) p.x[i] = 5000 + p.x[i];
  result want = run(reference_table(), &p, 0);
  FOR_TABLES(table) {
    result got = run(table, &p, 0);
    assert_arrays_near("y", got.y, want.y, p.n, 1e-3); /* a float near 5000 has steps of 5e-4 */
    free_result(&got);
  }
  free_result(&want);
  free_problem(&p);
}

static void the_number_of_threads_changes_no_bit(void **state) {
  (void)state;
  problem p = make_problem(101, 300, 1u << 30);
  int usual = omp_get_max_threads();
  FOR_TABLES(table) {
    omp_set_num_threads(1);
    result one = run(table, &p, 15);
    for (int threads = 2; threads <= 3; threads++) {
      omp_set_num_threads(threads);
      result more = run(table, &p, 15);
      assert_memory_equal(one.y, more.y, sizeof(float) * (size_t)p.n);
      assert_memory_equal(one.dx, more.dx, sizeof(float) * (size_t)p.n);
      assert_memory_equal(one.dgamma, more.dgamma, sizeof(float) * (size_t)p.width);
      assert_memory_equal(one.dbias, more.dbias, sizeof(float) * (size_t)p.width);
      free_result(&more);
    }
    free_result(&one);
  }
  omp_set_num_threads(usual);
  free_problem(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_table_agrees_with_the_reference),
      cmocka_unit_test(gradients_agree_with_central_differences),
      cmocka_unit_test(rows_far_from_zero_keep_their_variance),
      cmocka_unit_test(the_number_of_threads_changes_no_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
