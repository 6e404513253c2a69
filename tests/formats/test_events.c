/* test_events.c: TensorBoard's event files: golden bytes, names, what a resumed run writes. */
#include "testing.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#include "athanor/events.h"
#include "athanor/tfrecord.h"
#include "formats/event_message.h"
#include "formats/hex.h"
#include "storage/file.h"

static void the_messages_have_the_golden_bytes(void **state) {
  (void)state;
  ath_buffer out = ath_buffer_make(1000);
  assert_ok(ath_event_version(0, &out));
  assert_hex(out.bytes, out.length,
             "1800000000000000a37f4b22 09 0000000000000000"
             "1a0d627261696e2e4576656e743a32 eedf28a3");
  ath_buffer_clear(&out);
  assert_ok(ath_event_scalar(0, 1, "loss", 0.5f, &out));
  assert_hex(out.bytes, out.length,
             "1a00000000000000129bd82d 09 0000000000000000"
             "1001 2a0d0a0b0a046c6f7373150000003f ba9ed7aa");
  ath_buffer_free(&out);
}

/* Field numbers from event.proto; 3fe0… is 0.5, step 300 is ac 02. */
static void a_start_event_says_its_step(void **state) {
  (void)state;
  ath_buffer out = ath_buffer_make(1000);
  assert_ok(ath_event_session_start(0.5, 300, &out));
  assert_int_equal(out.length, 16 + 16);
  assert_hex(out.bytes + 12, 16, "09 000000000000e03f 10ac02 3a020801");
  ath_buffer_free(&out);
}

static void a_record_keeps_to_the_maximum(void **state) {
  (void)state;
  ath_buffer out = ath_buffer_make(64);
  char tag[100] = {0};
  memset(tag, 't', sizeof tag - 1);
  assert_fails(ath_event_scalar(0, 1, tag, 1, &out), ATH_NO_MEMORY, "limit of 64");
  ath_buffer_free(&out);
}

/* The only file of a folder, or the last one by name. */
static void last_file(const char *folder, char path[ATH_PATH_MAX], size_t expected_count) {
  char **names;
  size_t count;
  assert_ok(ath_folder_list(folder, &names, &count));
  assert_int_equal(count, expected_count);
  assert_ok(ath_path_join(path, folder, names[count - 1]));
  assert_non_null(strstr(names[count - 1], "tfevents"));
  ath_folder_list_free(names, count);
}

/* Counts the records; the wanted one's bytes behind its time are compared. */
static size_t check_record(const char *path, uint64_t wanted, const char *hex) {
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  size_t count = 0;
  assert_ok(ath_tfrecord_open(path, &reader));
  for (;;) {
    assert_ok(ath_tfrecord_next(reader, &record));
    if (record.bytes == NULL) break;
    assert_true(record.length > 9);
    if (record.number == wanted) assert_hex(record.bytes + 9, record.length - 9, hex);
    count++;
  }
  ath_tfrecord_close(reader);
  return count;
}

static void a_scalar_is_in_the_file_at_once(void **state) {
  (void)state;
  char *folder = make_folder();
  char path[ATH_PATH_MAX];
  ath_events *events = NULL;
  assert_ok(ath_events_create(in_folder(folder, "made/for/it"), 0, &events));
  last_file(in_folder(folder, "made/for/it"), path, 1);
  assert_int_equal(check_record(path, 0, "1a0d627261696e2e4576656e743a32"), 2);
  assert_int_equal(check_record(path, 1, "3a020801"), 2);
  assert_ok(ath_events_scalar(events, 1, "loss", 0.5f));
  assert_int_equal(check_record(path, 2, "1001 2a0d0a0b0a046c6f7373150000003f"), 3);
  assert_ok(ath_events_scalar(events, 2, "loss", NAN));
  assert_int_equal(check_record(path, 3, "1002 2a0d0a0b0a046c6f7373150000c07f"), 4);
  assert_ok(ath_events_close(events));
  assert_ok(ath_events_close(NULL));
  remove_folder(folder);
}

static void a_resumed_run_starts_behind_its_last_step_in_a_later_file(void **state) {
  (void)state;
  char *folder = make_folder();
  char path[ATH_PATH_MAX], earlier[ATH_PATH_MAX] = "";
  for (int run = 0; run < 3; run++) {
    ath_events *events = NULL;
    assert_ok(ath_events_create(folder, run * 4, &events));
    assert_ok(ath_events_close(events));
    last_file(folder, path, (size_t)run + 1);
    assert_true(strcmp(path, earlier) > 0);
    memcpy(earlier, path, sizeof path);
  }
  assert_int_equal(check_record(path, 1, "1009 3a020801"), 2);
  remove_folder(folder);
}

static void a_tag_that_is_too_long_leaves_the_file_whole(void **state) {
  (void)state;
  char *folder = make_folder();
  char path[ATH_PATH_MAX];
  ath_events *events = NULL;
  char *tag = malloc(100000);
  memset(tag, 't', 99999);
  tag[99999] = '\0';
  assert_ok(ath_events_create(folder, 0, &events));
  assert_fails(ath_events_scalar(events, 1, tag, 1), ATH_NO_MEMORY, "tfevents");
  assert_ok(ath_events_scalar(events, 1, "loss", 0.5f));
  last_file(folder, path, 1);
  assert_int_equal(check_record(path, 2, "1001 2a0d0a0b0a046c6f7373150000003f"), 3);
  assert_ok(ath_events_close(events));
  free(tag);
  remove_folder(folder);
}

/* A limit on the file's size stands for the full disk: part of the record fits. */
static void a_record_that_does_not_fit_the_disk_is_taken_back(void **state) {
  (void)state;
  char *folder = make_folder();
  char path[ATH_PATH_MAX];
  ath_events *events = NULL;
  uint64_t size;
  assert_ok(ath_events_create(folder, 0, &events));
  last_file(folder, path, 1);
  assert_ok(ath_file_size(path, &size));
  struct rlimit usual;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit tight = {.rlim_cur = size + 20, .rlim_max = usual.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
  ath_status status = ath_events_scalar(events, 1, "loss", 0.5f);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
  assert_int_equal(status, ATH_IO);
  assert_non_null(strstr(ath_error_text(), "cannot write"));
  assert_ok(ath_events_scalar(events, 2, "loss", 0.5f));
  assert_int_equal(check_record(path, 2, "1002 2a0d0a0b0a046c6f7373150000003f"), 3);
  assert_ok(ath_events_close(events));
  remove_folder(folder);
}

static void a_file_in_place_of_the_folder_is_refused(void **state) {
  (void)state;
  char *folder = make_folder();
  assert_ok(ath_file_write(in_folder(folder, "file"), "", 0));
  ath_events *events = NULL;
  assert_fails(ath_events_create(in_folder(folder, "file"), 0, &events), ATH_INVALID,
               "in the way of the folder");
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_messages_have_the_golden_bytes),
      cmocka_unit_test(a_start_event_says_its_step),
      cmocka_unit_test(a_record_keeps_to_the_maximum),
      cmocka_unit_test(a_scalar_is_in_the_file_at_once),
      cmocka_unit_test(a_resumed_run_starts_behind_its_last_step_in_a_later_file),
      cmocka_unit_test(a_tag_that_is_too_long_leaves_the_file_whole),
      cmocka_unit_test(a_record_that_does_not_fit_the_disk_is_taken_back),
      cmocka_unit_test(a_file_in_place_of_the_folder_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
