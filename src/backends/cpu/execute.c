/* execute.c: running a program, and what it reports about itself. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/program.h"
#include "base/clock.h"

/* A search by name: a dozen inputs, once a step, cost nothing beside the step. */
ath_status ath_cpu_program_set_input(ath_program *base, const char *name, const void *data) {
  cpu_program *self = (cpu_program *)base;
  for (size_t i = 0; i < self->input_count; i++) {
    if (strcmp(self->inputs[i].name, name) != 0) continue;
    self->inputs[i].data = data;
    /* The calls take void pointers for all their inputs; none writes to one. */
    for (size_t s = 0; s < self->slot_count; s++)
      if (self->slots[s].input == i) *self->slots[s].slot = (void *)data;
    return ATH_OK;
  }
  return ath_fail(ATH_NOT_FOUND, "the program has no input %s", name);
}

/* Here and not in each node: a pointer that was never set must not reach a kernel. */
static ath_status check_inputs(const cpu_program *self) {
  for (size_t i = 0; i < self->input_count; i++)
    if (self->inputs[i].is_read && self->inputs[i].data == NULL)
      return ath_fail(ATH_INVALID, "input %s has not been set before the run",
                      self->inputs[i].name);
  return ATH_OK;
}

static void copy(const program_copy *copies, size_t count) {
  for (size_t i = 0; i < count; i++) {
    assert(copies[i].from != NULL && copies[i].to != NULL && copies[i].from != copies[i].to);
    memcpy(copies[i].to, copies[i].from, copies[i].bytes);
  }
}

static ath_status run_step(cpu_program *self, cpu_step *step) {
  double start = self->profiling ? seconds_now() : 0;
  ATH_TRY_CONTEXT(step->call.node->op->cpu(&step->call), "%s", step->call.node->name);
  if (self->profiling) step->seconds += seconds_now() - start;
  return ATH_OK;
}

/* Nothing here allocates, searches or decides: the steps were made ready by prepare.c. A run that
 * fails leaves variables as they were as far as the failing node comes before the first assignment
 * in place; ids and labels are checked by the first nodes. */
ath_status ath_cpu_program_run(ath_program *base) {
  cpu_program *self = (cpu_program *)base;
  ATH_TRY(check_inputs(self));
  copy(self->before, self->before_count);
  for (size_t i = 0; i < self->step_count; i++) ATH_TRY(run_step(self, &self->steps[i]));
  copy(self->after, self->after_count);
  if (self->profiling) self->profiled_runs++;
  return ATH_OK;
}

/* A run is over when it returns. */
ath_status ath_cpu_program_wait(ath_program *base) {
  (void)base;
  return ATH_OK;
}

ath_status ath_cpu_program_get_output(ath_program *base, int runs_ago, const char *name,
                                      void *data) {
  cpu_program *self = (cpu_program *)base;
  assert(runs_ago == 0);
  for (size_t i = 0; i < self->output_count; i++) {
    if (strcmp(self->outputs[i].name, name) != 0) continue;
    assert(self->outputs[i].memory != NULL);
    memcpy(data, self->outputs[i].memory, self->outputs[i].bytes);
    return ATH_OK;
  }
  return ath_fail(ATH_NOT_FOUND, "the program has no output %s", name);
}

ath_program_stats ath_cpu_program_get_stats(const ath_program *base) {
  return ((const cpu_program *)base)->stats;
}

/* --- profile ------------------------------------------------------------------------ */

void ath_cpu_program_profile(ath_program *base, bool on) {
  ((cpu_program *)base)->profiling = on;
}

/* All nodes of one kind. */
typedef struct kind_time {
  const char *name;
  size_t nodes;
  double seconds, flops;
} kind_time;

static int costliest_first(const void *left, const void *right) {
  const kind_time *a = left, *b = right;
  return a->seconds < b->seconds ? 1 : a->seconds > b->seconds ? -1 : strcmp(a->name, b->name);
}

/* Fills one entry per kind of operation, in order of appearance; returns their number. */
static size_t add_up(const cpu_program *self, kind_time *kinds, double *total) {
  size_t count = 0;
  *total = 0;
  for (size_t i = 0; i < self->step_count; i++) {
    const ath_cpu_call *call = &self->steps[i].call;
    const ath_op *op = call->node->op;
    size_t k = 0;
    while (k < count && strcmp(kinds[k].name, op->name) != 0) k++;
    if (k == count) kinds[count++] = (kind_time){.name = op->name};
    kinds[k].nodes++;
    kinds[k].seconds += self->steps[i].seconds;
    if (op->flops != NULL)
      kinds[k].flops += op->flops(call->node, call->input_types, call->output_types);
    *total += self->steps[i].seconds;
  }
  return count;
}

ath_status ath_cpu_program_profile_print(const ath_program *base, ath_buffer *out) {
  const cpu_program *self = (const cpu_program *)base;
  if (self->profiled_runs == 0) return ath_fail(ATH_INVALID, "no run has been profiled");
  kind_time *kinds = calloc(self->step_count + 1, sizeof *kinds);
  if (kinds == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a profile");
  double total, runs = (double)self->profiled_runs;
  size_t count = add_up(self, kinds, &total);
  assert(count <= self->step_count);
  qsort(kinds, count, sizeof *kinds, costliest_first);
  ath_status status = ath_buffer_format(out, "%-26s %6s %10s %7s %9s\n", "operation", "nodes",
                                        "ms/run", "share", "GFLOP/s");
  for (size_t k = 0; k < count && status == ATH_OK; k++) {
    double seconds = kinds[k].seconds / runs;
    status = ath_buffer_format(out, "%-26s %6zu %10.3f %6.1f%% %9.1f\n", kinds[k].name,
                               kinds[k].nodes, 1e3 * seconds,
                               total > 0 ? 100 * kinds[k].seconds / total : 0.0,
                               seconds > 0 ? 1e-9 * kinds[k].flops / seconds : 0.0);
  }
  if (status == ATH_OK)
    status = ath_buffer_format(out, "%-26s %6zu %10.3f %6.1f%%\n", "all", self->step_count,
                               1e3 * total / runs, 100.0);
  free(kinds);
  return status;
}
