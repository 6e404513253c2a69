/* test_compile_cache.c: the folder of compiled programs by itself: what it gives back, what it
 * passes over, and how it stays within its bound. */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backends/pjrt/cache.h"
#include "testing.h"

enum { BYTES = 1000 };
static const uint64_t ROOM_FOR_TWO = 2 * (BYTES + 200);

/* A key for each letter. */
static const char *key_of(char letter) {
  static char keys[4][ATH_SHA256_TEXT];
  static unsigned turn;
  char *key = keys[turn++ % 4];
  memset(key, letter, ATH_SHA256_TEXT - 1);
  key[ATH_SHA256_TEXT - 1] = '\0';
  return key;
}

static const char *path_of(const char *folder, char letter) {
  char name[ATH_SHA256_TEXT + 8];
  snprintf(name, sizeof name, "%s.xla", key_of(letter));
  return in_folder(folder, name);
}

static void write_entry(const char *folder, char letter, uint64_t limit) {
  char bytes[BYTES];
  memset(bytes, letter, sizeof bytes);
  assert_ok(ath_cache_write(folder, key_of(letter), bytes, sizeof bytes, limit));
}

static ath_status read_entry(const char *folder, char letter) {
  ath_buffer bytes = ath_buffer_make(1 << 16);
  ath_status status = ath_cache_read(folder, key_of(letter), &bytes);
  if (status == ATH_OK) {
    assert_int_equal(bytes.length, BYTES);
    for (int i = 0; i < BYTES; i++) assert_int_equal(bytes.bytes[i], letter);
  }
  ath_buffer_free(&bytes);
  return status;
}

