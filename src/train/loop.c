/* loop.c: a training run from start to saved model. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/outcome.h"
#include "train/together.h"

/* --- one step ------------------------------------------------------------------------------ */

/* Gives the step after those under way to the device, one micro-batch after the other. */
static ath_status start_step(ath_run *run) {
  int64_t count = run->options.gradient_accumulation_steps;
  int64_t step = run->position.step + run->in_flight;
  uint64_t first = run->position.batch + (uint64_t)(run->in_flight * count);
  assert(step < run->schedule.total_steps && run->in_flight < ATH_FLIGHTS_MAX);
  ath_run_flight flight = {.learning_rate = ath_schedule_rate(&run->schedule, step),
                           .first_batch = first};
  for (int64_t i = 0; i < count; i++) {
    const ath_batch *batch;
    ATH_TRY(ath_batcher_next(run->batcher, &batch));
    assert(batch->number == first + (uint64_t)i);
    flight.tokens += (uint64_t)batch->tokens;
    if (i < count - 1) ATH_TRY(ath_step_add(run->step, batch));
    else ATH_TRY(ath_step_start(run->step, batch, step, flight.learning_rate));
  }
  ATH_TRY(ath_run_tell_step(run, &flight));
  run->flights[step % ATH_FLIGHTS_MAX] = flight;
  run->in_flight++;
  return ATH_OK;
}

/* Sums, so that a window's mean loss weighs by scored positions like a step's. */
static void add_to_window(ath_run_window *window, const ath_step_result *result, uint64_t tokens,
                          double seconds) {
  window->loss_sum += result->loss;
  window->weight_sum += result->weight;
  window->correct_sum += result->correct;
  window->tokens += tokens;
  window->seconds += seconds;
  window->steps++;
}

/* Logs the step as it was, NaN and all, and says where it went wrong. */
static ath_status diverged(ath_run *run, const ath_step_result *result,
                           const ath_run_flight *flight) {
  ATH_TRY(ath_run_report(run, result, flight->learning_rate));
  if (ath_run_leads(run)) ATH_TRY(ath_events_flush(run->events));
  char back[64] = "there is no checkpoint yet";
  if (run->saved_step > 0)
    snprintf(back, sizeof back, "checkpoint-%lld is whole", (long long)run->saved_step);
  const char *culprit = ath_step_culprit(run->step);
  run->agreed = true;
  return ath_fail(ATH_DIVERGED,
                  "step %lld: loss %g, learning rate %g, gradient norm %g: training diverged in "
                  "batch %llu%s%s; %s. Try a lower learning_rate, a longer warm-up or a lower "
                  "max_grad_norm",
                  (long long)run->position.step, result->loss / result->weight,
                  flight->learning_rate, result->norm, (unsigned long long)flight->first_batch,
                  culprit != NULL ? "; the first gradient that is not finite is " : "",
                  culprit != NULL ? culprit : "", back);
}

enum { WORSE_THAN_GUESSING_MAX = 3 };

/* A model that knows nothing has a loss of log(vocabulary). One whose mean loss stays a nat above
 * that, report after report, has diverged though its numbers are finite. */
static ath_status check_progress(ath_run *run, double loss, double learning_rate) {
  double guessing = log((double)ath_model_get_config(run->model)->vocab_size);
  run->worse_than_guessing = loss > guessing + 1 ? run->worse_than_guessing + 1 : 0;
  if (run->worse_than_guessing < WORSE_THAN_GUESSING_MAX) return ATH_OK;
  run->agreed = true;
  return ath_fail(ATH_DIVERGED,
                  "step %lld: loss %g, worse than guessing (%.3f) for %d reports in a row: "
                  "training diverged at learning rate %g. Try a lower learning_rate or a longer "
                  "warm-up", (long long)run->position.step, loss, guessing,
                  WORSE_THAN_GUESSING_MAX, learning_rate);
}

/* By the time spent in steps, of all processes that worked on the run. */
static bool out_of_time(const ath_run *run) {
  double bound = 60 * run->options.max_train_minutes;
  return bound > 0 && run->position.seconds >= bound;
}

static bool is_multiple(int64_t step, int64_t every) {
  return every > 0 && step % every == 0;
}

/* Where the device may work on a step while the host reads the results of the one before, the next
 * is started early: but not when, before it, these weights are evaluated or saved. */
