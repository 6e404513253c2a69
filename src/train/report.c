/* report.c: what a run tells while it works: progress, TensorBoard, log.jsonl. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "train/run.h"

static double epoch_of(const ath_run *run) {
  assert(run->batches_per_epoch > 0);
  return (double)run->position.batch / (double)run->batches_per_epoch;
}

/* 0 where nothing was counted, as in a run that had nothing left to do. */
static double mean(double sum, double count) {
  return count != 0 ? sum / count : 0;
}

/* Operations of the matrix products and attention. */
static double flops_of(const ath_run *run, double steps) {
  return ath_program_get_stats(ath_step_program(run->step)).flops *
         (double)run->options.gradient_accumulation_steps * steps;
}

/* In 10^9 operations per second. */
static double gflops_over(const ath_run *run, double steps, double seconds) {
  return mean(1e-9 * flops_of(run, steps), seconds);
}

/* --- files --------------------------------------------------------------------------------- */

ath_status ath_run_open_reports(ath_run *self) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, self->options.output_dir, "runs"));
  ATH_TRY(ath_events_create(path, self->resumed_from, &self->events));
  ATH_TRY(ath_path_join(path, self->options.output_dir, "log.jsonl"));
  self->log = fopen(path, "a");
  if (self->log == NULL) return ath_fail_errno(errno, "%s", path);
  return ATH_OK;
}

ath_status ath_run_close_reports(ath_run *self) {
  ath_status status = self->events != NULL ? ath_events_close(self->events) : ATH_OK;
  self->events = NULL;
  if (self->log != NULL && fclose(self->log) != 0 && status == ATH_OK)
    status = ath_fail_errno(errno, "%s/log.jsonl", self->options.output_dir);
  self->log = NULL;
  return status;
}

typedef struct scalar {
  const char *name; /* "train/loss": TensorBoard's tag; the log leaves out what is before '/' of
                       train, and writes '_' for '/' otherwise */
  double value;
} scalar;

/* A number for the log; NaN and infinities as Python's json module spells them. */
static ath_status append_number(ath_buffer *line, double value) {
  if (isnan(value)) return ath_buffer_string(line, "NaN");
  if (isinf(value)) return ath_buffer_string(line, value > 0 ? "Infinity" : "-Infinity");
  return ath_buffer_double(line, value);
}

static ath_status append_scalar(ath_buffer *line, const scalar *s) {
  const char *slash = strchr(s->name, '/');
  assert(slash != NULL);
  bool train = strncmp(s->name, "train/", 6) == 0;
  int group = train ? 0 : (int)(slash - s->name);
  ATH_TRY(ath_buffer_format(line, ", \"%.*s%s%s\": ", group, s->name, train ? "" : "_",
                            slash + 1));
  return append_number(line, s->value);
}

/* One line of log.jsonl and the same numbers to TensorBoard. */
static ath_status write_scalars(ath_run *run, const scalar *scalars, size_t count) {
  if (!ath_run_leads(run)) return ATH_OK;
  assert(run->events != NULL && run->log != NULL);
  ath_buffer line = ath_buffer_make(1 << 14);
  ath_status status = ath_buffer_format(&line, "{\"step\": %lld", (long long)run->position.step);
  scalar epoch = {"train/epoch", epoch_of(run)};
  if (status == ATH_OK) status = append_scalar(&line, &epoch);
  for (size_t i = 0; i < count && status == ATH_OK; i++) {
    status = append_scalar(&line, &scalars[i]);
    if (status == ATH_OK)
      status = ath_events_scalar(run->events, run->position.step, scalars[i].name,
                                 (float)scalars[i].value);
  }
  if (status == ATH_OK) status = ath_buffer_string(&line, "}\n");
  if (status == ATH_OK && (fwrite(line.bytes, 1, line.length, run->log) != line.length ||
                           fflush(run->log) != 0))
    status = ath_fail_errno(errno, "%s/log.jsonl", run->options.output_dir);
  ath_buffer_free(&line);
  return status;
}

/* --- reports ------------------------------------------------------------------------------- */

