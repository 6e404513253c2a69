/* test_resume.c: a run that is stopped and started again ends with the same bits as an unbroken
 * one; a torn checkpoint is passed over; other settings are refused. Known failures J3, J4, J5. */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "storage/file.h"
#include "training.h"

static corpus data;

static int set_up(void **state) {
  (void)state;
  make_corpus(&data);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  free_corpus(&data);
  return 0;
}

/* --- runs that stop at will ---------------------------------------------------------------- */

static char messages[1 << 16]; /* what the library had to say */
static volatile sig_atomic_t stop;
static uint64_t stop_after; /* steps; 0: never */
static ath_train_summary last_summary;

static void keep_message(void *context, ath_log_level level, const char *text) {
  (void)context;
  (void)level;
  size_t used = strlen(messages);
  snprintf(messages + used, sizeof messages - used, "%s\n", text);
}

static void watch_progress(void *context, const ath_progress *progress) {
  (void)context;
  if (strcmp(progress->task, "training") == 0 && progress->done == stop_after) stop = 1;
}

/* Trains into data.folder/<run>; a signal seems to come during step `after` (0: none). */
static ath_status run_until(ath_train_options *options, const char *run, uint64_t after) {
  static char output[4096];
  snprintf(output, sizeof output, "%s/%s", data.folder, run);
  options->output_dir = output;
  options->stop = &stop;
  stop = 0;
  stop_after = after;
  messages[0] = '\0';
  ath_log_set_sink(&(ath_log_sink){.message = keep_message, .progress = watch_progress});
  ath_status status = ath_train(options, &last_summary);
  ath_log_set_sink(NULL);
  return status;
}

