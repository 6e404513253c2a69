/* test_pjrt_training.c: a whole run on XLA beside the same run on the embedded engine: losses and
 * weights agree, checkpoints go from one to the other, a run that is stopped ends with the same
 * bits, and one that diverges is told of with the right step though another was under way. */
#include <math.h>

#include "athanor/model.h"
#include "athanor/safetensors.h"
#include "backends/pjrt_testing.h"
#include "base/log.h"
#include "storage/file.h"
#include "training.h"

enum { STEPS = 20 };

static corpus data;
static const char *xla;              /* the newest CPU plugin */
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

static void watch_progress(void *context, const ath_progress *progress) {
  (void)context;
  if (strcmp(progress->task, "training") == 0 && progress->done == stop_after) stop = 1;
}

/* The key's bias does not change attention at all: its gradient is rounding alone, which AdamW
 * would blow up to a step of the full size, were epsilon not above it. */
static ath_train_options options_of(const char *device) {
  ath_train_options options = small_run(&data);
  options.device = device;
  options.max_steps = STEPS;
  options.learning_rate = 2e-3;
  options.adam_epsilon = 1e-6;
  options.save_steps = 5;
  return options;
}

static const char *folder_of(const char *run) {
  static char paths[4][4200];
  static unsigned turn;
  char *path = paths[turn++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", data.folder, run);
  return path;
}

/* Trains into data.folder/<run>; a signal seems to come after step `after` (0: none). */
static ath_status train_into(ath_train_options options, const char *run, uint64_t after) {
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

static void train(const char *device, const char *run) {
  ath_train_options options = options_of(device);
  assert_ok(train_into(options, run, 0));
  ath_train_options_free(&options);
}

/* --- the results of a run ------------------------------------------------------------------ */

static void read_losses(const char *run, double losses[STEPS]) {
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

static void assert_near_losses(const char *run, const char *other, double relative) {
  double a[STEPS], b[STEPS];
  read_losses(run, a);
  read_losses(other, b);
  for (int i = 0; i < STEPS; i++)
    if (!(fabs(a[i] - b[i]) <= relative * b[i]))
      fail_msg("step %d: losses %.9g and %.9g", i + 1, a[i], b[i]);
  assert_true(a[STEPS - 1] < a[0]); /* it learns something to agree on */
}

static void assert_near_tensors(const char *path, const char *other, double absolute) {
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

static void assert_near_weights(const char *run, const char *other, double absolute) {
  char path[4300];
  snprintf(path, sizeof path, "%s/model.safetensors", folder_of(run));
  assert_near_tensors(path, in_folder(folder_of(other), "model.safetensors"), absolute);
}

static void assert_same_end(const char *run, const char *other) {
  static const char *const files[] = {"model.safetensors",
                                      "checkpoint-20/training/optimizer.safetensors"};
  for (int i = 0; i < 2; i++)
    assert_same_file(in_folder(folder_of(run), files[i]), in_folder(folder_of(other), files[i]));
}

/* --- tests --------------------------------------------------------------------------------- */

static void twenty_steps_agree_with_the_embedded_engine(void **state) {
  (void)state;
  train("cpu", "cpu");
  train(xla, "xla");
  assert_near_losses("xla", "cpu", 1e-5);
  assert_near_weights("xla", "cpu", 1e-4);
}

/* From here on programs are compiled in a hurry, which changes how fast they are, and not what is
 * tested. */
static void the_same_run_gives_the_same_bits(void **state) {
  (void)state;
  setenv("ATHANOR_XLA_OPTIONS", "xla_backend_optimization_level=0", 1);
  train(xla, "xla-one");
  train(xla, "xla-two");
  assert_same_end("xla-one", "xla-two");
}

/* One step is under way when the signal comes: the run stops after it. */
static void a_stopped_run_ends_with_the_same_bits(void **state) {
  (void)state;
  ath_train_options options = options_of(xla);
  assert_fails(train_into(options, "xla-broken", 7), ATH_INTERRUPTED, "checkpoint-8");
  assert_fails(train_into(options, "xla-broken", 14), ATH_INTERRUPTED, "step 15 of 20");
  assert_ok(train_into(options, "xla-broken", 0));
  assert_same_end("xla-one", "xla-broken");
  ath_train_options_free(&options);
}

static void micro_batches_agree_and_resume(void **state) {
  (void)state;
  ath_train_options options = options_of(xla);
  options.gradient_accumulation_steps = 3;
  assert_ok(train_into(options, "xla-micro", 0));
  assert_fails(train_into(options, "xla-micro-broken", 8), ATH_INTERRUPTED, "step 9 of 20");
  assert_ok(train_into(options, "xla-micro-broken", 0));
  assert_same_end("xla-micro", "xla-micro-broken");
  options.device = "cpu";
  assert_ok(train_into(options, "cpu-micro", 0));
  assert_near_losses("xla-micro", "cpu-micro", 1e-5);
  assert_near_weights("xla-micro", "cpu-micro", 1e-4);
  ath_train_options_free(&options);
}

static void a_checkpoint_of_one_engine_is_continued_by_the_other(void **state) {
  (void)state;
  ath_train_options options = options_of("cpu");
  assert_fails(train_into(options, "cpu-then-xla", 10), ATH_INTERRUPTED, "checkpoint-10");
  options.device = xla;
  assert_ok(train_into(options, "cpu-then-xla", 0));
  assert_near_losses("cpu-then-xla", "cpu", 1e-5);
  assert_near_weights("cpu-then-xla", "cpu", 1e-4);
  assert_fails(train_into(options, "xla-then-cpu", 9), ATH_INTERRUPTED, "checkpoint-10");
  options.device = "cpu";
  assert_ok(train_into(options, "xla-then-cpu", 0));
  assert_near_losses("xla-then-cpu", "cpu", 1e-5);
  assert_near_weights("xla-then-cpu", "cpu", 1e-4);
  ath_train_options_free(&options);
}

static void evaluation_agrees(void **state) {
  (void)state;
  ath_eval_options options = {.batch_size = 5, .mlm_probability = 0.15, .seed = 42};
  ath_eval_result ours, theirs;
  assert_ok(ath_evaluate(folder_of("cpu"), data.validation, "cpu", &options, &ours));
  assert_ok(ath_evaluate(folder_of("cpu"), data.validation, xla, &options, &theirs));
  assert_near(theirs.loss, ours.loss, 0, 1e-5);
  assert_near(theirs.accuracy, ours.accuracy, 1e-12, 0);
  assert_int_equal(theirs.scored, ours.scored);
  assert_int_equal(theirs.samples, ours.samples);
}

static void filling_agrees(void **state) {
  (void)state;
  ath_fill_result results[2];
  const char *devices[2] = {"cpu", xla};
  for (int i = 0; i < 2; i++) {
    ath_filler *filler;
    assert_ok(ath_filler_open(folder_of("cpu"), devices[i], &filler));
    char text[128];
    snprintf(text, sizeof text, "the small %s runs near the river", ath_filler_mask(filler));
    assert_ok(ath_filler_run(filler, text, 5, &results[i]));
    ath_filler_close(filler);
  }
  assert_int_equal(results[0].masks, results[1].masks);
  for (int i = 0; i < 5; i++) {
    assert_int_equal(results[0].fillings[i].token, results[1].fillings[i].token);
    assert_near(results[1].fillings[i].score, results[0].fillings[i].score, 0, 1e-5);
  }
  for (int i = 0; i < 2; i++) ath_fill_result_free(&results[i]);
}

/* The texts tell of one step, batch and gradient, though the numbers in between may round
 * differently. */
static void a_run_that_diverges_is_told_of_as_on_the_embedded_engine(void **state) {
  (void)state;
  char texts[2][1024];
  const char *devices[2] = {"cpu", xla}, *runs[2] = {"cpu-diverged", "xla-diverged"};
  for (int i = 0; i < 2; i++) {
    ath_train_options options = options_of(devices[i]);
    options.learning_rate = 1e30;
    options.warmup_steps = 0;
    assert_fails(train_into(options, runs[i], 0), ATH_DIVERGED, "training diverged in batch");
    snprintf(texts[i], sizeof texts[i], "%s", ath_error_text());
    ath_train_options_free(&options);
  }
  assert_int_equal(strtol(texts[0] + strlen("step "), NULL, 10),
                   strtol(texts[1] + strlen("step "), NULL, 10));
  assert_string_equal(strstr(texts[0], "training diverged"), strstr(texts[1], "training diverged"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(twenty_steps_agree_with_the_embedded_engine),
    cmocka_unit_test(the_same_run_gives_the_same_bits),
    cmocka_unit_test(a_stopped_run_ends_with_the_same_bits),
    cmocka_unit_test(micro_batches_agree_and_resume),
    cmocka_unit_test(a_checkpoint_of_one_engine_is_continued_by_the_other),
    cmocka_unit_test(evaluation_agrees),
    cmocka_unit_test(filling_agrees),
    cmocka_unit_test(a_run_that_diverges_is_told_of_as_on_the_embedded_engine),
  };
  xla = cpu_plugins[CPU_PLUGINS - 1];
  if (!have_plugin(xla)) return 0;
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
