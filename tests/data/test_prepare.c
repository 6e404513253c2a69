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
#include "prepare_fixture.h"
#include "storage/file.h"

static char *folder;
static ath_tokenizer *tokenizer;
static char text_path[4096];
static const char *inputs[2] = {text_path, text_path};

enum { LINES = 3000 };

static int setup(void **state) {
  (void)state;
  folder = make_folder();
  tokenizer = small_tokenizer(0);
  snprintf(text_path, sizeof text_path, "%s/text.txt", folder);
  write_text(text_path, 0, LINES);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  ath_tokenizer_destroy(tokenizer);
  remove_folder(folder);
  return 0;
}

static ath_prepare_options options_to(const char *name) {
  static char outputs[4][4200];
  static int turn;
  char *output = outputs[turn++ % 4];
  snprintf(output, sizeof outputs[0], "%s/%s", folder, name);
  ath_prepare_options options = ath_prepare_defaults();
  options.inputs = inputs;
  options.input_count = 1;
  options.output = output;
  options.max_length = 32;
  options.shard_records = 100;
  options.threads = 1;
  return options;
}

/* --- content ------------------------------------------------------------------------------- */

/* The plain version: all lines encoded one by one into one long array. */
static int32_t *encode_all(uint64_t lines, bool keep_blank, size_t *count) {
  int32_t *all = malloc(lines * 256 * sizeof *all);
  ath_encoding encoding = {0};
  *count = 0;
  for (uint64_t i = 0; i < lines; i++) {
    char line[256];
    size_t length = text_line(i, line);
    if (length == 0 && !keep_blank) continue;
    assert_ok(ath_tokenizer_encode(tokenizer, line, length, ATH_ENCODE_SPECIAL, &encoding));
    memcpy(all + *count, encoding.ids, encoding.length * sizeof *all);
    *count += encoding.length;
  }
  ath_encoding_free(&encoding);
  return all;
}

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

/* --- what is there already ------------------------------------------------------------------ */

static void a_finished_dataset_is_kept_and_another_one_is_not_overwritten(void **state) {
  (void)state;
  ath_prepare_options options = options_to("kept");
  ath_prepare_report first, again;
  assert_ok(ath_prepare(tokenizer, &options, &first));
  struct stat before, after;
  char manifest[4300];
  snprintf(manifest, sizeof manifest, "%s/train/manifest.json", options.output);
  assert_int_equal(stat(manifest, &before), 0);
  assert_ok(ath_prepare(tokenizer, &options, &again));
  assert_int_equal(stat(manifest, &after), 0);
  assert_int_equal(before.st_ino, after.st_ino); /* not written anew */
  assert_int_equal(again.shards_kept, first.train_shards + first.validation_shards);
  assert_int_equal(again.train_records, first.train_records);
  assert_int_equal(again.tokens, first.tokens);
  assert_int_equal(again.lines, LINES);

  options.max_length = 64;
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_MISMATCH,
               "max_length is 32 there and 64 now");
  assert_non_null(strstr(ath_error_text(), "--overwrite"));
  options.max_length = 32;
  options.seed = 43;
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_MISMATCH, "seed is 42 there and 43");
  options.seed = 42;
  ath_tokenizer *other = small_tokenizer(3);
  assert_fails(ath_prepare(other, &options, NULL), ATH_MISMATCH, "tokenizer_hash");
  ath_tokenizer_destroy(other);

  options.seed = 43;
  options.overwrite = true;
  assert_ok(ath_file_write(in_folder(options.output, "notes.txt"), "mine", 4));
  assert_ok(ath_prepare(tokenizer, &options, &again));
  assert_int_equal(again.shards_kept, 0);
  assert_true(ath_path_exists(in_folder(options.output, "notes.txt")));
}

static char warned[1024];

static void keep_warning(void *context, ath_log_level level, const char *text) {
  (void)context;
  if (level == ATH_LOG_WARNING) snprintf(warned, sizeof warned, "%s", text);
}

static void a_finished_dataset_older_than_its_text_is_warned_of(void **state) {
  (void)state;
  ath_prepare_options options = options_to("older");
  assert_ok(ath_prepare(tokenizer, &options, NULL));
  ath_log_set_sink(&(ath_log_sink){.message = keep_warning});
  warned[0] = '\0';
  assert_ok(ath_prepare(tokenizer, &options, NULL));
  assert_string_equal(warned, "");
  write_text(text_path, 0, LINES); /* the same bytes: only the time can tell */
  assert_ok(ath_prepare(tokenizer, &options, NULL));
  ath_log_set_sink(NULL);
  assert_non_null(strstr(warned, "text.txt is newer than this dataset"));
}

static void shards_of_another_tool_are_not_overwritten(void **state) {
  (void)state;
  ath_prepare_options options = options_to("foreign");
  assert_ok(ath_folder_create(in_folder(options.output, "train")));
  char shard[4300];
  snprintf(shard, sizeof shard, "%s/train/dataset-0-9.tfrecord", options.output);
  assert_ok(ath_file_write(shard, "x", 1));
  assert_fails(ath_prepare(tokenizer, &options, NULL), ATH_NOT_FOUND, "--overwrite");
  assert_true(ath_path_exists(shard));
}

