/* test_prepare.c: text to shards: what is in them, and what is said when it cannot be done. */
#include "testing.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "data/manifest.h"
#include "prepare_case.h"
#include "storage/file.h"

/* --- content ------------------------------------------------------------------------------- */

static void records_are_the_joined_lines_cut_at_max_length(void **state) {
  (void)state;
  for (int keep = 0; keep < 2; keep++) {
    ath_prepare_options options = options_to(keep ? "joined-blank" : "joined");
    options.validation_split_percentage = 0;
    options.keep_blank_lines = keep;
    ath_prepare_report report;
    assert_ok(ath_prepare(tokenizer, &options, &report));
    size_t count;
    int32_t *all = encode_all(LINES, keep, &count), ids[32], mask[32];
    ath_dataset *data = NULL;
    assert_ok(ath_dataset_open(in_folder(options.output, "train"), &data));
    assert_int_equal(ath_dataset_size(data), count / 32);
    for (uint64_t r = 0; r < ath_dataset_size(data); r++) {
      assert_ok(ath_dataset_read(data, r, ids, mask));
      assert_memory_equal(ids, all + r * 32, sizeof ids);
      for (int i = 0; i < 32; i++) assert_int_equal(mask[i], 1);
    }
    assert_ok(ath_dataset_verify(data));
    assert_int_equal(report.tokens, count);
    assert_int_equal(report.tokens_dropped, count % 32);
    assert_int_equal(report.lines, LINES);
    assert_int_equal(report.train_records, count / 32);
    assert_int_equal(report.train_shards, (count / 32 + 99) / 100);
    assert_int_equal(report.validation_records, 0);
    assert_false(ath_path_exists(in_folder(options.output, "validation")));
    assert_false(ath_path_exists(in_folder(options.output, "progress.journal")));
    ath_dataset_close(data);
    free(all);
  }
}

/* Every line goes to one split as a whole, and about the wanted share to validation. */
static void lines_are_shared_out_between_the_splits(void **state) {
  (void)state;
  ath_prepare_options options = options_to("splits");
  options.validation_split_percentage = 20;
  options.max_length = 8;
  ath_prepare_report report;
  assert_ok(ath_prepare(tokenizer, &options, &report));
  size_t count;
  int32_t *all = encode_all(LINES, false, &count);
  assert_int_equal(report.tokens, count);
  assert_int_equal((report.train_records + report.validation_records) * 8 + report.tokens_dropped,
                   count);
  assert_true(report.tokens_dropped <= 2 * 7);
  double lines[2] = {0};
  for (int split = 0; split < 2; split++) {
    ath_dataset *data = NULL;
    const char *name = split == 0 ? "train" : "validation";
    int32_t ids[8], mask[8], previous = 1;
    assert_ok(ath_dataset_open(in_folder(options.output, name), &data));
    for (uint64_t r = 0; r < ath_dataset_size(data); r++) {
      assert_ok(ath_dataset_read(data, r, ids, mask));
      for (int i = 0; i < 8; i++) {
        assert_int_equal(ids[i] == 0, previous == 1); /* [CLS] follows [SEP] and only it */
        previous = ids[i];
        lines[split] += ids[i] == 0;
      }
    }
    ath_dataset_close(data);
  }
  double used = LINES - LINES / 11 - 1;
  assert_near(lines[0] + lines[1], used, 2, 0);
  assert_near(lines[1], used * 0.2, 4 * sqrt(used * 0.2 * 0.8), 0);
  free(all);
}

static void the_bytes_do_not_depend_on_threads(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads++) {
    char name[16];
    snprintf(name, sizeof name, "threads%d", threads);
    ath_prepare_options options = options_to(name);
    options.threads = threads;
    assert_ok(ath_prepare(tokenizer, &options, NULL));
    if (threads == 1) continue;
    char first[4200];
    snprintf(first, sizeof first, "%s/threads1", folder);
    assert_true(same_folders(first, options.output));
  }
}

static void several_files_are_one_text(void **state) {
  (void)state;
  char first[4200], second[4200];
  snprintf(first, sizeof first, "%s/first.txt", folder);
  snprintf(second, sizeof second, "%s/second.txt", folder);
  write_text(first, 0, 1000);
  write_text(second, 1000, LINES - 1000);
  const char *both[] = {first, second};
  ath_prepare_options whole = options_to("whole"), parts = options_to("parts");
  parts.inputs = both;
  parts.input_count = 2;
  assert_ok(ath_prepare(tokenizer, &whole, NULL));
  assert_ok(ath_prepare(tokenizer, &parts, NULL));
  for (int split = 0; split < 2; split++) {
    const char *name = split == 0 ? "train" : "validation";
    char a[4300], b[4300];
    snprintf(a, sizeof a, "%s/%s", whole.output, name);
    snprintf(b, sizeof b, "%s/%s", parts.output, name);
    assert_int_equal(unlink(in_folder(a, "manifest.json")), 0); /* names the inputs */
    assert_int_equal(unlink(in_folder(b, "manifest.json")), 0);
    assert_true(same_folders(a, b));
  }
}

