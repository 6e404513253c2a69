/* run.c: running a program on the device, and what it reports about itself. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "backends/pjrt/program.h"
#include "base/clock.h"

/* Of programs without outputs, to which nothing else sets a bound. */
enum { RUNS_AHEAD_MAX = 4 };

ath_status ath_xla_program_set_input(ath_program *base, const char *name, const void *data) {
  xla_program *self = (xla_program *)base;
  for (size_t i = 0; i < self->input_count; i++) {
    if (strcmp(self->inputs[i].name, name) != 0) continue;
    self->inputs[i].data = data;
    return ATH_OK;
  }
  return ath_fail(ATH_NOT_FOUND, "the program has no input %s", name);
}

/* --- checks, on the host ------------------------------------------------------------------- */

static ath_status check_inputs(const xla_program *self) {
  for (size_t i = 0; i < self->input_count; i++)
    if (self->inputs[i].is_read && self->inputs[i].data == NULL)
      return ath_fail(ATH_INVALID, "input %s has not been set before the run",
                      self->inputs[i].name);
  return ATH_OK;
}

static ath_status check_ids(const xla_program *self, const xla_id_check *check) {
  const xla_input *input = &self->inputs[check->input];
  const int32_t *ids = input->data;
  const float *weights = check->has_weights ? self->inputs[check->weights].data : NULL;
  int64_t count = ath_xla_input_count(self->state->backend, &input->type);
  assert(input->type.dtype == ATH_I32 && check->limit > 0);
  if (!input->is_read) return ATH_OK;
  for (int64_t i = 0; i < count; i++)
    if ((ids[i] < 0 || ids[i] >= check->limit) && (weights == NULL || weights[i] != 0))
      return ath_fail(ATH_INVALID, "%s: %s has %" PRId32 " at position %" PRId64
                      ", not one of %" PRId64, check->node, input->name, ids[i], i, check->limit);
  return ATH_OK;
}

/* --- arguments and results ----------------------------------------------------------------- */

/* An input's parts, as self->parts. They are copied to the devices now; the host's memory may
 * change as soon as the run is under way. */
static ath_status put_input(const xla_program *self, const xla_input *input) {
  return ath_context(
      ath_xla_put_input(self->state->backend, &input->type, input->data, self->parts), "input %s",
      input->name);
}

/* Variables stay the state's. */
static ath_status gather_argument(xla_program *self, int index) {
  const ath_hlo_port *port = &self->signature.arguments[index];
  size_t place = self->argument_places[index];
  ath_pjrt_buffer *const *parts = self->parts;
  if (port->kind == ATH_HLO_VARIABLE)
    ATH_TRY(ath_xla_state_buffers(self->state, place, &parts));
  else
    ATH_TRY(put_input(self, &self->inputs[place]));
  for (int d = 0; d < self->state->backend->here; d++)
    self->arguments[d * self->signature.argument_count + index] = parts[d];
  return ATH_OK;
}

/* The devices keep what a run still needs of them. */
static void release_inputs(xla_program *self, int gathered) {
  for (int d = 0; d < self->state->backend->here; d++)
    for (int i = 0; i < gathered; i++)
      if (self->signature.arguments[i].kind == ATH_HLO_INPUT)
        ath_pjrt_buffer_destroy(self->arguments[d * self->signature.argument_count + i]);
}

/* The variable's buffers were donated to the run; its new value, which may still be in the making,
 * takes their place. */
static void adopt_variable(xla_program *self, size_t place) {
  ath_xla_state_adopt(self->state, place, self->parts);
}

static void adopt_output(xla_program *self, xla_output *output) {
  ath_pjrt_buffer_destroy(output->buffers[ATH_XLA_HISTORY - 1]);
  for (int h = ATH_XLA_HISTORY - 1; h > 0; h--) output->buffers[h] = output->buffers[h - 1];
  output->buffers[0] = self->parts[0];
  self->parts[0] = NULL;
  ath_xla_release(self->state->backend, self->parts, self->state->backend->here);
}

static void adopt_results(xla_program *self) {
  int count = self->signature.result_count;
  for (int i = 0; i < count; i++) {
    for (int d = 0; d < self->state->backend->here; d++) {
      self->parts[d] = self->results[d * count + i];
      assert(self->parts[d] != NULL);
    }
    if (self->signature.results[i].kind == ATH_HLO_NEW_VARIABLE)
      adopt_variable(self, self->result_places[i]);
    else
      adopt_output(self, &self->outputs[self->result_places[i]]);
  }
}

