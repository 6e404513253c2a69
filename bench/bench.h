/* bench.h: what the benchmarks share: clocks, the best of several runs, random arrays. */
#ifndef ATHANOR_BENCH_H
#define ATHANOR_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds: of the wall, or spent by this process. The second is for one thread on a busy machine:
 * it leaves out the time in which others had the processor. */
static inline double bench_now(bool processor_time) {
  struct timespec t;
  clock_gettime(processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sets `best` to the shortest time of the statement: at least three runs, and as many as fit into
 * `seconds`, after one that is not counted. */
#define BENCH(best, seconds, processor_time, ...)                               \
  do {                                                                          \
    __VA_ARGS__;                                                                \
    best = 1e30;                                                                \
    double end_ = bench_now(false) + (seconds);                                 \
    for (int run_ = 0; run_ < 3 || bench_now(false) < end_; run_++) {           \
      double start_ = bench_now(processor_time);                                \
      __VA_ARGS__;                                                              \
      double took_ = bench_now(processor_time) - start_;                        \
      if (took_ < best) best = took_;                                           \
    }                                                                           \
  } while (0)

/* `n` floats in −1 … 1, aligned to 64; ends the program without memory. */
static inline float *bench_array(size_t n) {
  float *out = aligned_alloc(64, (n * sizeof(float) + 127) / 64 * 64);
  if (out == NULL) {
    fprintf(stderr, "no memory for %zu floats\n", n);
    exit(1);
  }
  uint32_t bits = 12345;
  for (size_t i = 0; i < n; i++) {
    bits = bits * 1664525u + 1013904223u;
    out[i] = (float)(int32_t)bits * 0x1p-31f;
  }
  return out;
}

typedef struct bench_options {
  int threads;               /* --threads N */
  bool processor_time, json; /* --cpu, --json */
  double seconds;            /* --seconds S: of each measurement */
} bench_options;

/* Reads the options; returns the place of the first word that is none, or −1 with the reason
 * printed. */
static inline int bench_parse(int count, char **arguments, bench_options *o) {
  *o = (bench_options){.threads = 1, .seconds = 0.2};
  int i = 1;
  for (; i < count && strncmp(arguments[i], "--", 2) == 0; i++) {
    if (strcmp(arguments[i], "--cpu") == 0) o->processor_time = true;
    else if (strcmp(arguments[i], "--json") == 0) o->json = true;
    else if (i + 1 < count && strcmp(arguments[i], "--threads") == 0)
      o->threads = atoi(arguments[++i]);
    else if (i + 1 < count && strcmp(arguments[i], "--seconds") == 0)
      o->seconds = atof(arguments[++i]);
    else return fprintf(stderr, "unknown option %s\n", arguments[i]), -1;
  }
  if (o->threads < 1) return fprintf(stderr, "--threads needs a number above 0\n"), -1;
  return i;
}

#endif