static void shards_keep_to_their_size(void **state) {
  (void)state;
  ath_prepare_options options = options_to("bytes");
  options.shard_records = 0;
  options.shard_bytes = 10000;
  options.validation_split_percentage = 0;
  ath_prepare_report report;
  ath_manifest manifest;
  assert_ok(ath_prepare(tokenizer, &options, &report));
  assert_ok(ath_manifest_read(in_folder(options.output, "train"), &manifest));
  assert_true(manifest.shards.count > 5);
  assert_int_equal(manifest.shards.count, report.train_shards);
  assert_string_equal(manifest.tokenizer_hash, ath_tokenizer_hash(tokenizer));
  for (size_t i = 0; i < manifest.shards.count; i++) {
    assert_true(manifest.shards.items[i].bytes <= 10000);
    if (i + 1 < manifest.shards.count) assert_true(manifest.shards.items[i].bytes > 9500);
  }
  ath_manifest_free(&manifest);
}

/* --- failures ------------------------------------------------------------------------------ */

static void text_too_short_says_how_much_there_was(void **state) {
  (void)state;
  const char *one[] = {in_folder(folder, "short.txt")};
  assert_ok(ath_file_write(one[0], "the record", 10));
  ath_prepare_options options = options_to("short");
  options.inputs = one;
  options.validation_split_percentage = 0;
  /* [CLS] ▁the ▁record [SEP] */
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_INVALID, "gives 4 tokens");
  assert_non_null(strstr(ath_error_text(), "max_length 32"));
  assert_false(ath_path_exists(in_folder(options.output, "train")));
  assert_ok(ath_file_write(one[0], "", 0));
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_INVALID, "gives 0 tokens");
}

static void an_empty_validation_split_is_an_error(void **state) {
  (void)state;
  ath_prepare_options options = options_to("novalidation");
  options.validation_split_percentage = 0.001;
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_INVALID, "validation split would be");
  assert_false(ath_path_exists(in_folder(options.output, "progress.journal")));
  options.validation_split_percentage = 0; /* the failure left nothing in the way */
  assert_ok(ath_prepare(tokenizer, &options, NULL));
}

static void options_out_of_range_are_refused(void **state) {
  (void)state;
  ath_prepare_options options = options_to("range");
  options.max_length = 7;
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_INVALID, "max_length is 7");
  options.max_length = 65537;
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_INVALID, "max_length is 65537");
  options = options_to("range");
  options.validation_split_percentage = NAN;
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_INVALID, "percentage");
  options = options_to("range");
  options.shard_bytes = 5;
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_INVALID, "either in records or");
  options = options_to("range");
  options.input_count = 0;
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_INVALID, "no input files");
  assert_false(ath_path_exists(options.output));
}

static void input_that_cannot_be_read_is_named(void **state) {
  (void)state;
  ath_prepare_options options = options_to("unread");
  const char *one[] = {in_folder(folder, "none.txt")};
  options.inputs = one;
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_NOT_FOUND, "none.txt");
  one[0] = folder;
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_INVALID, "is a folder");
  one[0] = in_folder(folder, "latin1.txt");
  assert_ok(ath_file_write(one[0], "the\ncaf\xE9\n", 9));
  options = options_to("latin1");
  options.inputs = one;
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_INVALID,
               "latin1.txt: line 2, column 4: byte 7 (0xE9");
  /* A failed run without a complete shard is not in the way of another one. */
  options.inputs = inputs;
  assert_ok(ath_prepare(tokenizer, &options, NULL));
}

/* A FIFO can be opened but once: whoever writes to it is killed when its reader goes. */
static void text_from_a_pipe_gives_the_same_shards(void **state) {
  (void)state;
  char fifo[4200], command[9000];
  snprintf(fifo, sizeof fifo, "%s/fifo", folder);
  assert_int_equal(mkfifo(fifo, 0600), 0);
  snprintf(command, sizeof command, "cat '%s' > '%s' &", text_path, fifo);
  const char *one[] = {fifo};
  ath_prepare_options options = options_to("piped"), plain = options_to("unpiped");
  options.inputs = one;
  assert_int_equal(system(command), 0);
  alarm(60); /* it used to wait for ever for another writer */
  assert_ok(ath_prepare(tokenizer, &options, NULL));
  alarm(0);
  assert_ok(ath_prepare(tokenizer, &plain, NULL));
  snprintf(command, sizeof command, "cd '%s' && diff -r -x manifest.json -x index.bin piped "
           "unpiped", folder); /* the manifests name their inputs */
  assert_int_equal(system(command), 0);
}

