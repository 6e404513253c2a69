/* kernels.c: speed of the kernels that are not matrix products: attention in GFLOP/s, the others
 * in GB/s of the bytes they must read and write.
 *
 *     bench_kernels [--threads N] [--cpu] [--json] [--seconds S]
 *
 * --cpu counts the processor's time (one thread on a busy machine). */
#include <omp.h>

#include "bench.h"
#include "kernels/kernels.h"

static const ath_dropout_key2 no_dropout = {.scale = 1};
static const ath_dropout_key2 dropout = {.key = {1, 2}, .threshold = 429496730u, .scale = 1 / 0.9f};

static void report(const char *name, double value, const char *unit, const bench_options *o) {
  if (o->json)
    printf("{\"bench\": \"kernels\", \"kernel\": \"%s\", \"threads\": %d, \"%s\": %.2f}\n", name,
           o->threads, unit, value);
  else
    printf("%-44s %8.2f %s\n", name, value, unit);
  fflush(stdout);
}

static void attention(const ath_kernels *k, ath_attention_shape s, bool drops,
                      const bench_options *o) {
  size_t rows = (size_t)(s.batch * s.length * s.heads * s.head_size);
  ath_dropout_key2 key = drops ? dropout : no_dropout;
  float *qkv = bench_array(3 * rows), *dqkv = bench_array(3 * rows), *out = bench_array(rows);
  float *dout = bench_array(rows), *lse = bench_array((size_t)(s.batch * s.heads * s.length));
  float *scratch = bench_array(k->attention_scratch(s, 1) / sizeof(float));
  int32_t *mask = calloc((size_t)(s.batch * s.length), sizeof *mask);
  for (int64_t i = 0; mask != NULL && i < s.batch * s.length; i++) mask[i] = 1;
  double best, pair = 2e-9 * (double)(s.batch * s.heads * s.length * s.length * s.head_size);
  char name[100];
  const char *shape = "attention%s (%lld,%lld,%lld,%lld)%s";
  BENCH(best, o->seconds, o->processor_time, k->attention(qkv, mask, out, lse, s, key, scratch));
  snprintf(name, sizeof name, shape, "", (long long)s.batch, (long long)s.length,
           (long long)s.heads, (long long)s.head_size, drops ? " dropout" : "");
  report(name, 2 * pair / best, "GFLOP/s", o);
  BENCH(best, o->seconds, o->processor_time,
        k->attention_backward(qkv, mask, out, lse, dout, dqkv, s, key, scratch));
  snprintf(name, sizeof name, shape, " backward", (long long)s.batch, (long long)s.length,
           (long long)s.heads, (long long)s.head_size, drops ? " dropout" : "");
  report(name, 5 * pair / best, "GFLOP/s", o);
  free(qkv), free(dqkv), free(out), free(dout), free(lse), free(scratch), free(mask);
}

/* Kernels over rows x width floats. */
static void rows(const ath_kernels *k, int64_t n, int64_t width, const bench_options *o) {
  size_t all = (size_t)(n * width);
  float *x = bench_array(all), *y = bench_array(all), *z = bench_array(all), *r = bench_array(all);
  float *w = bench_array((size_t)width), *b = bench_array((size_t)width);
  float *dw = bench_array((size_t)width), *db = bench_array((size_t)width);
  float *dbias = bench_array((size_t)width);
  float *mean = bench_array((size_t)n), *rstd = bench_array((size_t)n);
  float *scratch = bench_array((size_t)(3 * ATH_ROW_BLOCKS * width));
  double best, gigabytes = 4e-9 * (double)all;
#define RUN(name, passes, call)                              \
  BENCH(best, o->seconds, o->processor_time, call);          \
  report(name, passes * gigabytes / best, "GB/s", o)
  RUN("layer_norm", 2, k->layer_norm(x, NULL, NULL, w, b, NULL, y, mean, rstd, n, width, 1e-5f,
                                     no_dropout));
  RUN("layer_norm residual, bias, dropout", 4,
      k->layer_norm(x, b, r, w, b, z, y, mean, rstd, n, width, 1e-5f, dropout));
  RUN("layer_norm_backward dropout", 4,
      k->layer_norm_backward(z, w, mean, rstd, y, r, x, dw, db, dbias, n, width, dropout, scratch));
  RUN("gelu", 2, k->activation(x, b, y, n, width, ATH_KERNEL_GELU));
  RUN("gelu backward", 3, k->activation_backward(x, b, y, z, n, width, ATH_KERNEL_GELU));
  RUN("dropout", 2, k->dropout(x, y, n, width, dropout));
  RUN("add", 3, k->add(x, y, z, n * width, n * width));
  RUN("reduce_rows", 1, k->reduce_rows(x, dw, n, width, scratch));
  RUN("sum_of_squares", 1, (void)k->sum_of_squares(x, n * width));
#undef RUN
  free(x), free(y), free(z), free(r), free(w), free(b), free(dw), free(db), free(dbias);
  free(mean), free(rstd), free(scratch);
}

static void cross_entropy(const ath_kernels *k, int64_t n, int64_t classes,
                          const bench_options *o) {
  float *logits = bench_array((size_t)(n * classes)), *lse = bench_array((size_t)n), sums[3];
  float *weights = bench_array((size_t)n);
  int32_t *labels = calloc((size_t)n, sizeof *labels);
  for (int64_t i = 0; i < n; i++) weights[i] = 1;
  double best, gigabytes = 4e-9 * (double)(n * classes);
  BENCH(best, o->seconds, o->processor_time,
        (void)k->cross_entropy(logits, labels, weights, n, classes, lse, sums));
  report("cross_entropy", gigabytes / best, "GB/s", o);
  BENCH(best, o->seconds, o->processor_time,
        k->cross_entropy_backward(logits, labels, weights, lse, 1, n, classes, logits));
  report("cross_entropy_backward", 2 * gigabytes / best, "GB/s", o);
  free(logits), free(lse), free(weights), free(labels);
}

static void adamw(const ath_kernels *k, int64_t n, const bench_options *o) {
  float *p = bench_array((size_t)n), *m = bench_array((size_t)n), *v = bench_array((size_t)n);
  float *g = bench_array((size_t)n);
  for (int64_t i = 0; i < n; i++) v[i] *= v[i];
  double best;
  BENCH(best, o->seconds, o->processor_time,
        k->adamw(p, m, v, g, n, 1, 1e-4f, 0.1f, 0.001f, 0.9f, 0.999f, 1e-8f, 0.01f));
  report("adamw", 28e-9 * (double)n / best, "GB/s", o);
  free(p), free(m), free(v), free(g);
}

int main(int count, char **arguments) {
  bench_options o;
  int i = bench_parse(count, arguments, &o);
  if (i < 0) return 2;
  if (i < count) return fprintf(stderr, "unknown option %s\n", arguments[i]), 2;
  omp_set_num_threads(o.threads);
  const ath_kernels *k;
  if (ath_kernels_get(&k) != ATH_OK) return fprintf(stderr, "%s\n", ath_error_text()), 1;
  for (int drops = 0; drops < 2; drops++) {
    attention(k, (ath_attention_shape){32, 128, 4, 64}, drops, &o);
    attention(k, (ath_attention_shape){8, 128, 12, 64}, drops, &o);
  }
  attention(k, (ath_attention_shape){2, 512, 12, 64}, false, &o);
  rows(k, 4096, 256, &o);
  cross_entropy(k, 752, 8192, &o);
  adamw(k, 8000000, &o);
  return 0;
}
