/* kernel_testing.h: the tables under test, random arrays, comparison of arrays. */
#ifndef ATHANOR_KERNEL_TESTING_H
#define ATHANOR_KERNEL_TESTING_H

#include <math.h>
#include <omp.h>
#include <stdbool.h>

#include "testing.h"

#include "kernels/kernels.h"

/* Runs the body with `table` for every table that this machine can run but the reference. */
#define FOR_TABLES(table)                                                    \
  for (int table_##table = 0; table_##table < 3; table_##table++)            \
    for (const ath_kernels *table = ath_kernels_named(table_names[table_##table]); table != NULL; \
         table = NULL)
/* The same with the reference among them. */
#define FOR_ALL_TABLES(table)                                                \
  for (int table_##table = 0; table_##table < 4; table_##table++)            \
    for (const ath_kernels *table = ath_kernels_named(table_names[table_##table]); table != NULL; \
         table = NULL)
static const char *const table_names[] = {"baseline", "avx2", "avx512", "reference"};

static inline const ath_kernels *reference_table(void) {
  const ath_kernels *table = ath_kernels_named("reference");
  assert_non_null(table);
  return table;
}

static uint64_t random_state = 88172645463325252u;

/* xorshift64 (Marsaglia 2003). */
static inline uint32_t random_bits(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state >> 32);
}

static inline float random_float(float low, float high) {
  return low + (high - low) * ((float)(random_bits() >> 8) * 0x1p-24f);
}

/* `n` random floats in −1 … 1; at least one, aligned to 64. Freed by the caller. */
static inline float *random_array(int64_t n) {
  size_t bytes = ((size_t)(n > 0 ? n : 1) * sizeof(float) + 63) / 64 * 64;
  float *out = aligned_alloc(64, bytes);
  assert_non_null(out);
  for (int64_t i = 0; i < n; i++) out[i] = random_float(-1, 1);
  return out;
}

/* The same, full of a value that no kernel should leave standing. */
static inline float *blank_array(int64_t n) {
  float *out = random_array(n);
  for (int64_t i = 0; i < n; i++) out[i] = 12345;
  return out;
}

/* Every |got − want| <= tolerance * (largest |want| + 1e-3). */
static inline void assert_arrays_near(const char *what, const float *got, const float *want,
                                      int64_t n, double tolerance) {
  double scale = 1e-3;
  for (int64_t i = 0; i < n; i++) scale = fmax(scale, fabs((double)want[i]));
  for (int64_t i = 0; i < n; i++)
    if (!(fabs((double)got[i] - want[i]) <= tolerance * scale))
      fail_msg("%s: element %lld of %lld is %.9g, not %.9g", what, (long long)i, (long long)n,
               (double)got[i], (double)want[i]);
}

static inline ath_dropout_key2 dropout_of(uint32_t threshold) {
  float rate = (float)threshold / 4294967296.0f;
  return (ath_dropout_key2){.key = {0x12345678u, 0x9abcdef0u}, .threshold = threshold,
                            .scale = threshold == 0 ? 1 : 1 / (1 - rate)};
}

#endif
