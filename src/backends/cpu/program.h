/* program.h: a program as prepare.c makes it and execute.c runs it. Internal to backends/cpu/. */
#ifndef ATHANOR_BACKENDS_CPU_PROGRAM_H
#define ATHANOR_BACKENDS_CPU_PROGRAM_H

#include "backends/cpu/execute.h"
#include "backends/cpu/plan.h"
#include "base/arena.h"
#include "graph/op.h"

typedef struct cpu_step {
  ath_cpu_call call;
  double seconds; /* in profiled runs */
} cpu_step;

/* A pointer that set_input changes. */
typedef struct input_slot {
  void **slot;
  size_t input;
} input_slot;

typedef struct program_input {
  const char *name;
  bool is_read; /* by a needed node: it must be set before a run */
  const void *data;
} program_input;

/* Before the first or after the last step. */
typedef struct program_copy {
  void *from, *to;
  size_t bytes;
} program_copy;

typedef struct program_output {
  const char *name;
  const void *memory;
  size_t bytes;
} program_output;

/* Everything but the workspace, and what steps have prepared, lies in the arena. */
typedef struct cpu_program {
  ath_program base;
  ath_arena *arena;
  char *workspace;
  cpu_step *steps;
  program_input *inputs;
  input_slot *slots;
  program_output *outputs;
  program_copy *before, *after;
  size_t step_count, input_count, slot_count, output_count, before_count, after_count;
  size_t profiled_runs;
  bool profiling;
  ath_program_stats stats;
} cpu_program;

#endif
