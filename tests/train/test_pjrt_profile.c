/* test_pjrt_profile.c: recording steps of a run for TensorBoard: a CPU plugin with a fake profiler
 * notes down the order of runs and the profiler's calls (profiled_cpu_plugin.c). */
#include <glob.h>

#include "backends/pjrt_testing.h"
#include "runs.h"

static char journal[4096];

/* Messages of the run; what the sink got. */
static char messages[1 << 14];

static void keep_message(void *context, ath_log_level level, const char *text) {
  (void)context;
  (void)level;
  size_t length = strlen(messages);
  snprintf(messages + length, sizeof messages - length, "%s\n", text);
}

static ath_status profiled_run(ath_train_options *options, const char *run, const char *behaviour,
                               uint64_t stop_at) {
  ath_train_summary summary;
  snprintf(journal, sizeof journal, "%s/%s.journal", data.folder, run);
  setenv("PROFILED_PLUGIN", cpu_plugins[CPU_PLUGINS - 1], 1);
  setenv("FAKE_JOURNAL", journal, 1);
  setenv("FAKE_PROFILER", behaviour, 1);
  setenv("ATHANOR_XLA_OPTIONS", "xla_backend_optimization_level=0", 1);
  options->device = ATHANOR_PROFILED_PLUGIN;
  options->output_dir = folder_of(run);
  options->stop = &stop;
  options->eval_dataset = NULL;
  stop = 0;
  stop_after = stop_at;
  messages[0] = '\0';
  ath_log_set_sink(&(ath_log_sink){.message = keep_message, .progress = watch_progress});
  ath_status status = ath_train(options, &summary);
  ath_log_set_sink(NULL);
  return status;
}

/* How often the training step ran before the profiler started, while it recorded, and after. */
typedef struct counts { int before, while_recording, after, starts, stops; } counts;

enum { ARGUMENTS_OF_A_STEP = 10 }; /* it has more, and a product measured before it fewer */

static counts read_journal(void) {
  counts all = {0};
  char line[128];
  FILE *file = fopen(journal, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file) != NULL) {
    int arguments = 0;
    if (strcmp(line, "start\n") == 0) all.starts++;
    if (strcmp(line, "stop\n") == 0) all.stops++;
    if (sscanf(line, "run %d", &arguments) != 1 || arguments < ARGUMENTS_OF_A_STEP) continue;
    int *count = all.starts == 0 ? &all.before : all.stops == 0 ? &all.while_recording : &all.after;
    ++*count;
  }
  fclose(file);
  return all;
}

/* The one file where TensorBoard looks: runs/plugins/profile/<time>/<host>.xplane.pb; the caller
 * frees its content. NULL where there is none. */
static char *read_profile(const char *run, size_t *size) {
  char pattern[8192];
  glob_t found = {0};
  char *bytes = NULL;
  snprintf(pattern, sizeof pattern, "%s/runs/plugins/profile/*/*.xplane.pb", folder_of(run));
  if (glob(pattern, 0, NULL, &found) == 0) {
    assert_int_equal(found.gl_pathc, 1);
    bytes = file_bytes(found.gl_pathv[0], size);
  }
  globfree(&found);
  return bytes;
}

static void assert_profile(const char *run) {
  size_t size = 0;
  char *bytes = read_profile(run, &size);
  assert_non_null(bytes);
  assert_int_equal(size, strlen("what was recorded"));
  assert_memory_equal(bytes, "what was recorded", size);
  free(bytes);
}

static bool have(void) { return have_plugin(cpu_plugins[CPU_PLUGINS - 1]); }

static void the_steps_asked_for_are_recorded_and_no_others(void **state) {
  (void)state;
  if (!have()) return;
  ath_train_options options = options_of(NULL);
  options.profile_steps = "10:13";
  assert_ok(profiled_run(&options, "asked", "", 0));
  counts all = read_journal();
  assert_int_equal(all.before, 9);
  assert_int_equal(all.while_recording, 4);
  assert_int_equal(all.after, STEPS - 13);
  assert_int_equal(all.starts, 1);
  assert_int_equal(all.stops, 1);
  assert_profile("asked");
  assert_non_null(strstr(messages, "profile of steps 10 to 13"));
  ath_train_options_free(&options);
}