static bool may_start_another(const ath_run *run) {
  const ath_train_options *o = &run->options;
  int64_t step = run->position.step + run->in_flight;
  int most = ath_backend_history(run->backend);
  if (run->in_flight == 0) return true;
  return run->in_flight < (most < ATH_FLIGHTS_MAX ? most : ATH_FLIGHTS_MAX) &&
         step < run->schedule.total_steps && !is_multiple(step, o->eval_steps) &&
         !is_multiple(step, o->save_steps) && !ath_profile_is_border(&run->profile, step) &&
         !ath_run_stop_asked(run) && !out_of_time(run);
}

/* Moves the position past the oldest step under way. */
static void advance(ath_run *run, const ath_run_flight *flight, const ath_step_result *result,
                    double seconds) {
  ath_run_position *p = &run->position;
  assert(run->in_flight > 0);
  run->in_flight--;
  add_to_window(&run->window, result, flight->tokens, seconds);
  p->step++;
  p->batch += (uint64_t)run->options.gradient_accumulation_steps;
  p->loss_sum += result->loss;
  p->weight_sum += result->weight;
  p->tokens += flight->tokens;
  run->clock += seconds;
  if (run->group.processes == 1) p->seconds = run->clock;
  run->evaluated = false;
}

static ath_status take_step(ath_run *run) {
  double start = seconds_now();
  ath_step_result result;
  while (may_start_another(run)) ATH_TRY(start_step(run));
  ATH_TRY(ath_step_read(run->step, run->in_flight - 1, &result));
  ath_run_flight flight = run->flights[run->position.step % ATH_FLIGHTS_MAX];
  ATH_TRY(ath_run_hear_step(run, &flight));
  advance(run, &flight, &result, seconds_now() - start);
  int64_t step = run->position.step;
  if (!isfinite(result.loss) || !isfinite(result.norm)) return diverged(run, &result, &flight);
  bool last = run->in_flight == 0 &&
              (step == run->schedule.total_steps || out_of_time(run) || ath_run_stop_asked(run));
  ath_run_show_progress(run, flight.learning_rate, last);
  if (step % run->options.logging_steps != 0 && !last) return ATH_OK;
  double loss = run->window.loss_sum / run->window.weight_sum;
  ATH_TRY(ath_run_report(run, &result, flight.learning_rate));
  return check_progress(run, loss, flight.learning_rate);
}

/* --- the run ------------------------------------------------------------------------------- */

/* Evaluates unless these very weights have been. */
static ath_status evaluate(ath_run *run) {
  if (run->evaluator == NULL || run->evaluated) return ATH_OK;
  ath_status status = ath_evaluator_run(run->evaluator, &run->eval);
  run->agreed = status == ATH_DIVERGED;
  ATH_TRY_CONTEXT(status, "step %lld, learning rate %g", (long long)run->position.step,
                  run->options.learning_rate);
  run->evaluated = true;
  return ath_run_report_eval(run);
}

static void start_profile(ath_run *run) {
  if (ath_run_leads(run))
    ath_profile_start(&run->profile, run->backend, run->position.step);
}

/* No step is under way where a profile ends. */
static void finish_profile(ath_run *run, bool over) {
  assert(!over || run->in_flight == 0);
  if (!ath_run_leads(run)) return;
  ath_profile_finish(&run->profile, run->backend, run->position.step, over,
                     run->options.output_dir);
}

/* Steps that are under way when it is time to stop are finished first. */
static ath_status take_steps(ath_run *run) {
  const ath_train_options *o = &run->options;
  int64_t total = run->schedule.total_steps;
  while (run->in_flight > 0 ||
         (run->position.step < total && !ath_run_stop_asked(run) && !out_of_time(run))) {
    start_profile(run);
    ATH_TRY(take_step(run));
    finish_profile(run, false);
    int64_t step = run->position.step;
    if (is_multiple(step, o->eval_steps) && step < total) ATH_TRY(evaluate(run));
    if (!is_multiple(step, o->save_steps) || step == total) continue;
    ATH_TRY(ath_run_save_checkpoint(run));
    ath_run_push_checkpoint(run);
  }
  finish_profile(run, true);
  if (out_of_time(run) && run->position.step < total)
    ath_log(ATH_LOG_WARNING, "max_train_minutes is over at step %lld of %lld",
            (long long)run->position.step, (long long)total);
  return ATH_OK;
}