ath_status ath_run_report(ath_run *self, const ath_step_result *latest, double learning_rate) {
  const ath_run_window *w = &self->window;
  const scalar scalars[] = {
    {"train/loss", mean(w->loss_sum, w->weight_sum)},
    {"train/accuracy", mean(w->correct_sum, w->weight_sum)},
    {"train/learning_rate", learning_rate},
    {"train/grad_norm", latest->norm},
    {"train/tokens_per_second", mean((double)w->tokens, w->seconds)},
    {"train/peak_share", mean(gflops_over(self, (double)w->steps, w->seconds),
                              self->peak_gflops)},
  };
  self->window = (ath_run_window){0};
  return write_scalars(self, scalars, sizeof scalars / sizeof *scalars);
}

ath_status ath_run_report_eval(ath_run *self) {
  const ath_eval_result *e = &self->eval;
  const scalar scalars[] = {
    {"eval/loss", e->loss}, {"eval/accuracy", e->accuracy}, {"eval/perplexity", e->perplexity}};
  ath_log(ATH_LOG_INFO, "step %lld: eval loss %.4f, perplexity %.2f, accuracy %.2f %%",
          (long long)self->position.step, e->loss, e->perplexity, 100 * e->accuracy);
  return write_scalars(self, scalars, sizeof scalars / sizeof *scalars);
}

void ath_run_show_progress(const ath_run *self, double learning_rate, bool finished) {
  char detail[96];
  const ath_run_window *w = &self->window;
  assert(w->steps > 0);
  snprintf(detail, sizeof detail, "loss %.3f · lr %.2e", mean(w->loss_sum, w->weight_sum),
           learning_rate);
  ath_progress progress = {
    .task = "training", .done = (uint64_t)self->position.step,
    .total = (uint64_t)self->schedule.total_steps, .unit = "steps", .detail = detail,
    .rate = mean((double)w->tokens, w->seconds), .rate_unit = "tokens/s", .finished = finished,
    .due = self->position.step % self->options.logging_steps == 0};
  ath_log_progress(&progress);
}

/* --- at the start ------------------------------------------------------------------------ */

int64_t ath_run_records_per_step(const ath_run *self) {
  return (int64_t)self->batch_size * self->options.gradient_accumulation_steps;
}

/* "4 devices x 2 records x 3 micro-batches = 24 records a step"; nothing where they are one. */
void ath_run_tell_batch(const ath_run *self) {
  const ath_train_options *o = &self->options;
  int shares = ath_mesh_shares(&self->mesh);
  char micro[48] = "", same[64] = "";
  if (shares == 1 && o->gradient_accumulation_steps == 1) return;
  if (o->gradient_accumulation_steps > 1)
    snprintf(micro, sizeof micro, " x %lld micro-batches",
             (long long)o->gradient_accumulation_steps);
  if (self->mesh.model > 1)
    snprintf(same, sizeof same, ", each record on %d devices", self->mesh.model);
  ath_log(ATH_LOG_INFO, "%d device%s x %lld records%s = %lld records a step%s", shares,
          shares > 1 ? "s" : "", (long long)o->per_device_train_batch_size, micro,
          (long long)ath_run_records_per_step(self), same);
}

/* --- what it came to ----------------------------------------------------------------------- */

void ath_run_summarise(const ath_run *self, ath_train_summary *out) {
  const ath_run_position *p = &self->position;
  double samples = (double)ath_dataset_size(self->data), steps = (double)p->step;
  if (!ath_run_leads(self)) return;
  *out = (ath_train_summary){
    .steps = p->step, .total_steps = self->schedule.total_steps, .epochs = epoch_of(self),
    .train_loss = mean(p->loss_sum, p->weight_sum),
    .evaluated = self->evaluated, .eval = self->eval,
    .samples = ath_dataset_size(self->data), .records_per_step = ath_run_records_per_step(self),
    .tokens = p->tokens, .seconds = p->seconds,
    .samples_per_second = mean(epoch_of(self) * samples, p->seconds),
    .steps_per_second = mean(steps, p->seconds),
    .tokens_per_second = mean((double)p->tokens, p->seconds),
    .gflops = gflops_over(self, steps, p->seconds), .total_flos = flops_of(self, steps),
    .parameters = ath_model_size(self->model), .resumed_from = self->resumed_from,
  };
}
