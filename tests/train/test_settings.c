/* test_settings.c: a run's settings from YAML, with errors that say where, to YAML and back,
 * their limits, and the schedule. */
#include "athanor/train.h"
#include "base/buffer.h"
#include "testing.h"

static char *folder;

static int set_up(void **state) {
  (void)state;
  folder = make_folder();
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  remove_folder(folder);
  return 0;
}

/* Reads `text` as the file demo.yaml. */
static ath_status read_yaml(ath_train_options *options, const char *text, size_t length) {
  const char *path = in_folder(folder, "demo.yaml");
  FILE *file = fopen(path, "wb");
  assert_int_equal(fwrite(text, 1, length, file), length);
  fclose(file);
  return ath_train_options_read(options, path);
}

static void refused(const char *text, ath_status wanted, const char *part) {
  ath_train_options options;
  assert_ok(ath_train_options_init(&options));
  assert_fails(read_yaml(&options, text, strlen(text)), wanted, part);
  ath_train_options_free(&options);
}

static void values_of_each_kind_are_read(void **state) {
  (void)state;
  const char *text = "# a comment\n"
                     "train_dataset: \"runs/a b\"   # quoted\n"
                     "eval_dataset: ~\n"
                     "hidden_size: 128\n"
                     "learning_rate: 3e-4\n"
                     "warmup_ratio: 1\n"
                     "overwrite_output_dir: true\n";
  ath_train_options options;
  assert_ok(ath_train_options_init(&options));
  options.eval_dataset = "something";
  assert_ok(read_yaml(&options, text, strlen(text)));
  assert_string_equal(options.train_dataset, "runs/a b");
  assert_null(options.eval_dataset);
  assert_int_equal(options.hidden_size, 128);
  assert_true(options.learning_rate == 3e-4);
  assert_true(options.warmup_ratio == 1.0);
  assert_true(options.overwrite_output_dir);
  assert_int_equal(options.seed, 42); /* untouched */
  ath_train_options_free(&options);
}

static void an_unknown_key_names_the_nearest_and_its_line(void **state) {
  (void)state;
  refused("seed: 1\n\nlearning_rte: 1\n", ATH_INVALID,
          "demo.yaml:3: unknown key 'learning_rte'; did you mean 'learning_rate'?");
  refused("zzzzqqqq: 1\n", ATH_INVALID,
          "demo.yaml:1: unknown key 'zzzzqqqq'; athanor train --help");
}

static void a_key_given_twice_is_refused(void **state) {
  (void)state;
  refused("seed: 1\nmax_steps: 2\nseed: 1\n", ATH_INVALID,
          "demo.yaml:3: 'seed' is given twice, first in line 1");
}

static void a_value_of_the_wrong_kind_is_refused(void **state) {
  (void)state;
  refused("max_steps: many\n", ATH_INVALID, "demo.yaml:1: \"max_steps\" wants a whole number");
  refused("max_steps: 1.5\n", ATH_INVALID, "wants a whole number, not \"1.5\"");
  refused("max_steps: \"15\"\n", ATH_INVALID, "wants a whole number");
  refused("max_steps:\n", ATH_INVALID, "wants a whole number");
  refused("max_steps: 99999999999999999999\n", ATH_INVALID, "wants a whole number");
  refused("learning_rate: fast\n", ATH_INVALID, "wants a number, not \"fast\"");
  refused("learning_rate: .nan\n", ATH_INVALID, "wants a number");
  refused("overwrite_output_dir: yes\n", ATH_INVALID, "wants true or false, not \"yes\"");
  refused("hidden_size: [1, 2]\n", ATH_INVALID, "\"hidden_size\" wants one value, not a list");
  refused("seed: {a: 1}\n", ATH_INVALID, "demo.yaml:1: \"seed\" wants one value");
}

static void a_value_out_of_range_is_refused(void **state) {
  (void)state;
  refused("mlm_probability: 1.5\n", ATH_INVALID,
          "demo.yaml:1: \"mlm_probability\" is 1.5; it must lie between 0.0001 and 1");
  refused("per_device_train_batch_size: 0\n", ATH_INVALID, "it must lie between 1 and");
  refused("learning_rate: -1\n", ATH_INVALID, "\"learning_rate\" is -1");
}

