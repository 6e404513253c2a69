/* runs.h: whole runs over the small corpus, on any device, and comparing what they leave. */
#ifndef ATHANOR_TESTS_RUNS_H
#define ATHANOR_TESTS_RUNS_H

#include <math.h>

#include "athanor/model.h"
#include "athanor/safetensors.h"
#include "base/log.h"
#include "storage/file.h"
#include "training.h"

enum { STEPS = 20 };

static corpus data;
static volatile sig_atomic_t stop;
static uint64_t stop_after;          /* steps; 0: never */

static int set_up(void **state) {
  (void)state;
  make_corpus(&data);
  setenv("ATHANOR_COMPILE_CACHE", in_folder(data.folder, "executables"), 1);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  free_corpus(&data);
  return 0;
}

static inline void watch_progress(void *context, const ath_progress *progress) {
  (void)context;
  if (strcmp(progress->task, "training") == 0 && progress->done == stop_after) stop = 1;
}

/* The key's bias does not change attention at all: its gradient is rounding alone, which AdamW
 * would blow up to a step of the full size, were epsilon not above it. */
static inline ath_train_options options_of(const char *device) {
  ath_train_options options = small_run(&data);
  options.device = device;
  options.max_steps = STEPS;
  options.learning_rate = 2e-3;
  options.adam_epsilon = 1e-6;
  options.save_steps = 5;
  return options;
}

static inline const char *folder_of(const char *run) {
  static char paths[4][4200];
  static unsigned turn;
  char *path = paths[turn++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", data.folder, run);
  return path;
}

/* Trains into data.folder/<run>; a signal seems to come after step `after` (0: none). */
static inline ath_status train_into(ath_train_options options, const char *run, uint64_t after) {
  ath_train_summary summary;
  options.output_dir = folder_of(run);
  options.stop = &stop;
  stop = 0;
  stop_after = after;
  ath_log_set_sink(&(ath_log_sink){.progress = watch_progress});
  ath_status status = ath_train(&options, &summary);
  ath_log_set_sink(NULL);
  return status;
}

static inline void train(const char *device, const char *run) {
  ath_train_options options = options_of(device);
  assert_ok(train_into(options, run, 0));
  ath_train_options_free(&options);
}

/* --- the results of a run ------------------------------------------------------------------ */

static inline void read_losses(const char *run, double losses[STEPS]) {
  size_t size;
  char *text = file_bytes(in_folder(folder_of(run), "log.jsonl"), &size), *at = text;
  for (int step = 1; step <= STEPS; step++) {
    char beginning[32];
    snprintf(beginning, sizeof beginning, "{\"step\": %d,", step);
    at = strstr(at, beginning);
    assert_non_null(at);
    const char *loss = strstr(at, "\"loss\": ");
    assert_non_null(loss);
    losses[step - 1] = strtod(loss + strlen("\"loss\": "), NULL);
  }
  free(text);
}

static inline void assert_near_losses(const char *run, const char *other, double relative) {
  double a[STEPS], b[STEPS];
  read_losses(run, a);
  read_losses(other, b);
  for (int i = 0; i < STEPS; i++)
    if (!(fabs(a[i] - b[i]) <= relative * b[i]))
      fail_msg("step %d: losses %.9g and %.9g", i + 1, a[i], b[i]);
  assert_true(a[STEPS - 1] < a[0]); /* it learns something to agree on */
}

static inline void assert_near_tensors(const char *path, const char *other, double absolute) {
  ath_safetensors *a = NULL, *b = NULL;
  assert_ok(ath_safetensors_open(path, &a));
  assert_ok(ath_safetensors_open(other, &b));
  assert_int_equal(ath_safetensors_count(a), ath_safetensors_count(b));
  for (size_t i = 0; i < ath_safetensors_count(a); i++) {
    const ath_tensor_entry *x = ath_safetensors_at(a, i), *y = ath_safetensors_find(b, x->name);
    assert_non_null(y);
    for (int64_t k = 0; k < ath_type_count(&x->type); k++) {
      float p = ((const float *)x->data)[k], q = ((const float *)y->data)[k];
      if (!(fabsf(p - q) <= (float)absolute))
        fail_msg("%s[%lld]: %.9g and %.9g", x->name, (long long)k, (double)p, (double)q);
    }
  }
  ath_safetensors_close(a);
  ath_safetensors_close(b);
}

static inline void assert_near_weights(const char *run, const char *other, double absolute) {
  char path[4300];
  snprintf(path, sizeof path, "%s/model.safetensors", folder_of(run));
  assert_near_tensors(path, in_folder(folder_of(other), "model.safetensors"), absolute);
}

static inline void assert_same_end(const char *run, const char *other) {
  static const char *const files[] = {"model.safetensors",
                                      "checkpoint-20/training/optimizer.safetensors"};
  for (int i = 0; i < 2; i++)
    assert_same_file(in_folder(folder_of(run), files[i]), in_folder(folder_of(other), files[i]));
}

#endif
