/* names.h: our names for what the compiler calls "fusion.123".
 *
 * Where the text of a module gives no locations, the compiler keeps the line of each statement; the
 * statement's name says which node of the graph it belongs to. */
#ifndef ATHANOR_PLAN_NAMES_H
#define ATHANOR_PLAN_NAMES_H

#include "base/buffer.h"
#include "plan/xla_program.h"

enum { ATH_PLAN_NAME_MAX = 160 };

typedef struct ath_line_names {
  const char **lines; /* where each line of the text begins; points into it */
  int count;
} ath_line_names;

/* The text must outlive the names, which lie in the arena. */
ath_status ath_line_names_make(const ath_buffer *text, ath_arena *arena, ath_line_names *out)
    ATH_MUST_CHECK;

/* What the compiler made this instruction from: "layer.3.attention"; without a location, the
 * compiler's own name without its number. Numbers after a dot become N, so that layers come
 * together: "layer.N.attention". */
void ath_plan_name(const ath_line_names *self, const ath_xla_instruction *instruction,
                   char out[ATH_PLAN_NAME_MAX]);
/* The same for a line of the text, counted from 1; "" if it makes no value. */
void ath_plan_line_name(const ath_line_names *self, int64_t line, char out[ATH_PLAN_NAME_MAX]);

#endif
