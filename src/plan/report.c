/* report.c: a plan for people, and as JSON. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "athanor/plan.h"
#include "base/buffer.h"

/* --- for people ---------------------------------------------------------------------------- */

static double gigabytes(int64_t bytes) { return (double)bytes / 1e9; }

static ath_status put_memory(const ath_plan_memory *m, bool fits, ath_buffer *out) {
  if (!fits && m->total >= 0)
    return ath_buffer_format(out, "  memory a chip   %.2f GB wanted, %.2f GB there\n",
                             gigabytes(m->total), gigabytes(m->limit));
  if (!fits) return ATH_OK;
  return ath_buffer_format(
      out,
      "  memory a chip   %.2f of %.2f GB: parameters %.2f, optimiser %.2f, inputs %.2f,\n"
      "                  activations and other temporaries %.2f, code %.2f\n",
      gigabytes(m->total), gigabytes(m->limit), gigabytes(m->parameters), gigabytes(m->optimizer),
      gigabytes(m->inputs), gigabytes(m->temporaries), gigabytes(m->code));
}

static ath_status put_times(const ath_plan_report *r, ath_buffer *out) {
  ATH_TRY(ath_buffer_format(
      out,
      "  step            %.1f ms (estimate): %.1f computing, %.1f moving data between chips\n"
      "  utilisation     %.1f %% of the bf16 peak (estimate): %.2f TFLOP of the model a chip\n"
      "  speed           %.0f tokens/s (estimate)\n",
      1e3 * r->step_seconds, 1e3 * r->compute_seconds, 1e3 * r->transfer_seconds, 100 * r->mfu,
      1e-12 * r->flops, r->tokens_per_second));
  if (r->uncounted > 0)
    ATH_TRY(ath_buffer_format(out, "  not counted     %lld operations of which the compiler gives "
                              "no estimate\n", (long long)r->uncounted));
  return ATH_OK;
}

/* Of a GPU the compiler counts no cycles. */
static ath_status put_no_times(const ath_plan_report *r, ath_buffer *out) {
  return ath_buffer_format(
      out,
      "  step            - not known: the compiler for GPUs gives no times\n"
      "  work            %.2f TFLOP of the model a GPU\n", 1e-12 * r->flops);
}

static ath_status put_run(const ath_plan_report *r, ath_buffer *out) {
  if (!(r->hours >= 0))
    return ath_buffer_string(out, "  the run         its length is not known: give max_steps, or a "
                             "train_dataset that exists\n");
  ATH_TRY(ath_buffer_format(out, "  the run         %lld steps: %.2f hours (estimate)",
                            (long long)r->steps, r->hours));
  if (!(r->cost >= 0)) return ath_buffer_string(out, ", no price known\n");
  return ath_buffer_format(out, ", $%.2f at $%.2f a chip-hour\n", r->cost, r->price);
}

/* Other batches than the run's own. */
static ath_status put_points(const ath_plan_report *r, ath_buffer *out) {
  for (size_t i = 0; r->point_count > 1 && i < r->point_count; i++) {
    const ath_plan_point *p = &r->points[i];
    ATH_TRY(ath_buffer_format(out, "  %-13s %6lld a chip ", i == 0 ? "batches" : "",
                              (long long)p->batch_per_chip));
    if (p->memory >= 0) ATH_TRY(ath_buffer_format(out, " %8.2f GB", gigabytes(p->memory)));
    if (p->step_seconds > 0)
      ATH_TRY(ath_buffer_format(out, " %9.1f ms (estimate)", 1e3 * p->step_seconds));
    ATH_TRY(ath_buffer_string(out, p->fits ? "\n" : "  does not fit\n"));
  }
  return ATH_OK;
}

static ath_status put_operations(const ath_plan_report *r, int top, ath_buffer *out) {
  size_t count = (size_t)top < r->operation_count ? (size_t)top : r->operation_count;
  if (count > 0)
    ATH_TRY(ath_buffer_string(out, "  the costliest operations (estimate)\n"
                              "       share        ms  times  name\n"));
  for (size_t i = 0; i < count; i++) {
    const ath_plan_operation *o = &r->operations[i];
    ATH_TRY(ath_buffer_format(out, "      %5.1f %%  %8.3f  %5lld  %s\n", 100 * o->share,
                              1e3 * o->seconds, (long long)o->count, o->name));
  }
  return ATH_OK;
}

ath_status ath_plan_report_print(const ath_plan_report *self, int top, ath_buffer *out) {
  const ath_plan_report *r = self;
  assert(top >= 0);
  ATH_TRY(ath_buffer_format(out, "%s: %d chip%s, %lld records a chip: %s\n", r->topology, r->chips,
                            r->chips == 1 ? "" : "s", (long long)r->batch_per_chip,
                            r->fits ? "fits" : "DOES NOT FIT"));
  ATH_TRY(put_memory(&r->memory, r->fits, out));
  if (r->fits && !(r->step_seconds > 0)) ATH_TRY(put_no_times(r, out));
  else if (r->fits) {
    ATH_TRY(put_times(r, out));
    ATH_TRY(put_run(r, out));
  }
  if (r->largest_batch_per_chip >= 0)
    ATH_TRY(ath_buffer_format(out, "  largest batch   %lld records a chip\n",
                              (long long)r->largest_batch_per_chip));
  ATH_TRY(put_points(r, out));
  ATH_TRY(ath_buffer_format(out, "  compiled in     %.1f s%s\n", r->compile_seconds,
                            r->cached ? ", earlier" : ""));
  if (r->reason != NULL) ATH_TRY(ath_buffer_format(out, "  %s\n", r->reason));
  return put_operations(r, top, out);
}

