/* cost.h: what a compiled program costs, by the compiler's own estimates.
 *
 * Each fusion carries the cycles that the compiler expects of it. Their sum over the entry
 * computation, bodies of loops taken as often as they run and of choices the cheapest branch, is
 * the program's compute time. Data moved between chips is not in it: that is listed by bytes, and
 * chips.h turns it into time. What has no estimate (gathers, sorts) is counted, so that a report
 * can say what is missing. */
#ifndef ATHANOR_PLAN_COST_H
#define ATHANOR_PLAN_COST_H

#include "plan/names.h"

typedef enum ath_collective {
  ATH_ALL_REDUCE, ATH_ALL_GATHER, ATH_REDUCE_SCATTER, ATH_ALL_TO_ALL, ATH_PERMUTE
} ath_collective;

/* All transfers of one kind among groups of one size. */
typedef struct ath_traffic {
  ath_collective kind;
  int64_t group;  /* devices; 0: all */
  double bytes;   /* of results on one device, over all runs */
  int64_t count;
} ath_traffic;

/* Operations with one name, by ath_plan_name. */
typedef struct ath_part {
  const char *name;
  double cycles;
  int64_t count;
} ath_part;

enum { ATH_TRAFFIC_MAX = 16 };

typedef struct ath_cost {
  double cycles;
  ath_traffic traffic[ATH_TRAFFIC_MAX];
  int traffic_count;
  ath_part *parts; /* the costliest first */
  int part_count;
  int64_t uncounted;      /* operations that take time and have no estimate */
  double uncounted_bytes; /* of their results */
} ath_cost;

/* Everything lies in the arena. ATH_CORRUPT where computations call each other in a circle. */
ath_status ath_cost_of(const ath_xla_program *program, const ath_line_names *names,
                       ath_arena *arena, ath_cost *out) ATH_MUST_CHECK;

#endif
