/* test_evaluate.c: each record is scored once whatever the batch (known failure I5), and equal
 * weights give equal bits (I6). */
#include <math.h>

#include "training.h"

static corpus data;
static char model[4200];

static int set_up(void **state) {
  (void)state;
  make_corpus(&data);
  ath_train_options options = small_run(&data);
  ath_train_summary summary;
  options.max_steps = 6;
  assert_ok(ath_train(&options, &summary));
  snprintf(model, sizeof model, "%s", data.output);
  ath_train_options_free(&options);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  free_corpus(&data);
  return 0;
}

static ath_eval_result evaluate(int batch_size, uint64_t seed, uint64_t max_samples) {
  ath_eval_options options = {.batch_size = batch_size, .mlm_probability = 0.15, .seed = seed,
                              .max_samples = max_samples};
  ath_eval_result result;
  assert_ok(ath_evaluate(model, data.validation, "cpu", &options, &result));
  return result;
}

static uint64_t record_count(void) {
  ath_dataset *records = NULL;
  assert_ok(ath_dataset_open(data.validation, &records));
  uint64_t count = ath_dataset_size(records);
  ath_dataset_close(records);
  return count;
}

static void two_evaluations_give_the_same_bits(void **state) {
  (void)state;
  ath_eval_result a = evaluate(4, 42, 0), b = evaluate(4, 42, 0);
  assert_memory_equal(&a.loss, &b.loss, sizeof a.loss);
  assert_memory_equal(&a.accuracy, &b.accuracy, sizeof a.accuracy);
  assert_near(a.perplexity, exp(a.loss), 0, 1e-12);
  assert_true(evaluate(4, 43, 0).loss != a.loss); /* other masks */
}

static void every_record_is_scored_once_whatever_the_batch(void **state) {
  (void)state;
  uint64_t count = record_count();
  ath_eval_result one = evaluate(1, 42, 0);
  assert_int_equal(one.samples, count);
  const int sizes[] = {2, 5, (int)count - 1, (int)count, (int)count + 3};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    ath_eval_result other = evaluate(sizes[i], 42, 0);
    assert_int_equal(other.samples, count);
    assert_near(other.scored, one.scored, 0, 0);
    assert_near(other.loss, one.loss, 0, 1e-5);
    assert_near(other.accuracy, one.accuracy, 0, 1e-12);
  }
}

static void a_limit_cuts_inside_a_batch(void **state) {
  (void)state;
  uint64_t count = record_count();
  assert_true(count > 4);
  ath_eval_result by_one = evaluate(1, 42, 3), in_one = evaluate((int)count, 42, 3);
  assert_int_equal(in_one.samples, 3);
  assert_near(in_one.scored, by_one.scored, 0, 0);
  assert_near(in_one.loss, by_one.loss, 0, 1e-5);
  assert_true(by_one.scored < evaluate(1, 42, 0).scored);
  assert_int_equal(evaluate(2, 42, count + 100).samples, count);
}

static void shards_of_another_tokenizer_are_refused(void **state) {
  (void)state;
  const char *paths[] = {data.text};
  ath_unigram_options unigram = ath_unigram_defaults();
  unigram.common.vocab_size = 60;
  ath_tokenizer *tokenizer = NULL;
  assert_ok(ath_unigram_train(paths, 1, &unigram, &tokenizer, NULL));
  ath_prepare_options prepare = ath_prepare_defaults();
  char other[4200];
  snprintf(other, sizeof other, "%s/other", data.folder);
  prepare.inputs = paths;
  prepare.input_count = 1;
  prepare.output = other;
  prepare.max_length = RECORD_LENGTH;
  ath_prepare_report report;
  assert_ok(ath_prepare(tokenizer, &prepare, &report));
  ath_tokenizer_destroy(tokenizer);
  snprintf(other, sizeof other, "%s/other/train", data.folder);
  ath_eval_options options = {.batch_size = 4, .mlm_probability = 0.15};
  ath_eval_result result;
  assert_fails(ath_evaluate(model, other, "cpu", &options, &result), ATH_MISMATCH, "other/train");
}

/* Weights that hold a NaN, as a diverged run of another tool may leave them. */
static void weights_that_hold_nan_are_refused(void **state) {
  (void)state;
  char command[9000], weights[4300];
  snprintf(command, sizeof command, "cp -r '%s' '%s-nan'", model, model);
  assert_int_equal(system(command), 0);
  snprintf(command, sizeof command, "%s-nan", model);
  snprintf(weights, sizeof weights, "%s-nan/model.safetensors", model);
  size_t size;
  char *bytes = file_bytes(weights, &size);
  memset(bytes + size - 64, 0xFF, 64); /* floats of all ones are NaN */
  FILE *file = fopen(weights, "wb");
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
  free(bytes);
  ath_eval_options options = {.batch_size = 4, .mlm_probability = 0.15};
  ath_eval_result result;
  assert_fails(ath_evaluate(command, data.validation, "cpu", &options, &result), ATH_DIVERGED,
               "-nan: the evaluation loss is ");
}

/* One step with a finite loss and gradient, after which the weights are about 1e38. */
static void training_stops_at_an_evaluation_that_is_not_finite(void **state) {
  (void)state;
  ath_train_options options = small_run(&data);
  ath_train_summary summary;
  char output[4200];
  snprintf(output, sizeof output, "%s/huge", data.folder);
  options.output_dir = output;
  options.max_steps = 1;
  options.warmup_steps = 0;
  options.learning_rate = 1e38;
  assert_fails(ath_train(&options, &summary), ATH_DIVERGED,
               "step 1, learning rate 1e+38: the evaluation loss is ");
  ath_train_options_free(&options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(two_evaluations_give_the_same_bits),
    cmocka_unit_test(every_record_is_scored_once_whatever_the_batch),
    cmocka_unit_test(a_limit_cuts_inside_a_batch),
    cmocka_unit_test(shards_of_another_tokenizer_are_refused),
    cmocka_unit_test(weights_that_hold_nan_are_refused),
    cmocka_unit_test(training_stops_at_an_evaluation_that_is_not_finite),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
