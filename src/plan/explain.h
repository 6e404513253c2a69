/* explain.h: why a step does not fit, in the model's own names, and what to change. */
#ifndef ATHANOR_PLAN_EXPLAIN_H
#define ATHANOR_PLAN_EXPLAIN_H

#include "plan/compile.h"

/* The bytes that the compiler's text says are needed, "(22.30G)"; −1 where it does not. */
int64_t ath_wanted_bytes(const char *reason);

/* A text of several lines, in the arena: the largest buffers of the compiler's table, with the
 * nodes of the module `text` that have values of their shapes, and what would help. A dimension
 * that is shared among `chips` chips is that much larger in the module. */
ath_status ath_explain(const ath_verdict *verdict, const ath_buffer *text, int chips,
                       ath_arena *arena, const char **out) ATH_MUST_CHECK;

#endif