/* As if it was last of use `hours` ago. */
static void age(const char *path, int hours) {
  struct timespec now, times[2];
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec -= hours * 3600;
  times[0] = times[1] = now;
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void an_entry_comes_back_and_another_key_has_none(void **state) {
  (void)state;
  char *folder = make_folder();
  char deep[4096];
  snprintf(deep, sizeof deep, "%s", in_folder(folder, "made/on/the/way"));
  write_entry(deep, 'a', 1 << 20);
  assert_ok(read_entry(deep, 'a'));
  assert_fails(read_entry(deep, 'b'), ATH_NOT_FOUND, ".xla");
  struct stat about;
  assert_int_equal(stat(path_of(deep, 'a'), &about), 0);
  assert_int_equal(about.st_mode & 0777, 0600);
  remove_folder(folder);
}

static void an_entry_of_another_program_or_no_entry_at_all_is_told(void **state) {
  (void)state;
  char *folder = make_folder();
  write_entry(folder, 'a', 1 << 20);
  assert_int_equal(rename(path_of(folder, 'a'), path_of(folder, 'b')), 0);
  assert_fails(read_entry(folder, 'b'), ATH_CORRUPT, "belongs to another program");
  assert_ok(ath_file_write(path_of(folder, 'c'), "hello", 5));
  assert_int_equal(chmod(path_of(folder, 'c'), 0600), 0);
  assert_fails(read_entry(folder, 'c'), ATH_CORRUPT, "not a compiled program");
  assert_int_equal(symlink(path_of(folder, 'b'), path_of(folder, 'd')), 0);
  assert_fails(read_entry(folder, 'd'), ATH_CORRUPT, "not a file of this user");
  write_entry(folder, 'b', 1 << 20);
  assert_ok(read_entry(folder, 'b'));
  remove_folder(folder);
}

static void what_was_of_use_longest_ago_goes_first(void **state) {
  (void)state;
  char *folder = make_folder();
  write_entry(folder, 'a', ROOM_FOR_TWO);
  write_entry(folder, 'b', ROOM_FOR_TWO);
  age(path_of(folder, 'a'), 3);
  age(path_of(folder, 'b'), 2);
  assert_ok(read_entry(folder, 'a')); /* so it is of use now */
  write_entry(folder, 'c', ROOM_FOR_TWO);
  assert_ok(read_entry(folder, 'a'));
  assert_fails(read_entry(folder, 'b'), ATH_NOT_FOUND, ".xla");
  assert_ok(read_entry(folder, 'c'));
  remove_folder(folder);
}

static void one_larger_than_the_bound_is_not_kept(void **state) {
  (void)state;
  char *folder = make_folder();
  write_entry(folder, 'a', ROOM_FOR_TWO);
  write_entry(folder, 'b', BYTES);
  assert_fails(read_entry(folder, 'b'), ATH_NOT_FOUND, ".xla");
  assert_ok(read_entry(folder, 'a')); /* and nothing had to go for it */
  remove_folder(folder);
}

static void leavings_of_killed_processes_go_and_strange_files_stay(void **state) {
  (void)state;
  char *folder = make_folder();
  char old[4096], new[4096], strange[4096];
  snprintf(old, sizeof old, "%s.tmp-1", path_of(folder, 'a'));
  snprintf(new, sizeof new, "%s.tmp-2", path_of(folder, 'a'));
  snprintf(strange, sizeof strange, "%s", in_folder(folder, "letter.txt"));
  assert_ok(ath_file_write(old, "x", 1));
  assert_ok(ath_file_write(new, "x", 1));
  assert_ok(ath_file_write(strange, "x", 1));
  age(old, 25);
  age(strange, 1000);
  write_entry(folder, 'b', ROOM_FOR_TWO);
  assert_false(ath_path_exists(old));
  assert_true(ath_path_exists(new)); /* its writer may be at work */
  assert_true(ath_path_exists(strange));
  remove_folder(folder);
}

static void the_folder_comes_from_the_environment(void **state) {
  (void)state;
  char folder[ATH_PATH_MAX];
  bool on;
  setenv("ATHANOR_COMPILE_CACHE", "/some/where", 1);
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  setenv("HOME", "/home/me", 1);
  assert_ok(ath_cache_folder(folder, &on));
  assert_true(on);
  assert_string_equal(folder, "/some/where");
  setenv("ATHANOR_COMPILE_CACHE", "off", 1);
  assert_ok(ath_cache_folder(folder, &on));
  assert_false(on);
  unsetenv("ATHANOR_COMPILE_CACHE");
  assert_ok(ath_cache_folder(folder, &on));
  assert_string_equal(folder, "/xdg/athanor/executables");
  unsetenv("XDG_CACHE_HOME");
  assert_ok(ath_cache_folder(folder, &on));
  assert_string_equal(folder, "/home/me/.cache/athanor/executables");
  unsetenv("HOME");
  assert_ok(ath_cache_folder(folder, &on));
  assert_false(on);
}

/* "ab" + "c" and "a" + "bc" are different lists. */
static void parts_of_a_key_do_not_run_into_each_other(void **state) {
  (void)state;
  ath_buffer one = ath_buffer_make(1 << 10), two = ath_buffer_make(1 << 10);
  assert_ok(ath_cache_key_part(&one, "x", "ab", 2));
  assert_ok(ath_cache_key_part(&one, "y", "c", 1));
  assert_ok(ath_cache_key_part(&two, "x", "a", 1));
  assert_ok(ath_cache_key_part(&two, "y", "bc", 2));
  assert_string_not_equal(one.bytes, two.bytes);
  ath_buffer_free(&one);
  ath_buffer_free(&two);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_entry_comes_back_and_another_key_has_none),
    cmocka_unit_test(an_entry_of_another_program_or_no_entry_at_all_is_told),
    cmocka_unit_test(what_was_of_use_longest_ago_goes_first),
    cmocka_unit_test(one_larger_than_the_bound_is_not_kept),
    cmocka_unit_test(leavings_of_killed_processes_go_and_strange_files_stay),
    cmocka_unit_test(the_folder_comes_from_the_environment),
    cmocka_unit_test(parts_of_a_key_do_not_run_into_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