/* "<run's folder>/<name>" in one of four rotating places. */
static const char *in_run(const char *run, const char *name) {
  static char paths[4][4500];
  static unsigned turn;
  char *path = paths[turn++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s/%s", data.folder, run, name);
  return path;
}

static void shell(const char *format, const char *a, const char *b) {
  char command[9000];
  snprintf(command, sizeof command, format, a, b);
  assert_int_equal(system(command), 0);
}

/* --- the same bits ------------------------------------------------------------------------- */

static void assert_same_end(const char *a, const char *b) {
  static const char *const files[] = {"model.safetensors",
                                      "checkpoint-12/training/optimizer.safetensors"};
  for (int i = 0; i < 2; i++) assert_same_file(in_run(a, files[i]), in_run(b, files[i]));
}

/* The line of log.jsonl that reports training step `step`, up to the speed. */
static void find_line(const char *run, int step, char out[512]) {
  size_t size;
  char *text = file_bytes(in_run(run, "log.jsonl"), &size), beginning[32];
  snprintf(beginning, sizeof beginning, "{\"step\": %d,", step);
  char *line = strstr(text, beginning), *end = line != NULL ? strstr(line, "\"tokens_per") : NULL;
  if (end == NULL) fail_msg("%s: no line for step %d", run, step);
  snprintf(out, 512, "%.*s", (int)(end - line), line);
  free(text);
}

static void assert_same_steps(const char *a, const char *b) {
  for (int step = 1; step <= 12; step++) {
    char line_a[512], line_b[512];
    find_line(a, step, line_a);
    find_line(b, step, line_b);
    assert_string_equal(line_a, line_b);
  }
}

static void check_broken_run(const char *name, void (*change)(ath_train_options *)) {
  char whole[64], broken[64];
  snprintf(whole, sizeof whole, "%s-whole", name);
  snprintf(broken, sizeof broken, "%s-broken", name);
  ath_train_options options = small_run(&data);
  if (change != NULL) change(&options);
  assert_ok(run_until(&options, whole, 0));
  assert_fails(run_until(&options, broken, 5), ATH_INTERRUPTED, "checkpoint-5");
  assert_fails(run_until(&options, broken, 9), ATH_INTERRUPTED, "step 9 of 12");
  assert_non_null(strstr(messages, "checkpoint-5"));
  assert_ok(run_until(&options, broken, 0));
  assert_same_end(whole, broken);
  assert_same_steps(whole, broken);
  ath_train_options_free(&options);
}

static void a_run_stopped_twice_ends_with_the_same_bits(void **state) {
  (void)state;
  check_broken_run("plain", NULL);
}

static void accumulate(ath_train_options *options) {
  options->gradient_accumulation_steps = 3;
  options->lr_scheduler_type = "cosine";
}

static void so_does_one_with_several_micro_batches(void **state) {
  (void)state;
  check_broken_run("accumulated", accumulate);
}

static void a_finished_run_started_again_changes_nothing(void **state) {
  (void)state;
  ath_train_options options = small_run(&data);
  assert_ok(run_until(&options, "once", 0));
  assert_ok(run_until(&options, "twice", 0));
  ath_train_summary first = last_summary;
  const char *before = in_folder(data.folder, "before");
  shell("cp -rp '%s' '%s'", options.output_dir, before);
  assert_ok(run_until(&options, "twice", 0));
  assert_non_null(strstr(messages, "was finished at step 12"));
  shell("diff -r '%s' '%s'", before, options.output_dir); /* not a point more in the log */
  assert_memory_equal(&last_summary, &first, sizeof first);
  assert_same_end("once", "twice");
  /* Nothing has to be opened or compiled to know it. */
  options.device = "/nowhere/plugin.so";
  assert_ok(run_until(&options, "twice", 0));
  assert_non_null(strstr(messages, "was finished at step 12"));
  options.device = "cpu";
  /* Without its model, or with an evaluation not made yet, there is something left to do. */
  shell("rm '%s'/model.safetensors%s", options.output_dir, "");
  assert_ok(run_until(&options, "twice", 0));
  assert_same_end("once", "twice");
  ath_train_options_free(&options);
}

/* --- torn checkpoints ---------------------------------------------------------------------- */

static const char *const files[] = {
  "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
  "special_tokens_map.json", "README.md", "training/optimizer.safetensors", "training/state.json",
  "SHA256SUMS"};

static void cut_file(const char *path) { shell("truncate -s -1 '%s'%s", path, ""); }
static void remove_file(const char *path) { shell("rm '%s'%s", path, ""); }
static void empty_file(const char *path) { shell("truncate -s 0 '%s'%s", path, ""); }

static void flip_bit(const char *path) {
  size_t size;
  char *bytes = file_bytes(path, &size);
  bytes[size / 2] ^= 1;
  FILE *file = fopen(path, "wb");
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
  free(bytes);
}

static void a_torn_checkpoint_is_passed_over_whatever_file_is_hurt(void **state) {
  (void)state;
  void (*const hurts[])(const char *) = {cut_file, remove_file, empty_file, flip_bit};
  ath_train_options options = small_run(&data);
  assert_ok(run_until(&options, "unhurt", 0));
  assert_fails(run_until(&options, "stopped", 8), ATH_INTERRUPTED, "");
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    for (size_t h = 0; h < 4; h++) {
      const char *hurt = in_folder(data.folder, "hurt");
      shell("rm -rf '%s'%s", hurt, "");
      shell("cp -r '%s' '%s'", in_folder(data.folder, "stopped"), hurt);
      char file[128];
      snprintf(file, sizeof file, "checkpoint-8/%s", files[i]);
      hurts[h](in_run("hurt", file));
      assert_ok(run_until(&options, "hurt", 0));
      if (strstr(messages, "passed over") == NULL || strstr(messages, "checkpoint-4") == NULL)
        fail_msg("%s, hurt %zu: %s", files[i], h, messages);
      assert_same_end("unhurt", "hurt");
    }
  ath_train_options_free(&options);
}

static void what_a_killed_save_left_is_swept_away(void **state) {
  (void)state;
  ath_train_options options = small_run(&data);
  const char *left = in_run("swept", "checkpoint-8.partial");
  shell("mkdir -p '%s'%s", left, "");
  shell("touch '%s'/model.safetensors%s", left, "");
  assert_ok(run_until(&options, "swept", 0));
  assert_false(ath_path_exists(in_run("swept", "checkpoint-8.partial")));
  assert_true(ath_path_exists(in_run("swept", "checkpoint-8")));
  ath_train_options_free(&options);
}

/* As a full disk does, a limit on the size of files makes writing fail in the middle. */
static void a_save_that_fails_keeps_the_one_before(void **state) {
  (void)state;
  ath_train_options options = small_run(&data);
  assert_fails(run_until(&options, "full", 4), ATH_INTERRUPTED, "checkpoint-4");
  struct rlimit unlimited, limit;
  getrlimit(RLIMIT_FSIZE, &unlimited);
  limit = (struct rlimit){.rlim_cur = 16000, .rlim_max = unlimited.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  ath_status status = run_until(&options, "full", 0);
  setrlimit(RLIMIT_FSIZE, &unlimited);
  assert_int_equal(status, ATH_IO);
  assert_non_null(strstr(ath_error_text(), "checkpoint of step 8"));
  assert_true(ath_path_exists(in_run("full", "checkpoint-4")));
  assert_false(ath_path_exists(in_run("full", "checkpoint-8")));
  assert_false(ath_path_exists(in_run("full", "checkpoint-8.partial")));
  assert_ok(run_until(&options, "full", 0));
  assert_ok(run_until(&options, "not-full", 0));
  assert_same_end("full", "not-full");
  ath_train_options_free(&options);
}

static void only_the_newest_checkpoints_are_kept(void **state) {
  (void)state;
  ath_train_options options = small_run(&data);
  options.save_steps = 3;
  options.save_total_limit = 2;
  assert_ok(run_until(&options, "kept", 0));
  assert_false(ath_path_exists(in_run("kept", "checkpoint-3")));
  assert_false(ath_path_exists(in_run("kept", "checkpoint-6")));
  assert_true(ath_path_exists(in_run("kept", "checkpoint-9")));
  assert_true(ath_path_exists(in_run("kept", "checkpoint-12")));
  ath_train_options_free(&options);
}

/* --- refusals ------------------------------------------------------------------------------ */

static void a_setting_that_changes_the_result_is_refused(void **state) {
  (void)state;
  ath_train_options options = small_run(&data);
  assert_fails(run_until(&options, "settings", 5), ATH_INTERRUPTED, "");
  options.learning_rate = 0.02;
  assert_fails(run_until(&options, "settings", 0), ATH_MISMATCH,
               "learning_rate was 0.01, is 0.02");
  options.learning_rate = 0.01;
  options.num_hidden_layers = 2;
  assert_fails(run_until(&options, "settings", 0), ATH_MISMATCH,
               "num_hidden_layers was 1, is 2");
  options.num_hidden_layers = 1;
  options.logging_steps = 2; /* does not change it */
  assert_ok(run_until(&options, "settings", 0));
  ath_train_options_free(&options);
}

static void a_setting_that_an_older_program_did_not_know_counts_as_off(void **state) {
  (void)state;
  ath_train_options options = small_run(&data);
  assert_fails(run_until(&options, "older", 5), ATH_INTERRUPTED, "checkpoint-5");
  const char *checkpoint = in_run("older", "checkpoint-5");
  shell("grep -q '\"bf16\": false' '%s'/training/state.json%s", checkpoint, "");
  shell("cd '%s' && sed -i '/bf16/s/bf16/unheard_of/' training/state.json && "
        "sha256sum $(awk '{print $2}' SHA256SUMS) > ../sums%s && mv ../sums SHA256SUMS",
        checkpoint, "");
  assert_ok(run_until(&options, "older", 0));
  assert_int_equal(last_summary.resumed_from, 5);
  ath_train_options_free(&options);
}

static void a_finished_model_is_not_written_over_unasked(void **state) {
  (void)state;
  ath_train_options options = small_run(&data);
  assert_ok(run_until(&options, "over", 0));
  options.resume_from_checkpoint = "none";
  assert_fails(run_until(&options, "over", 0), ATH_USAGE, "holds checkpoints");
  shell("rm -r '%s'/checkpoint-*%s", options.output_dir, "");
  options.resume_from_checkpoint = "auto";
  assert_fails(run_until(&options, "over", 0), ATH_USAGE, "holds a model");
  options.overwrite_output_dir = true;
  assert_ok(run_until(&options, "over", 0));
  ath_train_options_free(&options);
}

static void a_checkpoint_may_be_named(void **state) {
  (void)state;
  ath_train_options options = small_run(&data);
  assert_ok(run_until(&options, "first", 0));
  char named[4096];
  snprintf(named, sizeof named, "%s", in_run("first", "checkpoint-4"));
  options.resume_from_checkpoint = named;
  assert_ok(run_until(&options, "second", 0));
  assert_same_end("first", "second");
  ath_train_options_free(&options);
}

static void a_second_run_in_a_folder_is_refused_and_harms_nothing(void **state) {
  (void)state;
  ath_train_options options = small_run(&data);
  int handle;
  assert_ok(ath_folder_lock(in_run("first", "."), "held by the test", &handle));
  assert_fails(run_until(&options, "first", 0), ATH_DENIED, "another process is training here");
  options.device = "/nowhere/plugin.so"; /* the folder is looked at before the device is opened */
  assert_fails(run_until(&options, "first", 0), ATH_DENIED, "another process is training here");
  options.device = "cpu";
  assert_int_equal(close(handle), 0);
  assert_ok(run_until(&options, "first", 0));
  ath_train_options_free(&options);
}

static void a_run_whose_device_is_not_there_leaves_no_folder(void **state) {
  (void)state;
  ath_train_options options = small_run(&data);
  options.device = "/nowhere/plugin.so";
  assert_fails(run_until(&options, "nothing", 0), ATH_NOT_FOUND, "/nowhere/plugin.so");
  assert_false(ath_path_exists(in_run("nothing", "")));
  ath_train_options_free(&options);
}

/* Between two programs, as a compiler cannot be stopped: here before the first. */
static void a_signal_before_the_first_step_is_heeded_before_the_device_is_opened(void **state) {
  (void)state;
  ath_train_options options = small_run(&data);
  volatile sig_atomic_t asked = 1;
  char folder[4096];
  ath_train_summary summary;
  snprintf(folder, sizeof folder, "%s", in_folder(data.folder, "signalled"));
  options.output_dir = folder;
  options.stop = &asked;
  options.device = "/nowhere/plugin.so";
  assert_fails(ath_train(&options, &summary), ATH_INTERRUPTED, "before the first step");
  assert_false(ath_path_exists(folder));
  ath_train_options_free(&options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_run_stopped_twice_ends_with_the_same_bits),
    cmocka_unit_test(so_does_one_with_several_micro_batches),
    cmocka_unit_test(a_finished_run_started_again_changes_nothing),
    cmocka_unit_test(a_torn_checkpoint_is_passed_over_whatever_file_is_hurt),
    cmocka_unit_test(what_a_killed_save_left_is_swept_away),
    cmocka_unit_test(a_save_that_fails_keeps_the_one_before),
    cmocka_unit_test(only_the_newest_checkpoints_are_kept),
    cmocka_unit_test(a_setting_that_changes_the_result_is_refused),
    cmocka_unit_test(a_setting_that_an_older_program_did_not_know_counts_as_off),
    cmocka_unit_test(a_finished_model_is_not_written_over_unasked),
    cmocka_unit_test(a_checkpoint_may_be_named),
    cmocka_unit_test(a_second_run_in_a_folder_is_refused_and_harms_nothing),
    cmocka_unit_test(a_run_whose_device_is_not_there_leaves_no_folder),
    cmocka_unit_test(a_signal_before_the_first_step_is_heeded_before_the_device_is_opened),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