/* Runs in a process of its own, where limits and rights can be taken away; its exit code is the
 * number of the status. The text must contain `part`. */
static int status_in_child(ath_prepare_options options, void (*restrict_child)(void),
                           const char *part) {
  pid_t child = fork();
  if (child == 0) {
    restrict_child();
    ath_status status = ath_prepare(tokenizer, &options, NULL);
    _exit(strstr(ath_error_text(), part) != NULL ? (int)status : 99);
  }
  int result = 0;
  assert_int_equal(waitpid(child, &result, 0), child);
  return WIFEXITED(result) ? WEXITSTATUS(result) : 100;
}

static void forbid_large_files(void) {
  struct rlimit limit = {4000, 4000};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
}

/* A write that fails leaves no half shard, and the run can be continued. */
static void a_failed_write_names_the_file_and_loses_nothing(void **state) {
  (void)state;
  ath_prepare_options options = options_to("full"), whole = options_to("notfull");
  assert_int_equal(status_in_child(options, forbid_large_files, "train/dataset-0"),
                   ATH_IO);
  char **names;
  size_t count;
  assert_ok(ath_folder_list(in_folder(options.output, "train"), &names, &count));
  assert_int_equal(count, 0);
  ath_folder_list_free(names, count);
  assert_ok(ath_prepare(tokenizer, &options, NULL));
  assert_ok(ath_prepare(tokenizer, &whole, NULL));
  assert_true(same_folders(options.output, whole.output));
}

static void become_nobody(void) {
  if (geteuid() == 0 && seteuid(65534) != 0) _exit(98);
}

static void a_folder_without_permission_is_named(void **state) {
  (void)state;
  ath_prepare_options options = options_to("locked/in");
  const char *locked = in_folder(folder, "locked");
  assert_int_equal(mkdir(locked, 0555), 0);
  assert_int_equal(chmod(folder, 0755), 0);
  assert_int_equal(status_in_child(options, become_nobody, "locked/in"), ATH_DENIED);
}

static void two_runs_do_not_write_into_one_folder(void **state) {
  (void)state;
  ath_prepare_options options = options_to("shared");
  assert_ok(ath_folder_create(options.output));
  int held = open(options.output, O_RDONLY | O_DIRECTORY);
  assert_int_equal(flock(held, LOCK_EX), 0);
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_DENIED, "another process");
  close(held);
  assert_ok(ath_prepare(tokenizer, &options, NULL));
}

static volatile sig_atomic_t stop_now;

static void set_stop(void *context, const ath_progress *progress) {
  (void)context;
  (void)progress;
  stop_now = 1;
}

static void a_run_that_is_asked_to_stop_keeps_its_shards_and_can_go_on(void **state) {
  (void)state;
  char *long_text = strdup(in_folder(folder, "long.txt"));
  write_text(long_text, 0, 20000); /* more than two blocks */
  const char *one[] = {long_text};
  ath_prepare_options options = options_to("stopped"), whole = options_to("unstopped");
  options.inputs = whole.inputs = one;
  options.stop = &stop_now;
  stop_now = 0;
  ath_log_set_sink(&(ath_log_sink){.progress = set_stop});
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_INTERRUPTED, "complete shards");
  ath_log_set_sink(NULL);
  stop_now = 0;
  ath_prepare_report report;
  assert_ok(ath_prepare(tokenizer, &options, &report));
  assert_true(report.shards_kept > 0 && report.shards_kept < report.train_shards);
  assert_ok(ath_prepare(tokenizer, &whole, NULL));
  assert_true(same_folders(options.output, whole.output));
  free(long_text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(records_are_the_joined_lines_cut_at_max_length),
    cmocka_unit_test(lines_are_shared_out_between_the_splits),
    cmocka_unit_test(the_bytes_do_not_depend_on_threads),
    cmocka_unit_test(several_files_are_one_text),
    cmocka_unit_test(shards_keep_to_their_size),
    cmocka_unit_test(text_from_a_pipe_gives_the_same_shards),
    cmocka_unit_test(text_too_short_says_how_much_there_was),
    cmocka_unit_test(an_empty_validation_split_is_an_error),
    cmocka_unit_test(options_out_of_range_are_refused),
    cmocka_unit_test(input_that_cannot_be_read_is_named),
    cmocka_unit_test(a_failed_write_names_the_file_and_loses_nothing),
    cmocka_unit_test(a_folder_without_permission_is_named),
    cmocka_unit_test(two_runs_do_not_write_into_one_folder),
    cmocka_unit_test(a_run_that_is_asked_to_stop_keeps_its_shards_and_can_go_on),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
