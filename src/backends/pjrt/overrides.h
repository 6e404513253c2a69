/* overrides.h: what the user tells the compiler by variables: options by ATHANOR_XLA_OPTIONS,
 * "xla_backend_optimization_level=0,xla_cpu_enable_fast_math=true", and the partitioner of meshes
 * by ATHANOR_PARTITIONER. Options go to the compiler with the program, not through XLA_FLAGS, where
 * a wrong name ends the process. */
#ifndef ATHANOR_BACKENDS_PJRT_OVERRIDES_H
#define ATHANOR_BACKENDS_PJRT_OVERRIDES_H

#include "backends/pjrt/client.h"

enum { ATH_XLA_OVERRIDES_MAX = 32, ATH_XLA_OVERRIDES_BYTES = 2048 };

typedef struct ath_xla_overrides {
  char text[ATH_XLA_OVERRIDES_BYTES]; /* names and strings lie here */
  ath_pjrt_option items[ATH_XLA_OVERRIDES_MAX + 1]; /* there is room for one of the caller's */
  size_t count;
  bool shardy; /* the partitioner; both read the same annotations */
} ath_xla_overrides;

/* "true" and "false" are flags, whole numbers and decimal fractions numbers, all else strings. No
 * variable: none. ATH_USAGE for a text that is not a list of name=value, and for another
 * partitioner than gspmd and shardy. */
ath_status ath_xla_overrides_read(ath_xla_overrides *out) ATH_MUST_CHECK;

/* The compile options of a program for so many devices; they point into `self`. */
ath_pjrt_compile_options ath_xla_overrides_options(const ath_xla_overrides *self, int devices);

/* The status of a compile with them: where options were given, a failure's text names the variable,
 * since the compiler names at most the option. */
ath_status ath_xla_overrides_context(const ath_xla_overrides *self, ath_status status)
    ATH_MUST_CHECK;

#endif
