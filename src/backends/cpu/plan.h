/* plan.h: where every value of a program lies, decided before the first run.
 *
 * Time is counted in nodes: 0 is before the run, i + 1 is node i, node_count + 1 is after the run.
 * A storage is a run of bytes of the workspace that is in use from `first` to `last`; storages
 * whose times do not overlap may share addresses. */
#ifndef ATHANOR_BACKENDS_CPU_PLAN_H
#define ATHANOR_BACKENDS_CPU_PLAN_H

#include "base/arena.h"
#include "graph/op.h"

typedef struct ath_cpu_storage {
  size_t size, offset;
  size_t first, last;
} ath_cpu_storage;

/* Gives each storage an offset, a multiple of 64, so that no two that are in use at one time
 * overlap; with `reuse` false no two overlap at all. Largest first, each into the smallest gap
 * that holds it (greedy by size: Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net
 * Inference", 2020). Returns the bytes needed in `*total`. */
ath_status ath_cpu_allocate(ath_cpu_storage *storages, size_t count, bool reuse, size_t *total)
    ATH_MUST_CHECK;

typedef enum ath_cpu_place_kind {
  ATH_CPU_NOWHERE, /* no needed node touches the value */
  ATH_CPU_WORKSPACE,
  ATH_CPU_VARIABLE,
  ATH_CPU_INPUT,
} ath_cpu_place_kind;

typedef struct ath_cpu_place {
  ath_cpu_place_kind kind;
  size_t offset;   /* in the workspace */
  ath_value value; /* the variable or input */
} ath_cpu_place;

typedef struct ath_cpu_copy {
  ath_cpu_place from, to;
  size_t bytes;
} ath_cpu_copy;

typedef struct ath_cpu_plan {
  ath_cpu_place *places;         /* [value] */
  ath_cpu_place *output_places;  /* [output of the graph] */
  size_t *scratch;               /* [node]: offset in the workspace */
  ath_cpu_copy *before, *after;  /* what the run copies before the first and after the last node */
  size_t before_count, after_count;
  size_t workspace_bytes, unplanned_bytes;
} ath_cpu_plan;

/* Plans for the needed nodes of a graph, views left out, in order. `scratch_sizes[node_count]` in
 * bytes. All memory of the plan is the arena's. `reuse` false gives every value memory of its
 * own and writes variables only after the run (for tests, which compare both). */
ath_status ath_cpu_plan_make(const ath_graph *graph, const ath_node *const *nodes,
                             size_t node_count, const size_t *scratch_sizes, bool reuse,
                             ath_arena *arena, ath_cpu_plan *out) ATH_MUST_CHECK;

#endif
