/* gemm.c: GFLOP/s of the matrix products of training, ours against oneDNN's, and their share of
 * the machine's peak.
 *
 *     bench_gemm [--threads N] [--cpu] [--json] [--seconds S] [M,N,K,TA,TB ...]
 *
 * Without shapes it takes those of a step of the mini (4096 tokens) and the base size (1024).
 * --cpu counts the processor's time (one thread on a busy machine). */
#include "fma_peak.h"
#include "kernels/kernels.h"

typedef struct options {
  bench_options bench;
  double peak;
} options;

static const ath_gemm_shape usual[] = {
    /* forward: x wᵀ */
    {.m = 4096, .n = 768, .k = 256, .transpose_b = 1},
    {.m = 4096, .n = 256, .k = 256, .transpose_b = 1},
    {.m = 4096, .n = 1024, .k = 256, .transpose_b = 1},
    {.m = 4096, .n = 256, .k = 1024, .transpose_b = 1},
    {.m = 752, .n = 8192, .k = 256, .transpose_b = 1},
    {.m = 1024, .n = 2304, .k = 768, .transpose_b = 1},
    {.m = 1024, .n = 768, .k = 768, .transpose_b = 1},
    {.m = 1024, .n = 3072, .k = 768, .transpose_b = 1},
    {.m = 1024, .n = 768, .k = 3072, .transpose_b = 1},
    {.m = 200, .n = 32000, .k = 768, .transpose_b = 1},
    /* backward: dx = dy w */
    {.m = 4096, .n = 256, .k = 768},
    {.m = 4096, .n = 256, .k = 1024},
    {.m = 752, .n = 256, .k = 8192},
    {.m = 1024, .n = 768, .k = 3072},
    /* backward: dw = dyᵀ x */
    {.m = 768, .n = 256, .k = 4096, .transpose_a = 1},
    {.m = 1024, .n = 256, .k = 4096, .transpose_a = 1},
    {.m = 8192, .n = 256, .k = 752, .transpose_a = 1},
    {.m = 3072, .n = 768, .k = 1024, .transpose_a = 1},
    {.m = 32000, .n = 768, .k = 200, .transpose_a = 1},
};

static void stop(const char *what) {
  fprintf(stderr, "%s: %s\n", what, ath_error_text());
  exit(1);
}

/* GFLOP/s of one engine, or 0 if it cannot be had. */
static double measure(const char *engine, ath_gemm_shape s, const options *o) {
  ath_gemm *plan;
  setenv("ATHANOR_GEMM", engine, 1);
  if (ath_gemm_create(s, &plan) != ATH_OK) return 0;
  float *a = bench_array((size_t)(s.m * s.k)), *b = bench_array((size_t)(s.k * s.n));
  float *c = bench_array((size_t)(s.m * s.n)), *scratch = bench_array(ath_gemm_scratch(plan) / 4);
  double best;
  BENCH(best, o->bench.seconds, o->bench.processor_time,
        if (ath_gemm_run(plan, a, b, NULL, c, scratch) != ATH_OK) stop(engine));
  ath_gemm_destroy(plan);
  free(a), free(b), free(c), free(scratch);
  return 2e-9 * (double)s.m * (double)s.n * (double)s.k / best;
}

static void report(ath_gemm_shape s, const options *o) {
  double own = measure("own", s, o), onednn = measure("onednn", s, o);
  const char *form = o->bench.json
      ? "{\"bench\": \"gemm\", \"threads\": %d, \"m\": %lld, \"n\": %lld, \"k\": %lld, "
        "\"transposed\": \"%s\", \"own\": %.1f, \"onednn\": %.1f, \"own_share\": %.3f, "
        "\"onednn_share\": %.3f}\n"
      : "%d  %6lld %6lld %6lld %2s  own %7.1f  onednn %7.1f  of the peak %5.3f %5.3f\n";
  const char *transposed =
      s.transpose_a ? s.transpose_b ? "tt" : "tn" : s.transpose_b ? "nt" : "nn";
  double peak = o->peak > 0 ? o->peak : 1e30;
  printf(form, o->bench.threads, (long long)s.m, (long long)s.n, (long long)s.k, transposed, own,
         onednn, own / peak, onednn / peak);
  fflush(stdout);
}

int main(int count, char **arguments) {
  options o = {0};
  int i = bench_parse(count, arguments, &o.bench);
  if (i < 0) return 2;
  omp_set_num_threads(o.bench.threads);
  o.peak = fma_peak(o.bench.threads, o.bench.processor_time);
  if (!o.bench.json) printf("peak %.1f GFLOP/s on %d threads\n", o.peak, o.bench.threads);
  for (size_t k = 0; i == count && k < sizeof usual / sizeof usual[0]; k++) report(usual[k], &o);
  for (; i < count; i++) {
    long long m, n, k;
    ath_gemm_shape s = {0};
    if (sscanf(arguments[i], "%lld,%lld,%lld,%d,%d", &m, &n, &k, &s.transpose_a,
               &s.transpose_b) != 5)
      return fprintf(stderr, "%s: expected M,N,K,TA,TB\n", arguments[i]), 2;
    s.m = m, s.n = n, s.k = k;
    report(s, &o);
  }
  return 0;
}
