/* program.h: a program as program.c makes it and run.c runs it. Internal to the XLA engine. */
#ifndef ATHANOR_BACKENDS_PJRT_PROGRAM_H
#define ATHANOR_BACKENDS_PJRT_PROGRAM_H

#include "backends/pjrt/engine.h"
#include "base/arena.h"
#include "stablehlo/module.h"

typedef struct xla_input {
  const char *name;
  ath_type type;
  bool is_read; /* by the executable: it must be set before a run */
  const void *data;
} xla_input;

/* An input whose elements must lie in 0 … limit − 1: rows of a table, classes. The device would
 * silently take another row. */
typedef struct xla_id_check {
  size_t input;
  bool has_weights; /* ids whose weight is 0 are not read */
  size_t weights;   /* an input too */
  int64_t limit;
  const char *node;
} xla_id_check;

typedef struct xla_output {
  const char *name;
  ath_type type;
  /* Of the latest run, of the one before; outputs are whole on every device, the first's stay. */
  ath_pjrt_buffer *buffers[ATH_XLA_HISTORY];
} xla_output;

/* Everything but executable and buffers lies in the arena. */
typedef struct xla_program {
  ath_program base;
  ath_xla_state *state;
  ath_arena *arena;
  ath_pjrt_executable *executable;
  ath_hlo_signature signature;
  size_t *argument_places; /* [argument]: of its variable in the state, or among inputs */
  size_t *result_places;   /* [result]: of its variable in the state, or among outputs */
  ath_pjrt_buffer **arguments, **results; /* of the run being started: [here][index] */
  ath_pjrt_buffer **parts;                /* of one value, [here] */
  xla_input *inputs;
  xla_id_check *checks;
  xla_output *outputs;
  size_t input_count, check_count, output_count;
  uint64_t runs;
  bool profiling;
  size_t profiled_runs;
  double profiled_seconds;
  ath_program_stats stats;
} xla_program;

#endif