static void without_numbers_three_steps_after_the_first_five(void **state) {
  (void)state;
  if (!have()) return;
  ath_train_options options = options_of(NULL);
  options.profile = true;
  options.gradient_accumulation_steps = 2; /* each is two runs then */
  assert_ok(profiled_run(&options, "default", "own", 0));
  counts all = read_journal();
  assert_int_equal(all.before, 2 * 5);
  assert_int_equal(all.while_recording, 2 * 3);
  assert_profile("default");
  ath_train_options_free(&options);
}

static void a_run_stopped_while_recording_writes_what_there_is(void **state) {
  (void)state;
  if (!have()) return;
  ath_train_options options = options_of(NULL);
  options.profile_steps = "3:18";
  assert_fails(profiled_run(&options, "stopped", "", 6), ATH_INTERRUPTED, "checkpoint-");
  counts all = read_journal();
  assert_int_equal(all.before, 2);
  assert_true(all.while_recording >= 4 && all.while_recording <= 6);
  assert_profile("stopped");
  ath_train_options_free(&options);
}

static void a_failing_profiler_costs_the_profile_and_not_the_run(void **state) {
  (void)state;
  static const char *const failures[] = {"fail:start", "fail:collect"};
  if (!have()) return;
  for (size_t i = 0; i < 2; i++) {
    char run[32];
    size_t size;
    snprintf(run, sizeof run, "failing-%zu", i);
    ath_train_options options = options_of(NULL);
    options.profile_steps = "2";
    assert_ok(profiled_run(&options, run, failures[i], 0));
    assert_null(read_profile(run, &size));
    assert_non_null(strstr(messages, i == 0 ? "no profile is recorded" : "the profile is lost"));
    assert_non_null(strstr(messages, " today"));
    ath_train_options_free(&options);
  }
}

static void steps_behind_a_resumed_run_are_not_recorded(void **state) {
  (void)state;
  if (!have()) return;
  ath_train_options options = options_of(NULL);
  assert_fails(profiled_run(&options, "behind", "", 9), ATH_INTERRUPTED, "checkpoint-");
  options.profile_steps = "3:5";
  assert_ok(profiled_run(&options, "behind", "", 0));
  assert_int_equal(read_journal().starts, 0);
  assert_non_null(strstr(messages, "done already"));
  ath_train_options_free(&options);
}

static void what_cannot_be_recorded_is_refused_before_training(void **state) {
  (void)state;
  static const char *const wrong[] = {"0:3", "5:4", "a", "3:", ":3", "3-5", "3:5:7", "-1:2",
                                      "99999999999999999999", "3 : 5"};
  ath_train_options options = options_of("cpu");
  ath_train_summary summary;
  options.output_dir = folder_of("refused");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    options.profile_steps = wrong[i];
    assert_fails(ath_train(&options, &summary), ATH_USAGE, "written as 10:13");
  }
  options.profile_steps = "10:13";
  assert_fails(ath_train(&options, &summary), ATH_UNSUPPORTED, "bench_train_step mini --profile");
  options.profile_steps = NULL;
  options.profile = true;
  assert_fails(ath_train(&options, &summary), ATH_UNSUPPORTED, "bench_train_step mini --profile");
  assert_false(ath_path_exists(folder_of("refused")));
  if (!have()) return;
  options.device = cpu_plugins[CPU_PLUGINS - 1];
  assert_fails(ath_train(&options, &summary), ATH_UNSUPPORTED, "has no profiler");
  assert_false(ath_path_exists(folder_of("refused")));
  options.profile_steps = "21";
  assert_fails(profiled_run(&options, "refused", "", 0), ATH_USAGE, "ends with step 20");
  ath_train_options_free(&options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_steps_asked_for_are_recorded_and_no_others),
    cmocka_unit_test(without_numbers_three_steps_after_the_first_five),
    cmocka_unit_test(a_run_stopped_while_recording_writes_what_there_is),
    cmocka_unit_test(a_failing_profiler_costs_the_profile_and_not_the_run),
    cmocka_unit_test(steps_behind_a_resumed_run_are_not_recorded),
    cmocka_unit_test(what_cannot_be_recorded_is_refused_before_training),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
