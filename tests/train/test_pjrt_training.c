/* test_pjrt_training.c: a whole run on XLA beside the same run on the embedded engine: losses and
 * weights agree, checkpoints go from one to the other, a run that is stopped ends with the same
 * bits, and one that diverges is told of with the right step though another was under way. */
#include "backends/pjrt_testing.h"
#include "runs.h"

static const char *xla; /* the newest CPU plugin */

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