static void what_is_not_one_mapping_is_refused(void **state) {
  (void)state;
  refused("", ATH_INVALID, "one mapping of settings is wanted");
  refused("- a\n- b\n", ATH_INVALID, "demo.yaml:1: one mapping of settings is wanted");
  refused("just text\n", ATH_INVALID, "one mapping of settings is wanted");
  refused("seed: 1\n---\nseed: 2\n", ATH_INVALID, "one mapping of settings is wanted");
  refused("? [a]\n: 1\n", ATH_INVALID, "a setting's name is wanted here");
  refused("seed: 1\n bad\n\t: {", ATH_INVALID, "not valid YAML");
  refused("seed: \"open\n", ATH_INVALID, "not valid YAML");
  ath_train_options options;
  assert_ok(ath_train_options_init(&options));
  assert_fails(read_yaml(&options, "seed: 1\0 2\n", 11), ATH_INVALID, "zero byte");
  assert_fails(ath_train_options_read(&options, "no/such.yaml"), ATH_NOT_FOUND, "no/such.yaml");
  ath_train_options_free(&options);
}

static void what_is_written_reads_back_the_same(void **state) {
  (void)state;
  ath_train_options options, back;
  assert_ok(ath_train_options_init(&options));
  assert_ok(ath_train_options_init(&back));
  options.output_dir = "a \"quoted\"\n\\path: # é";
  options.learning_rate = 1.0 / 3;
  options.max_steps = 9007199254740992;
  options.weight_decay = 1e-300;
  options.overwrite_output_dir = true;
  const char *path = in_folder(folder, "written.yaml");
  assert_ok(ath_train_options_write(&options, path));
  assert_ok(ath_train_options_read(&back, path));
  size_t count;
  const ath_setting *settings = ath_train_settings(&count);
  ath_buffer wrote = ath_buffer_make(1 << 16), read = ath_buffer_make(1 << 16);
  for (size_t i = 0; i < count; i++) {
    assert_ok(ath_train_setting_print(&settings[i], &options, &wrote));
    assert_ok(ath_train_setting_print(&settings[i], &back, &read));
  }
  assert_string_equal(wrote.bytes, read.bytes);
  assert_string_equal(back.output_dir, options.output_dir);
  assert_true(back.learning_rate == 1.0 / 3);
  ath_buffer_free(&wrote);
  ath_buffer_free(&read);
  ath_train_options_free(&options);
  ath_train_options_free(&back);
}

static void every_setting_has_a_default_within_its_limits(void **state) {
  (void)state;
  ath_train_options options;
  assert_ok(ath_train_options_init(&options));
  options.train_dataset = options.output_dir = options.tokenizer = "x";
  assert_ok(ath_train_options_check(&options));
  ath_train_options_free(&options);
}

static void what_does_not_go_together_is_refused(void **state) {
  (void)state;
  ath_train_options options;
  assert_ok(ath_train_options_init(&options));
  assert_fails(ath_train_options_check(&options), ATH_USAGE, "train_dataset is not given");
  options.train_dataset = options.output_dir = "x";
  assert_fails(ath_train_options_check(&options), ATH_USAGE, "tokenizer is not given");
  options.tokenizer = options.config_name = options.model_name_or_path = "x";
  assert_fails(ath_train_options_check(&options), ATH_USAGE, "both name an architecture");
  options.config_name = options.model_name_or_path = NULL;
  options.lr_scheduler_type = "constant";
  options.warmup_steps = 5;
  assert_fails(ath_train_options_check(&options), ATH_USAGE, "use constant_with_warmup");
  options.lr_scheduler_type = NULL; /* as "lr_scheduler_type: null" gives */
  assert_fails(ath_train_options_check(&options), ATH_USAGE, "lr_scheduler_type is not given");
  options.lr_scheduler_type = "exponential";
  assert_fails(ath_train_options_check(&options), ATH_USAGE, "there are linear, cosine");
  options.lr_scheduler_type = "linear";
  options.num_train_epochs = 0;
  assert_fails(ath_train_options_check(&options), ATH_USAGE, "nothing to train");
  options.num_train_epochs = 1;
  options.threads = -1;
  assert_fails(ath_train_options_check(&options), ATH_USAGE, "threads is -1");
  ath_train_options_free(&options);
}

