/* test_prepared.c: preparing where there is something already: the same dataset, another one, a
 * damaged one, or what is no dataset. */
#include "testing.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "data/manifest.h"
#include "prepare_case.h"
#include "storage/file.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_finished_dataset_is_kept_and_another_one_is_not_overwritten),
    cmocka_unit_test(a_finished_dataset_older_than_its_text_is_warned_of),
    cmocka_unit_test(shards_of_another_tool_are_not_overwritten),
    cmocka_unit_test(a_dataset_of_another_tokenizer_is_refused_with_both_hashes),
    cmocka_unit_test(a_shard_that_does_not_fit_the_manifest_is_found_on_opening),
    cmocka_unit_test(totals_that_do_not_fit_the_shards_are_named),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
