/* test_file.c: local files: atomic writes, folders, mapping, and failures that name the path. */
#include "testing.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/file.h"

static void a_written_file_reads_back_and_leaves_no_temporary(void **state) {
  (void)state;
  char *folder = make_folder();
  static char big[700000];
  for (size_t i = 0; i < sizeof big; i++) big[i] = (char)(i * 31);
  assert_ok(ath_file_write(in_folder(folder, "a"), big, sizeof big));
  ath_buffer read = ath_buffer_make(1 << 20);
  assert_ok(ath_file_read(in_folder(folder, "a"), &read));
  assert_int_equal(read.length, sizeof big);
  assert_memory_equal(read.bytes, big, sizeof big);
  ath_buffer_free(&read);
  char **names;
  size_t count;
  assert_ok(ath_folder_list(folder, &names, &count));
  assert_int_equal(count, 1);
  ath_folder_list_free(names, count);
  remove_folder(folder);
}

static void an_abandoned_write_keeps_the_old_file(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "a");
  assert_ok(ath_file_write(path, "old", 3));
  ath_file_writer *writer = NULL;
  assert_ok(ath_file_writer_open(path, &writer));
  assert_ok(ath_file_writer_write(writer, "new", 3));
  ath_file_writer_abandon(writer);
  ath_buffer read = ath_buffer_make(100);
  assert_ok(ath_file_read(path, &read));
  assert_string_equal(read.bytes, "old");
  ath_buffer_free(&read);
  remove_folder(folder);
}

static void a_full_disk_fails_and_keeps_the_old_file(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "a");
  assert_ok(ath_file_write(path, "old", 3));
  /* A limit on file size stands for the full disk: writes past it fail alike. */
  struct rlimit before, small = {4096, 4096};
  getrlimit(RLIMIT_FSIZE, &before);
  small.rlim_max = before.rlim_max;
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  static char big[1 << 20];
  ath_status status = ath_file_write(path, big, sizeof big);
  setrlimit(RLIMIT_FSIZE, &before);
  assert_int_equal(status, ATH_IO);
  assert_non_null(strstr(ath_error_text(), path));
  ath_buffer read = ath_buffer_make(100);
  assert_ok(ath_file_read(path, &read));
  assert_string_equal(read.bytes, "old");
  ath_buffer_free(&read);
  char **names;
  size_t count;
  assert_ok(ath_folder_list(folder, &names, &count));
  assert_int_equal(count, 1); /* no temporary file is left */
  ath_folder_list_free(names, count);
  remove_folder(folder);
}

/* Whoever does not look at the result of a write must not get a file with a hole in it. */
static void a_write_that_failed_is_never_committed(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "a");
  assert_ok(ath_file_write(path, "old", 3));
  static char big[1 << 20];
  struct rlimit before, small = {4096, 4096};
  getrlimit(RLIMIT_FSIZE, &before);
  small.rlim_max = before.rlim_max;
  signal(SIGXFSZ, SIG_IGN);
  ath_file_writer *writer = NULL;
  assert_ok(ath_file_writer_open(path, &writer));
  setrlimit(RLIMIT_FSIZE, &small);
  ath_status status = ath_file_writer_write(writer, big, sizeof big);
  setrlimit(RLIMIT_FSIZE, &before);
  assert_int_equal(status, ATH_IO);
  assert_ok(ath_file_writer_write(writer, "tail", 4));
  assert_fails(ath_file_writer_commit(writer), ATH_IO, path);
  uint64_t size;
  assert_ok(ath_file_size(path, &size));
  assert_int_equal(size, 3);
  remove_folder(folder);
}

static void failures_name_the_path(void **state) {
  (void)state;
  ath_buffer read = ath_buffer_make(10);
  ath_mapping mapping;
  assert_fails(ath_file_read("/nowhere/at/all", &read), ATH_NOT_FOUND, "/nowhere/at/all");
  assert_fails(ath_file_map("/nowhere/at/all", &mapping), ATH_NOT_FOUND, "/nowhere/at/all");
  assert_fails(ath_file_map("/", &mapping), ATH_INVALID, "not a regular file");
  assert_fails(ath_file_write("/nowhere/at/all", "", 0), ATH_NOT_FOUND, "/nowhere/at/all");
  assert_fails(ath_folder_create("/proc/x/y"), ATH_NOT_FOUND, "/proc/x");
  char *folder = make_folder();
  assert_ok(ath_file_write(in_folder(folder, "f"), "0123456789a", 11));
  assert_fails(ath_file_read(in_folder(folder, "f"), &read), ATH_NO_MEMORY, "/f");
  assert_fails(ath_folder_create(in_folder(folder, "f")), ATH_INVALID, "in the way");
  ath_buffer_free(&read);
  remove_folder(folder);
}

