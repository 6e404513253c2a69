/* overrides.h: compiler options that the user sets by hand, from the variable ATHANOR_XLA_OPTIONS:
 * "xla_backend_optimization_level=0,xla_cpu_enable_fast_math=true". They go to the compiler with
 * the program, not through XLA_FLAGS, where a wrong name ends the process. */
#ifndef ATHANOR_BACKENDS_PJRT_OVERRIDES_H
#define ATHANOR_BACKENDS_PJRT_OVERRIDES_H

#include "backends/pjrt/client.h"

enum { ATH_XLA_OVERRIDES_MAX = 32, ATH_XLA_OVERRIDES_BYTES = 2048 };

typedef struct ath_xla_overrides {
  char text[ATH_XLA_OVERRIDES_BYTES]; /* names and strings lie here */
  ath_pjrt_option items[ATH_XLA_OVERRIDES_MAX];
  size_t count;
} ath_xla_overrides;

/* "true" and "false" are flags, whole numbers and decimal fractions numbers, all else strings. No
 * variable: none. ATH_USAGE for a text that is not a list of name=value. */
ath_status ath_xla_overrides_read(ath_xla_overrides *out) ATH_MUST_CHECK;

#endif