/* --- JSON ---------------------------------------------------------------------------------- */

/* ", "name": value"; NaN becomes null, as does a whole number that is not known. */
static ath_status put_double(ath_buffer *out, const char *name, double value) {
  ATH_TRY(ath_buffer_format(out, ", \"%s\": ", name));
  return ath_buffer_double(out, value);
}

static ath_status put_whole(ath_buffer *out, const char *name, int64_t value) {
  ATH_TRY(ath_buffer_format(out, ", \"%s\": ", name));
  return value >= 0 ? ath_buffer_integer(out, value) : ath_buffer_string(out, "null");
}

static ath_status put_kinds(const ath_plan_memory *m, ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, ", \"memory\": {\"unit\": \"bytes\""));
  ATH_TRY(put_whole(out, "parameters", m->parameters));
  ATH_TRY(put_whole(out, "optimizer", m->optimizer));
  ATH_TRY(put_whole(out, "inputs", m->inputs));
  ATH_TRY(put_whole(out, "temporaries", m->temporaries));
  ATH_TRY(put_whole(out, "code", m->code));
  return ath_buffer_byte(out, '}');
}

static ath_status put_json_points(const ath_plan_report *r, ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, ", \"batches\": ["));
  for (size_t i = 0; i < r->point_count; i++) {
    const ath_plan_point *p = &r->points[i];
    ATH_TRY(ath_buffer_format(out, "%s{\"batch_per_chip\": %lld, \"fits\": %s", i > 0 ? ", " : "",
                              (long long)p->batch_per_chip, p->fits ? "true" : "false"));
    ATH_TRY(put_whole(out, "memory_bytes", p->memory));
    ATH_TRY(put_double(out, "step_seconds", p->step_seconds));
    ATH_TRY(ath_buffer_byte(out, '}'));
  }
  return ath_buffer_byte(out, ']');
}

static ath_status put_json_operations(const ath_plan_report *r, int top, ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, ", \"operations\": ["));
  for (size_t i = 0; i < (size_t)top && i < r->operation_count; i++) {
    const ath_plan_operation *o = &r->operations[i];
    ATH_TRY(ath_buffer_string(out, i > 0 ? ", {\"name\": " : "{\"name\": "));
    ATH_TRY(ath_buffer_json(out, o->name, strlen(o->name)));
    ATH_TRY(put_whole(out, "count", o->count));
    ATH_TRY(put_double(out, "seconds", o->seconds));
    ATH_TRY(put_double(out, "share", o->share));
    ATH_TRY(ath_buffer_byte(out, '}'));
  }
  return ath_buffer_byte(out, ']');
}

ath_status ath_plan_report_print_json(const ath_plan_report *self, int top, ath_buffer *out) {
  const ath_plan_report *r = self;
  assert(top >= 0);
  ATH_TRY(ath_buffer_string(out, "{\"topology\": "));
  ATH_TRY(ath_buffer_json(out, r->topology, strlen(r->topology)));
  ATH_TRY(put_whole(out, "chips", r->chips));
  ATH_TRY(ath_buffer_format(out, ", \"fits\": %s", r->fits ? "true" : "false"));
  ATH_TRY(put_whole(out, "memory_bytes", r->memory.total));
  ATH_TRY(put_whole(out, "memory_limit_bytes", r->memory.limit));
  ATH_TRY(put_double(out, "step_seconds", r->step_seconds));
  ATH_TRY(put_double(out, "mfu", r->mfu));
  ATH_TRY(put_double(out, "tokens_per_second", r->tokens_per_second));
  ATH_TRY(put_whole(out, "largest_batch_per_chip", r->largest_batch_per_chip));
  ATH_TRY(put_double(out, "compile_seconds", r->compile_seconds));
  ATH_TRY(ath_buffer_string(out, ", \"times_are\": \"estimates\""));
  ATH_TRY(put_whole(out, "batch_per_chip", r->batch_per_chip));
  ATH_TRY(put_kinds(&r->memory, out));
  ATH_TRY(put_double(out, "compute_seconds", r->compute_seconds));
  ATH_TRY(put_double(out, "transfer_seconds", r->transfer_seconds));
  ATH_TRY(put_double(out, "model_flops_per_chip", r->flops));
  ATH_TRY(put_whole(out, "steps", r->steps));
  ATH_TRY(put_double(out, "hours", r->hours));
  ATH_TRY(put_double(out, "price_per_chip_hour", r->price >= 0 ? r->price : NAN));
  ATH_TRY(put_double(out, "cost", r->cost));
  ATH_TRY(put_json_points(r, out));
  if (r->reason != NULL) {
    ATH_TRY(ath_buffer_string(out, ", \"reason\": "));
    ATH_TRY(ath_buffer_json(out, r->reason, strlen(r->reason)));
  }
  if (top > 0) ATH_TRY(put_json_operations(r, top, out));
  return ath_buffer_byte(out, '}');
}