static void a_dataset_of_another_tokenizer_is_refused_with_both_hashes(void **state) {
  (void)state;
  ath_prepare_options options = options_to("hashes");
  assert_ok(ath_prepare(tokenizer, &options, NULL));
  ath_dataset *data = NULL;
  ath_tokenizer *other = small_tokenizer(1);
  assert_ok(ath_dataset_open(in_folder(options.output, "train"), &data));
  assert_ok(ath_dataset_check_tokenizer(data, tokenizer));
  assert_fails(ath_dataset_check_tokenizer(data, other), ATH_MISMATCH,
               ath_tokenizer_hash(tokenizer));
  assert_non_null(strstr(ath_error_text(), ath_tokenizer_hash(other)));
  ath_dataset_close(data);
  ath_tokenizer_destroy(other);
}

static void a_shard_that_does_not_fit_the_manifest_is_found_on_opening(void **state) {
  (void)state;
  ath_prepare_options options = options_to("damaged");
  assert_ok(ath_prepare(tokenizer, &options, NULL));
  char train[4300], shard[4400], moved[4400];
  ath_manifest manifest;
  ath_dataset *data = NULL;
  snprintf(train, sizeof train, "%s/train", options.output);
  assert_ok(ath_manifest_read(train, &manifest));
  snprintf(shard, sizeof shard, "%s/%s", train, manifest.shards.items[0].name);
  snprintf(moved, sizeof moved, "%s/dataset-7-7.tfrecord", train);
  ath_buffer whole = ath_buffer_make(1 << 24);
  assert_ok(ath_file_read(shard, &whole));

  assert_ok(ath_file_write(shard, whole.bytes, whole.length - 1));
  assert_fails(ath_dataset_open(train, &data), ATH_CORRUPT, "but the manifest says");
  assert_int_equal(unlink(shard), 0);
  assert_fails(ath_dataset_open(train, &data), ATH_CORRUPT, "missing");
  assert_ok(ath_file_write(shard, whole.bytes, whole.length));
  assert_ok(ath_file_write(moved, whole.bytes, whole.length));
  assert_fails(ath_dataset_open(train, &data), ATH_MISMATCH, "dataset-7-7.tfrecord: not in this");
  assert_int_equal(unlink(moved), 0);
  assert_ok(ath_dataset_open(train, &data));
  ath_dataset_close(data);
  ath_buffer_free(&whole);
  ath_manifest_free(&manifest);
}

/* Writes another number behind `key` of the manifest in `train`. */
static void edit_manifest(const char *train, const char *key, const char *value) {
  char command[9000];
  snprintf(command, sizeof command,
           "sed -i.before -E 's/(\"%s\": )[0-9]+/\\1%s/' '%s/manifest.json'", key, value, train);
  assert_int_equal(system(command), 0);
}

static void totals_that_do_not_fit_the_shards_are_named(void **state) {
  (void)state;
  ath_prepare_options options = options_to("totals");
  options.validation_split_percentage = 0;
  assert_ok(ath_prepare(tokenizer, &options, NULL));
  size_t count;
  free(encode_all(LINES, false, &count));
  char records[64], tokens[64], train[4300], command[9000];
  snprintf(records, sizeof records, "\"records\" is 7, but its shards add up to %zu", count / 32);
  snprintf(tokens, sizeof tokens, "of 32 tokens are %zu", count / 32 * 32);
  const struct { const char *key, *value, *told; ath_status status; } edits[] = {
    {"tokens", "7", tokens, ATH_CORRUPT},
    {"dropped_tokens", "32", "\"dropped_tokens\" is 32", ATH_CORRUPT},
    {"version", "4294967297", "version 4294967297; this program", ATH_UNSUPPORTED},
    {"records", "7", "dataset-0-100.tfrecord does not fit 7 records", ATH_INVALID}};
  snprintf(train, sizeof train, "%s/train", options.output);
  ath_dataset *data = NULL;
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    edit_manifest(train, edits[i].key, edits[i].value);
    assert_fails(ath_dataset_open(train, &data), edits[i].status, edits[i].told);
    assert_non_null(strstr(ath_error_text(), "totals/train/manifest.json: "));
    snprintf(command, sizeof command, "mv '%s/manifest.json.before' '%s/manifest.json'", train,
             train);
    assert_int_equal(system(command), 0);
  }
  /* The total alone: its line has one blank less before the key than those of the shards. */
  snprintf(command, sizeof command, "sed -i -E 's/^( \"records\": )[0-9]+/\\17/' "
           "'%s/manifest.json'", train);
  assert_int_equal(system(command), 0);
  assert_fails(ath_dataset_open(train, &data), ATH_CORRUPT, records);
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
    cmocka_unit_test(a_finished_dataset_is_kept_and_another_one_is_not_overwritten),
    cmocka_unit_test(a_finished_dataset_older_than_its_text_is_warned_of),
    cmocka_unit_test(shards_of_another_tool_are_not_overwritten),
    cmocka_unit_test(a_dataset_of_another_tokenizer_is_refused_with_both_hashes),
    cmocka_unit_test(text_from_a_pipe_gives_the_same_shards),
    cmocka_unit_test(a_shard_that_does_not_fit_the_manifest_is_found_on_opening),
    cmocka_unit_test(totals_that_do_not_fit_the_shards_are_named),
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
