/* compile.h: the compiler's verdict on a module for a slice, from the cache or by asking it. */
#ifndef ATHANOR_PLAN_COMPILE_H
#define ATHANOR_PLAN_COMPILE_H

#include "plan/chips.h"

/* What the compiler said. Free it. */
typedef struct ath_verdict {
  bool fits, cached;
  ath_pjrt_memory memory;      /* where there is a program */
  int64_t limit;               /* bytes of memory that a device has; −1: not said */
  double seconds;              /* that the compiler took */
  ath_buffer program;          /* the optimised program; of a TPU only where it fits */
  ath_buffer reason, largest;  /* where not: the compiler's text, and its table of large buffers */
} ath_verdict;

void ath_verdict_init(ath_verdict *self);
void ath_verdict_free(ath_verdict *self);
/* Of memory, on one device; where there is a program. */
int64_t ath_verdict_bytes(const ath_verdict *self);

/* Compiles, or reads what was compiled before. `explain` asks for the table where it does not fit,
 * which takes a second run of the compiler. May be called by several threads at a time. */
ath_status ath_plan_compile(ath_pjrt_plugin *plugin, const ath_slice *slice, const ath_buffer *text,
                            bool explain, ath_verdict *out) ATH_MUST_CHECK;

#endif
