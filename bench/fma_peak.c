/* fma_peak.c: prints the peak of f32 multiply-adds from registers, in GFLOP/s.
 *
 *     bench_fma_peak [THREADS [cpu]]
 *
 * "cpu" counts the processor's time instead of the wall's (one thread on a busy machine). */
#include "fma_peak.h"

int main(int count, char **arguments) {
  int threads = count > 1 ? atoi(arguments[1]) : 1;
  bool processor_time = count > 2 && strcmp(arguments[2], "cpu") == 0;
  if (threads < 1 || threads > 1024) {
    fprintf(stderr, "usage: %s [THREADS [cpu]]\n", arguments[0]);
    return 2;
  }
  printf("{\"bench\": \"fma_peak\", \"threads\": %d, \"f32_gflops\": %.1f}\n", threads,
         fma_peak(threads, processor_time));
  return 0;
}
