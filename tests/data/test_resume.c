/* test_resume.c: preparing, killed at every block, continues to the same bytes. */
#include "testing.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "prepare_fixture.h"
#include "storage/file.h"

enum { LINES = 60000 }; /* eight blocks */

static int reports_left;

static void kill_at_report(void *context, const ath_progress *progress) {
  (void)context;
  (void)progress;
  if (--reports_left == 0) raise(SIGKILL);
}

/* Prepares in a process of its own that is killed at its n-th report of progress. Returns whether
 * it was. */
static bool prepare_and_kill(const ath_tokenizer *tokenizer, const ath_prepare_options *options,
                             int report) {
  pid_t child = fork();
  if (child == 0) {
    reports_left = report;
    ath_log_set_sink(&(ath_log_sink){.progress = kill_at_report});
    _exit((int)ath_prepare(tokenizer, options, NULL));
  }
  int result = 0;
  assert_int_equal(waitpid(child, &result, 0), child);
  if (!WIFSIGNALED(result)) assert_int_equal(WEXITSTATUS(result), 0);
  return WIFSIGNALED(result);
}

static void a_killed_run_continues_to_the_same_bytes(void **state) {
  (void)state;
  char *folder = make_folder(), text[4200], whole[4200], broken[4200];
  snprintf(text, sizeof text, "%s/text.txt", folder);
  snprintf(whole, sizeof whole, "%s/whole", folder);
  snprintf(broken, sizeof broken, "%s/broken", folder);
  write_text(text, 0, LINES);
  ath_tokenizer *tokenizer = small_tokenizer(0);
  const char *inputs[] = {text};
  ath_prepare_options options = ath_prepare_defaults();
  options.inputs = inputs;
  options.input_count = 1;
  options.threads = 1;
  options.max_length = 24;
  options.shard_records = 900;
  options.output = whole;
  ath_prepare_report report;
  assert_ok(ath_prepare(tokenizer, &options, &report));
  assert_true(report.train_shards > 15 && report.validation_shards > 0);

  options.output = broken;
  int kills = 0;
  while (prepare_and_kill(tokenizer, &options, 1 + kills % 3)) {
    kills++;
    assert_true(kills < 40);
    if (kills == 2) { /* a changed option is noticed half-way, too */
      ath_prepare_options other = options;
      other.validation_split_percentage = 6;
      assert_fails(ath_prepare(tokenizer, &other, NULL), ATH_MISMATCH, "an unfinished dataset");
      assert_non_null(strstr(ath_error_text(), "validation_split_percentage"));
      ath_dataset *data = NULL; /* as is reading the unfinished dataset */
      assert_fails(ath_dataset_open(in_folder(folder, "broken/train"), &data), ATH_INVALID,
                   "not finished");
    }
  }
  assert_true(kills >= 3);
  assert_true(same_folders(whole, broken));
  ath_tokenizer_destroy(tokenizer);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_killed_run_continues_to_the_same_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
