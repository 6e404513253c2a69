/* test_resume.c: preparing, killed at every block, continues to the same bytes. */
#include "testing.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
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

static char *folder, text[4200], whole[4200], broken[4200];
static ath_tokenizer *tokenizer;

static ath_prepare_options options_to(const char *output) {
  static const char *inputs[] = {text};
  ath_prepare_options options = ath_prepare_defaults();
  options.inputs = inputs;
  options.input_count = 1;
  options.threads = 1;
  options.max_length = 24;
  options.shard_records = 900;
  options.output = output;
  return options;
}

/* An unbroken run, to compare with. */
static int setup(void **state) {
  (void)state;
  folder = make_folder();
  snprintf(text, sizeof text, "%s/text.txt", folder);
  snprintf(whole, sizeof whole, "%s/whole", folder);
  snprintf(broken, sizeof broken, "%s/broken", folder);
  write_text(text, 0, LINES);
  tokenizer = small_tokenizer(0);
  ath_prepare_options options = options_to(whole);
  ath_prepare_report report;
  assert_ok(ath_prepare(tokenizer, &options, &report));
  assert_true(report.train_shards > 15 && report.validation_shards > 0);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  ath_tokenizer_destroy(tokenizer);
  remove_folder(folder);
  return 0;
}

static void a_killed_run_continues_to_the_same_bytes(void **state) {
  (void)state;
  ath_prepare_options options = options_to(broken);
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
}

/* There is one place for all shards that a line completes, so they are noted together or not. */
static void a_line_that_fills_several_shards_is_continued_after(void **state) {
  (void)state;
  char path[4300], unbroken[4300], killed[4300];
  snprintf(path, sizeof path, "%s/long.txt", folder);
  snprintf(unbroken, sizeof unbroken, "%s/long-whole", folder);
  snprintf(killed, sizeof killed, "%s/long-killed", folder);
  write_text(path, 0, 20000);
  FILE *file = fopen(path, "r+b");
  for (int i = 0; i < 30000; i++) fputs("abc ", file); /* joins what it does not overwrite */
  fclose(file);
  const char *inputs[] = {path};
  ath_prepare_options options = options_to(unbroken);
  options.inputs = inputs;
  options.shard_records = 700;
  options.validation_split_percentage = 0;
  assert_ok(ath_prepare(tokenizer, &options, NULL));
  options.output = killed;
  assert_true(prepare_and_kill(tokenizer, &options, 1));
  ath_buffer journal = ath_buffer_make(1 << 20);
  assert_ok(ath_file_read(in_folder(folder, "long-killed/progress.journal"), &journal));
  char *second = strstr(journal.bytes, "dataset-1-"), *end = strstr(journal.bytes, "dataset-0-");
  assert_true(second != NULL && end != NULL && second < strchr(end, '\n'));
  ath_buffer_free(&journal);
  assert_ok(ath_prepare(tokenizer, &options, NULL));
  assert_true(same_folders(unbroken, killed));
}

/* --- the journal --------------------------------------------------------------------------- */

static char warned[1024];

static void keep_warning(void *context, ath_log_level level, const char *message) {
  (void)context;
  if (level == ATH_LOG_WARNING) snprintf(warned, sizeof warned, "%s", message);
}

/* Writes `bytes` as the journal of a copy of the killed run, and prepares to the end there. */
static ath_status continue_with(const char *killed, const char *bytes, size_t count) {
  char command[9000], hurt[4300], journal[4400];
  snprintf(hurt, sizeof hurt, "%s/hurt", folder);
  snprintf(journal, sizeof journal, "%s/progress.journal", hurt);
  snprintf(command, sizeof command, "rm -rf '%s' && cp -r '%s' '%s'", hurt, killed, hurt);
  assert_int_equal(system(command), 0);
  assert_ok(ath_file_write(journal, bytes, count));
  ath_prepare_options options = options_to(hurt);
  warned[0] = '\0';
  ath_log_set_sink(&(ath_log_sink){.message = keep_warning});
  ath_status status = ath_prepare(tokenizer, &options, NULL);
  ath_log_set_sink(NULL);
  if (status == ATH_OK) assert_true(same_folders(whole, hurt));
  return status;
}

static void a_damaged_journal_loses_nothing(void **state) {
  (void)state;
  char killed[4300];
  snprintf(killed, sizeof killed, "%s/killed", folder);
  ath_prepare_options options = options_to(killed);
  assert_true(prepare_and_kill(tokenizer, &options, 4));
  ath_buffer journal = ath_buffer_make(1 << 20), hurt = ath_buffer_make(1 << 20);
  assert_ok(ath_file_read(in_folder(folder, "killed/progress.journal"), &journal));
  size_t first = strcspn(journal.bytes, "\n"), last = journal.length - 1, lines = 0;
  for (size_t i = 0; i < journal.length; i++) lines += journal.bytes[i] == '\n';
  while (journal.bytes[last - 1] != '\n') last--;
  assert_true(lines > 6 && journal.length - last > 60);

  assert_ok(continue_with(killed, journal.bytes, journal.length));
  assert_string_equal(warned, "");
  const size_t cuts[] = {last + 40, journal.length - 1};
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    assert_ok(continue_with(killed, journal.bytes, cuts[i]));
    assert_non_null(strstr(warned, "was cut or is damaged"));
  }
  const size_t flips[] = {first + 1, last + 12};
  for (size_t i = 0; i < sizeof flips / sizeof *flips; i++) {
    ath_buffer_clear(&hurt);
    assert_ok(ath_buffer_append(&hurt, journal.bytes, journal.length));
    hurt.bytes[flips[i]] ^= 0x84; /* not even UTF-8 any more */
    assert_ok(continue_with(killed, hurt.bytes, hurt.length));
    assert_non_null(strstr(warned, "was cut or is damaged"));
  }
  /* Without its first line there is no telling what the shards are. */
  hurt.bytes[first / 2] ^= 1;
  assert_fails(continue_with(killed, hurt.bytes, hurt.length), ATH_CORRUPT,
               "progress.journal: line 1 is damaged");
  assert_non_null(strstr(ath_error_text(), "--overwrite"));
  assert_fails(continue_with(killed, "", 0), ATH_CORRUPT, "progress.journal: line 1");
  assert_fails(continue_with(killed, "[]\n", 3), ATH_CORRUPT, "progress.journal: line 1");
  ath_buffer_free(&journal);
  ath_buffer_free(&hurt);
}

static ino_t journal_file;
static int journal_looks;

static void look_at_journal(void *context, const ath_progress *progress) {
  struct stat info;
  if (progress->finished || stat(context, &info) != 0) return;
  if (journal_looks++ > 0) assert_int_equal(info.st_ino, journal_file);
  journal_file = info.st_ino;
}

/* Written anew for each shard, it would take time that grows with the square of the text. */
static void the_journal_is_added_to_not_written_anew(void **state) {
  (void)state;
  char output[4300], path[4400];
  snprintf(output, sizeof output, "%s/added", folder);
  snprintf(path, sizeof path, "%s/progress.journal", output);
  ath_prepare_options options = options_to(output);
  ath_log_set_sink(&(ath_log_sink){.progress = look_at_journal, .context = path});
  assert_ok(ath_prepare(tokenizer, &options, NULL));
  ath_log_set_sink(NULL);
  assert_true(journal_looks > 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_killed_run_continues_to_the_same_bytes),
    cmocka_unit_test(a_line_that_fills_several_shards_is_continued_after),
    cmocka_unit_test(a_damaged_journal_loses_nothing),
    cmocka_unit_test(the_journal_is_added_to_not_written_anew),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