/* --- running ------------------------------------------------------------------------------- */

static ath_status start(xla_program *self) {
  int gathered = 0, count = self->signature.argument_count;
  ath_status status = ATH_OK;
  while (gathered < count && status == ATH_OK) {
    status = gather_argument(self, gathered);
    gathered += status == ATH_OK;
  }
  if (status == ATH_OK)
    status = ath_pjrt_execute(self->executable, self->arguments, count, self->results);
  release_inputs(self, gathered);
  if (status == ATH_OK) adopt_results(self);
  return status;
}

ath_status ath_xla_program_wait(ath_program *base) {
  xla_program *self = (xla_program *)base;
  ath_pjrt_buffer *const *last = NULL;
  if (self->runs == 0) return ATH_OK;
  self->state->ahead = 0;
  if (self->output_count > 0) last = &self->outputs[0].buffers[0];
  else if (self->signature.result_count > 0)
    ATH_TRY(ath_xla_state_buffers(self->state, self->result_places[0], &last));
  return last != NULL ? ath_pjrt_buffer_wait(last[0]) : ATH_OK;
}

/* The host is at most one run of a program ahead of the device: it prepares the next batch and
 * copies it while the device works, and no queue grows. A failure of the run before comes to light
 * here. */
static ath_status stay_near(xla_program *self) {
  if (self->profiling) return ath_xla_program_wait(&self->base);
  if (self->output_count == 0)
    return ++self->state->ahead < RUNS_AHEAD_MAX ? ATH_OK : ath_xla_program_wait(&self->base);
  ath_pjrt_buffer *before = self->outputs[0].buffers[1];
  return before != NULL ? ath_pjrt_buffer_wait(before) : ATH_OK;
}

/* Does not wait for this run. Whatever is refused is refused before anything changes; a failure on
 * the device is told by whoever reads an output or a variable. */
ath_status ath_xla_program_run(ath_program *base) {
  xla_program *self = (xla_program *)base;
  double began = seconds_now();
  ATH_TRY(check_inputs(self));
  for (size_t i = 0; i < self->check_count; i++) ATH_TRY(check_ids(self, &self->checks[i]));
  ath_xla_tell_compilations(self->state->backend);
  ATH_TRY(start(self));
  self->runs++;
  ATH_TRY(stay_near(self));
  if (!self->profiling) return ATH_OK;
  self->profiled_runs++;
  self->profiled_seconds += seconds_now() - began;
  return ATH_OK;
}

ath_status ath_xla_program_get_output(ath_program *base, int runs_ago, const char *name,
                                      void *data) {
  xla_program *self = (xla_program *)base;
  assert(runs_ago >= 0 && runs_ago < ATH_XLA_HISTORY && (uint64_t)runs_ago < self->runs);
  for (size_t i = 0; i < self->output_count; i++) {
    const xla_output *output = &self->outputs[i];
    if (strcmp(output->name, name) != 0) continue;
    return ath_context(ath_pjrt_buffer_read(output->buffers[runs_ago], data,
                                            ath_type_bytes(&output->type)), "output %s", name);
  }
  return ath_fail(ATH_NOT_FOUND, "the program has no output %s", name);
}

/* --- reports ------------------------------------------------------------------------------- */

ath_program_stats ath_xla_program_get_stats(const ath_program *base) {
  return ((const xla_program *)base)->stats;
}

void ath_xla_program_profile(ath_program *base, bool on) {
  ((xla_program *)base)->profiling = on;
}

/* The compiler has fused the nodes: there is one time for all of them. */
ath_status ath_xla_program_profile_print(const ath_program *base, ath_buffer *out) {
  const xla_program *self = (const xla_program *)base;
  if (self->profiled_runs == 0) return ath_buffer_string(out, "no run was profiled\n");
  double seconds = self->profiled_seconds / (double)self->profiled_runs;
  ATH_TRY(ath_buffer_format(out, "%-26s %6s %10s %9s\n", "operation", "nodes", "ms/run",
                            "GFLOP/s"));
  return ath_buffer_format(out, "%-26s %6zu %10.3f %9.1f\n", "the whole program",
                           self->stats.nodes, 1e3 * seconds,
                           seconds > 0 ? 1e-9 * self->stats.flops / seconds : 0.0);
}
