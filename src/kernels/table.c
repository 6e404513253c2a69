/* table.c: one table per instruction set, and the choice among them when the program starts. */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/own.h"
#include "kernels/table.h"

#define TABLE(isa_name, text)                       \
  ATH_KERNEL_LIST(ATH_KERNEL_DECLARE, isa_name)     \
  static const ath_kernels table_##isa_name = {.isa = text, \
                                               ATH_KERNEL_LIST(ATH_KERNEL_ENTRY, isa_name)};

static const ath_kernels table_reference = {.isa = "reference",
                                            ATH_KERNEL_LIST(ATH_KERNEL_ENTRY, reference)};
TABLE(baseline, "baseline")
#if defined __x86_64__
TABLE(avx2, "AVX2")
TABLE(avx512, "AVX-512")

static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
}

static bool has_avx512(void) {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

static bool has_baseline(void) { return __builtin_cpu_supports("sse4.2"); }
#else
static bool has_baseline(void) { return true; }
#endif

static bool always(void) { return true; }

/* Best first; the reference is for tests and is never chosen by itself. */
static const struct instruction_set {
  const char *name; /* as ATHANOR_ISA takes it */
  const ath_kernels *table;
  const own_gemm *gemm;
  bool (*runs)(void);
} sets[] = {
#if defined __x86_64__
    {"avx512", &table_avx512, &own_gemm_avx512, has_avx512},
    {"avx2", &table_avx2, &own_gemm_avx2, has_avx2},
#endif
    {"baseline", &table_baseline, &own_gemm_baseline, has_baseline},
    {"reference", &table_reference, &own_gemm_baseline, always},
};
enum { SETS = sizeof sets / sizeof sets[0] };

static const struct instruction_set *set_named(const char *name) {
  for (int i = 0; i < SETS; i++)
    if (strcmp(sets[i].name, name) == 0) return sets[i].runs() ? &sets[i] : NULL;
  return NULL;
}

/* What ATHANOR_ISA names, or the best that this machine runs; NULL if it cannot run the named. */
static const struct instruction_set *choose(const char *wanted) {
  if (wanted != NULL && wanted[0] != '\0') return set_named(wanted);
  for (int i = 0; i < SETS; i++)
    if (sets[i].runs()) return &sets[i];
  return NULL;
}

static ath_status refuse(const char *wanted) {
  return ath_fail(ATH_UNSUPPORTED, "ATHANOR_ISA=%s: this machine cannot run it or it is unknown; "
                  "unset it or choose among avx512, avx2, baseline", wanted);
}

const ath_kernels *ath_kernels_named(const char *isa) {
  const struct instruction_set *set = set_named(isa);
  return set != NULL ? set->table : NULL;
}

ath_status ath_kernels_get(const ath_kernels **out) {
  const char *wanted = getenv("ATHANOR_ISA");
  const struct instruction_set *set = choose(wanted);
  if (set == NULL) return refuse(wanted != NULL ? wanted : "");
  assert(set->runs());
  *out = set->table;
  return ATH_OK;
}

ath_status own_gemm_get(const own_gemm **out) {
  const char *wanted = getenv("ATHANOR_ISA");
  const struct instruction_set *set = choose(wanted);
  if (set == NULL) return refuse(wanted != NULL ? wanted : "");
  *out = set->gemm;
  return ATH_OK;
}

int ath_thread_limit(void) {
  enum { LEAST = 4, MOST = 512 };
  static _Atomic int limit; /* every thread writes the same */
  if (limit == 0) {
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    limit = processors < LEAST ? LEAST : processors > MOST ? MOST : (int)processors;
  }
  return limit;
}