/* What a signal ends with: all that was done is in a checkpoint. */
static ath_status interrupted(ath_run *run, ath_train_summary *summary) {
  assert(run->position.step > 0 && ath_run_stop_asked(run));
  ATH_TRY(ath_run_save_checkpoint(run));
  ath_run_summarise(run, summary);
  run->agreed = true;
  return ath_fail(ATH_INTERRUPTED, "stopped at step %lld of %lld; checkpoint-%lld in %s holds it, "
                  "and the same command goes on from there", (long long)run->position.step,
                  (long long)run->schedule.total_steps, (long long)run->position.step,
                  run->options.output_dir);
}

static bool is_over(const ath_run *run) {
  return run->position.step == run->schedule.total_steps || out_of_time(run);
}

/* Whether an earlier process has brought this very run to its end, summary and model included. */
static bool was_finished(const ath_run *run, ath_train_summary *summary) {
  const char *output_dir = run->options.output_dir;
  char path[ATH_PATH_MAX];
  if (run->saved_step == 0 || !is_over(run)) return false;
  return ath_path_join(path, output_dir, "model.safetensors") == ATH_OK && ath_path_exists(path) &&
         ath_run_summary_read(output_dir, summary) && summary->steps == run->position.step &&
         (summary->evaluated || run->eval_data == NULL);
}

static ath_status write_beginning(ath_run *run) {
  char path[ATH_PATH_MAX];
  const char *output_dir = run->options.output_dir;
  ATH_TRY(ath_run_summary_remove(output_dir));
  ATH_TRY(ath_path_join(path, output_dir, "config.yaml"));
  ATH_TRY(ath_train_options_write(&run->options, path));
  return ath_run_open_reports(run);
}

/* The checkpoint is written before the final evaluation, so that a kill there costs no step. */
static ath_status train(ath_run *run, ath_train_summary *summary) {
  ATH_TRY(ath_run_start(run));
  if (ath_run_leads(run)) ATH_TRY(write_beginning(run));
  run->clock = run->position.seconds;
  ath_run_tell_batch(run);
  ATH_TRY(take_steps(run));
  if (!is_over(run) && run->position.step > 0) return interrupted(run, summary);
  if (!is_over(run)) {
    ath_run_summarise(run, summary);
    run->agreed = true;
    return ath_fail(ATH_INTERRUPTED, "stopped before the first step; nothing was saved");
  }
  ATH_TRY(ath_run_save_checkpoint(run));
  ATH_TRY(evaluate(run));
  ath_run_summarise(run, summary);
  ATH_TRY(ath_state_gather(run->state));
  if (!ath_run_leads(run)) return ATH_OK;
  ath_run_push_find_user(run);
  ATH_TRY(ath_run_save_model(run, run->options.output_dir));
  return ath_run_summary_write(summary, run->options.output_dir);
}

/* Whatever needs no device comes before it: a compilation may take minutes. */
static ath_status open_and_train(ath_run *run, const ath_train_options *options,
                                 ath_train_summary *summary) {
  ATH_TRY(ath_run_open(run, options));
  ATH_TRY(ath_run_find_start(run));
  int64_t finished = ath_run_leads(run) && was_finished(run, summary);
  ATH_TRY(ath_run_agree(run, ATH_OK, &finished));
  if (finished) {
    ath_log(ATH_LOG_INFO, "%s: this run was finished at step %lld; --overwrite-output-dir starts "
            "it anew", run->options.output_dir, (long long)summary->steps);
    return ATH_OK;
  }
  ATH_TRY(ath_profile_plan(&run->options, run->position.step, run->schedule.total_steps,
                           &run->profile));
  ATH_TRY(ath_run_open_device(run));
  return train(run, summary);
}

ath_status ath_train(const ath_train_options *options, ath_train_summary *summary) {
  ath_run run;
  ath_outcome outcome;
  *summary = (ath_train_summary){0};
  ath_status status = ath_run_part(&run, open_and_train(&run, options, summary));
  ath_outcome_keep(&outcome, status);
  ath_status closed = ath_run_close_reports(&run);
  if (status == ATH_OK) ath_outcome_keep(&outcome, closed); /* else its own failure, not that */
  if (outcome.status == ATH_OK) {
    ath_outcome_keep(&outcome, ath_run_push_end(&run));
    summary->unpushed = outcome.status != ATH_OK;
  }
  summary->process = run.group.process;
  ath_run_push_close(&run);
  ath_run_close(&run);
  return ath_outcome_return(&outcome);
}