/* Made by transformers 5.24: get_linear_schedule_with_warmup(2, 8), get_cosine_schedule_with_warmup
 * (2, 8), get_constant_schedule_with_warmup(2) with lr 0.8, last_lr before each step. */
static void schedules_equal_the_reference(void **state) {
  (void)state;
  static const struct {
    ath_schedule_kind kind;
    double rates[9];
  } table[] = {
    {ATH_SCHEDULE_LINEAR, {0, 0.4, 0.8, 0.6666666666666667, 0.5333333333333333, 0.4,
                           0.26666666666666666, 0.13333333333333333, 0}},
    {ATH_SCHEDULE_COSINE, {0, 0.4, 0.8, 0.7464101615137756, 0.6000000000000001, 0.4,
                           0.2000000000000001, 0.05358983848622452, 0}},
    {ATH_SCHEDULE_CONSTANT_WITH_WARMUP, {0, 0.4, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8}},
    {ATH_SCHEDULE_CONSTANT, {0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8}},
  };
  for (size_t k = 0; k < 4; k++) {
    ath_schedule schedule = {.kind = table[k].kind, .peak = 0.8, .warmup_steps = 2,
                             .total_steps = 8};
    for (int step = 0; step < 9; step++)
      assert_near(ath_schedule_rate(&schedule, step), table[k].rates[step], 1e-15, 1e-14);
  }
}

static void a_schedule_shorter_than_its_warm_up_is_finite(void **state) {
  (void)state;
  ath_schedule schedule = {.kind = ATH_SCHEDULE_LINEAR, .peak = 1, .warmup_steps = 5,
                           .total_steps = 3};
  assert_near(ath_schedule_rate(&schedule, 2), 0.4, 1e-15, 0);
  assert_near(ath_schedule_rate(&schedule, 5), 0, 0, 0);
}

/* As transformers counts: per_device_train_batch_size times the devices that share a batch. */
static void the_batch_grows_with_the_devices_that_share_it(void **state) {
  (void)state;
  ath_train_options options;
  int size;
  assert_ok(ath_train_options_init(&options));
  options.per_device_train_batch_size = 6;
  static const struct { const char *mesh; int size; } cases[] = {
    {NULL, 6}, {"data=4", 24}, {"fsdp=4", 24}, {"model=4", 6}, {"data=2,fsdp=3,model=5", 36}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ath_mesh mesh;
    assert_ok(ath_mesh_parse(cases[i].mesh, &mesh));
    assert_ok(ath_train_batch_size(options.per_device_train_batch_size, &mesh, &size));
    assert_int_equal(size, cases[i].size);
  }
  options.per_device_train_batch_size = 65536;
  const ath_mesh large = {65536, 1, 1};
  assert_fails(ath_train_batch_size(options.per_device_train_batch_size, &large, &size), ATH_USAGE,
               "65536 records on each of 65536");
  ath_train_options_free(&options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_of_each_kind_are_read),
    cmocka_unit_test(an_unknown_key_names_the_nearest_and_its_line),
    cmocka_unit_test(a_key_given_twice_is_refused),
    cmocka_unit_test(a_value_of_the_wrong_kind_is_refused),
    cmocka_unit_test(a_value_out_of_range_is_refused),
    cmocka_unit_test(what_is_not_one_mapping_is_refused),
    cmocka_unit_test(what_is_written_reads_back_the_same),
    cmocka_unit_test(every_setting_has_a_default_within_its_limits),
    cmocka_unit_test(what_does_not_go_together_is_refused),
    cmocka_unit_test(schedules_equal_the_reference),
    cmocka_unit_test(a_schedule_shorter_than_its_warm_up_is_finite),
    cmocka_unit_test(the_batch_grows_with_the_devices_that_share_it),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
