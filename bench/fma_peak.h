/* fma_peak.h: the most f32 multiply-adds this machine can do from registers. */
#ifndef ATHANOR_BENCH_FMA_PEAK_H
#define ATHANOR_BENCH_FMA_PEAK_H

#include <omp.h>

#include "bench.h"

#if defined __x86_64__

/* Twelve independent chains cover a latency of four cycles on two or three units. */
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define STEP256(r) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #r "\n\t"
#define STEP512(r) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" #r "\n\t"
#define CLOBBER(r) "xmm" #r,

/* `steps` turns of 12 multiply-adds of 8 or 16 lanes. */
static inline void fma_256(long steps) {
  __asm__ volatile("vzeroall\n\t1:\n\t" CHAINS(STEP256) "dec %0\n\tjnz 1b\n\tvzeroupper"
                   : "+r"(steps) : : CHAINS(CLOBBER) "xmm12", "xmm13", "cc");
}

static inline void fma_512(long steps) {
  __asm__ volatile("vzeroall\n\t1:\n\t" CHAINS(STEP512) "dec %0\n\tjnz 1b\n\tvzeroupper"
                   : "+r"(steps) : : CHAINS(CLOBBER) "xmm12", "xmm13", "cc");
}

/* GFLOP/s of `threads` threads, the best of several runs; 0 where there is no FMA. */
static inline double fma_peak(int threads, bool processor_time) {
  const long steps = 4000000;
  bool wide = __builtin_cpu_supports("avx512f");
  if (!__builtin_cpu_supports("fma")) return 0;
  double best;
  BENCH(best, 0.3, processor_time, {
    _Pragma("omp parallel num_threads(threads)") {
      if (wide) fma_512(steps);
      else fma_256(steps);
    }
  });
  return 2.0 * 12 * (wide ? 16 : 8) * (double)steps * threads / best * 1e-9;
}

#else

static inline double fma_peak(int threads, bool processor_time) {
  (void)threads, (void)processor_time;
  return 0;
}

#endif

#endif