static void folders_are_made_listed_in_order_and_removed_with_all_in_them(void **state) {
  (void)state;
  char *folder = make_folder();
  assert_ok(ath_folder_create(in_folder(folder, "a/b/c")));
  assert_ok(ath_folder_create(in_folder(folder, "a/b/c")));
  assert_ok(ath_file_write(in_folder(folder, "a/2"), "x", 1));
  assert_ok(ath_file_write(in_folder(folder, "a/10"), "x", 1));
  char **names;
  size_t count;
  assert_ok(ath_folder_list(in_folder(folder, "a"), &names, &count));
  assert_int_equal(count, 3);
  assert_string_equal(names[0], "10");
  assert_string_equal(names[1], "2");
  assert_string_equal(names[2], "b");
  ath_folder_list_free(names, count);
  /* A link to a folder elsewhere is removed, not what it points to. */
  assert_ok(ath_folder_create(in_folder(folder, "outside")));
  assert_ok(ath_file_write(in_folder(folder, "outside/kept"), "x", 1));
  assert_int_equal(symlink("../outside", in_folder(folder, "a/link")), 0);
  assert_ok(ath_folder_remove(in_folder(folder, "a")));
  assert_false(ath_path_exists(in_folder(folder, "a")));
  assert_true(ath_path_exists(in_folder(folder, "outside/kept")));
  assert_ok(ath_folder_remove(in_folder(folder, "a")));
  remove_folder(folder);
}

static void an_empty_file_maps_to_nothing(void **state) {
  (void)state;
  char *folder = make_folder();
  ath_mapping mapping;
  assert_ok(ath_file_write(in_folder(folder, "empty"), "", 0));
  assert_ok(ath_file_map(in_folder(folder, "empty"), &mapping));
  assert_int_equal(mapping.size, 0);
  assert_non_null(mapping.bytes);
  ath_file_unmap(&mapping);
  remove_folder(folder);
}

static void adding_keeps_what_was_there(void **state) {
  (void)state;
  char *folder = make_folder();
  ath_buffer read = ath_buffer_make(100);
  assert_ok(ath_file_write(in_folder(folder, "f"), "one\n", 4));
  assert_ok(ath_file_append(in_folder(folder, "f"), "two\n", 4));
  assert_ok(ath_file_append(in_folder(folder, "f"), "three\n", 6));
  assert_ok(ath_file_read(in_folder(folder, "f"), &read));
  assert_string_equal(read.bytes, "one\ntwo\nthree\n");
  assert_fails(ath_file_append(in_folder(folder, "none"), "x", 1), ATH_NOT_FOUND, "/none");
  if (access("/dev/full", W_OK) == 0)
    assert_fails(ath_file_append("/dev/full", "x", 1), ATH_NO_SPACE, "/dev/full");
  ath_buffer_free(&read);
  remove_folder(folder);
}

static void a_fifo_without_a_writer_is_refused_at_once(void **state) {
  (void)state;
  char *folder = make_folder();
  ath_buffer read = ath_buffer_make(100);
  ath_mapping mapping;
  const char *fifo = in_folder(folder, "fifo");
  assert_int_equal(mkfifo(fifo, 0600), 0);
  alarm(20); /* it used to wait for ever */
  assert_fails(ath_file_read(fifo, &read), ATH_INVALID, "/fifo: a pipe that nobody writes to");
  assert_fails(ath_file_map(fifo, &mapping), ATH_INVALID, "/fifo: not a regular file");
  alarm(0);
  remove_folder(folder);
}

/* As a shell passes <(command). */
static void a_device_stays_one_when_it_is_written_to(void **state) {
  (void)state;
  struct stat info;
  assert_ok(ath_file_write("/dev/null", "text", 4));
  assert_int_equal(stat("/dev/null", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
  assert_fails(ath_file_write("/dev/full", "text", 4), ATH_NO_SPACE, "/dev/full");
  assert_int_equal(stat("/dev/full", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
  assert_fails(ath_file_write("/dev", "text", 4), ATH_INVALID, "is a folder");
  assert_fails(ath_file_write("", "text", 4), ATH_INVALID, "empty");
}

static void a_pipe_is_read_to_its_end(void **state) {
  (void)state;
  int ends[2];
  char path[64];
  ath_buffer read = ath_buffer_make(100);
  assert_int_equal(pipe(ends), 0);
  pid_t writer = fork();
  if (writer == 0) {
    close(ends[0]);
    for (int i = 0; i < 3; i++) {
      usleep(20000); /* there is nothing to read yet, but somebody who will write */
      if (write(ends[1], "part ", 5) != 5) _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
  assert_ok(ath_file_read(path, &read));
  assert_string_equal(read.bytes, "part part part ");
  assert_int_equal(waitpid(writer, NULL, 0), writer);
  close(ends[0]);
  ath_buffer_free(&read);
}

static void a_path_too_long_is_refused(void **state) {
  (void)state;
  static char name[5000];
  char out[ATH_PATH_MAX];
  memset(name, 'x', sizeof name - 1);
  assert_fails(ath_path_join(out, "a", name), ATH_INVALID, "longer than");
  assert_ok(ath_path_join(out, "a/", "b"));
  assert_string_equal(out, "a/b");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_written_file_reads_back_and_leaves_no_temporary),
    cmocka_unit_test(an_abandoned_write_keeps_the_old_file),
    cmocka_unit_test(a_full_disk_fails_and_keeps_the_old_file),
    cmocka_unit_test(a_write_that_failed_is_never_committed),
    cmocka_unit_test(failures_name_the_path),
    cmocka_unit_test(folders_are_made_listed_in_order_and_removed_with_all_in_them),
    cmocka_unit_test(an_empty_file_maps_to_nothing),
    cmocka_unit_test(adding_keeps_what_was_there),
    cmocka_unit_test(a_fifo_without_a_writer_is_refused_at_once),
    cmocka_unit_test(a_device_stays_one_when_it_is_written_to),
    cmocka_unit_test(a_pipe_is_read_to_its_end),
    cmocka_unit_test(a_path_too_long_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
