/* test_base.c: failure texts, arenas, buffers, the hash map, near names, shapes. */
#include "testing.h"

#include <errno.h>
#include <pthread.h>

#include "athanor/tensor.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/hash_map.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/outcome.h"
#include "base/random.h"

/* --- status -------------------------------------------------------------------------------- */

static void context_is_put_in_front(void **state) {
  (void)state;
  ath_status status = ath_fail(ATH_CORRUPT, "record %d", 7);
  assert_int_equal(ath_context(status, "file %s", "a"), ATH_CORRUPT);
  assert_string_equal(ath_error_text(), "file a: record 7");
  assert_int_equal(ath_context(ATH_OK, "nothing"), ATH_OK);
  assert_string_equal(ath_error_text(), "file a: record 7");
}

static void a_text_may_quote_the_one_before(void **state) {
  (void)state;
  (void)ath_fail(ATH_IO, "inner");
  (void)ath_fail(ATH_INVALID, "outer (%s)", ath_error_text());
  assert_string_equal(ath_error_text(), "outer (inner)");
  (void)ath_context(ATH_INVALID, "after \"%s\"", ath_error_text());
  assert_string_equal(ath_error_text(), "after \"outer (inner)\": outer (inner)");
  (void)ath_fail_errno(ENOENT, "%s, again", ath_error_text());
  assert_non_null(strstr(ath_error_text(), "after \"outer (inner)\": outer (inner), again: No s"));
}

static void system_errors_choose_their_status(void **state) {
  (void)state;
  assert_fails(ath_fail_errno(ENOENT, "a.txt"), ATH_NOT_FOUND, "a.txt: No such file");
  assert_fails(ath_fail_errno(ENOSPC, "a.txt"), ATH_NO_SPACE, "No space left");
  assert_fails(ath_fail_errno(EACCES, "a.txt"), ATH_DENIED, "Permission denied");
  assert_fails(ath_fail_errno(EIO, "a.txt"), ATH_IO, "a.txt");
  assert_fails(ath_fail_errno(ENOTDIR, "a.txt/b"), ATH_NOT_FOUND, "Not a directory");
  assert_fails(ath_fail_errno(EROFS, "a.txt"), ATH_DENIED, "Read-only");
  assert_fails(ath_fail_errno(EISDIR, "a"), ATH_INVALID, "Is a directory");
}

static void statuses_have_names_and_meanings_and_others_a_mark(void **state) {
  (void)state;
  assert_string_equal(ath_status_name(ATH_CORRUPT), "ATH_CORRUPT");
  assert_string_equal(ath_status_meaning(ATH_OK), "success");
  assert_string_equal(ath_status_name((ath_status)99), "?");
  assert_string_equal(ath_status_meaning((ath_status)99), "?");
}

static void long_texts_are_cut_not_overrun(void **state) {
  (void)state;
  char word[3000];
  memset(word, 'x', sizeof word - 1);
  word[sizeof word - 1] = '\0';
  (void)ath_fail(ATH_IO, "%s", word);
  assert_int_equal(strlen(ath_error_text()), 1023);
  (void)ath_context(ATH_IO, "%s", word);
  assert_int_equal(strlen(ath_error_text()), 1023);
}

static void *fail_elsewhere(void *unused) {
  (void)ath_fail(ATH_IO, "the other thread's");
  return unused;
}

static void each_thread_has_its_own_text(void **state) {
  (void)state;
  (void)ath_fail(ATH_IO, "mine");
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
  pthread_join(thread, NULL);
  assert_string_equal(ath_error_text(), "mine");
}

static void *keep_elsewhere(void *outcomes) {
  ath_outcome *both = outcomes;
  ath_outcome_keep(&both[0], ath_fail(ATH_CORRUPT, "record %d", 7));
  ath_outcome_keep(&both[1], ATH_OK);
  return NULL;
}

static void an_outcome_brings_a_failure_to_another_thread(void **state) {
  (void)state;
  ath_outcome both[2];
  (void)ath_fail(ATH_IO, "mine");
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, keep_elsewhere, both), 0);
  pthread_join(thread, NULL);
  assert_ok(ath_outcome_return(&both[1]));
  assert_string_equal(ath_error_text(), "mine");
  assert_int_equal(ath_outcome_return(&both[0]), ATH_CORRUPT);
  assert_string_equal(ath_error_text(), "record 7");
}

/* --- memory -------------------------------------------------------------------------------- */

static void mapped_memory_is_zeroed_and_large_blocks_begin_at_huge_pages(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 4096, 4097, (2 << 20) - 1, 2 << 20, (5 << 20) + 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    unsigned char *memory = ath_memory_map(sizes[i]);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % (sizes[i] >= 2 << 20 ? 2 << 20 : 64), 0);
    for (size_t at = 0; at < sizes[i]; at++) assert_int_equal(memory[at], 0);
    memset(memory, 0xAB, sizes[i]);
    ath_memory_unmap(memory, sizes[i]);
  }
  assert_null(ath_memory_map(0));
  assert_null(ath_memory_map(SIZE_MAX));
  ath_memory_unmap(NULL, 1);
}

/* --- arena --------------------------------------------------------------------------------- */

static void arena_memory_is_zeroed_aligned_and_apart(void **state) {
  (void)state;
  ath_arena *arena = NULL;
  assert_ok(ath_arena_create(SIZE_MAX, &arena));
  unsigned char *last = NULL;
  size_t last_size = 0;
  for (size_t size = 0; size < 5000; size += 37) {
    unsigned char *p = ath_arena_alloc(arena, size);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 64, 0);
    for (size_t i = 0; i < size; i++) assert_int_equal(p[i], 0);
    memset(p, 0xA5, size);
    if (last != NULL) assert_true(last + last_size <= p || p + size <= last);
    last = p;
    last_size = size;
  }
  assert_non_null(ath_arena_alloc(arena, 10 << 20)); /* larger than a block */
  for (size_t less = 0; less < 200; less++) /* rounding up must not come round to 0 */
    assert_null(ath_arena_alloc(arena, SIZE_MAX - less));
  assert_string_equal(ath_arena_string_n(arena, "abcdef", 3), "abc");
  ath_arena_destroy(arena);
}

static char released[8];
static void note(void *object) { strcat(released, object); }

static void what_goes_with_an_arena_is_released_last_first(void **state) {
  (void)state;
  ath_arena *arena = NULL;
  char one[] = "1", two[] = "2", three[] = "3";
  assert_ok(ath_arena_create(2000, &arena));
  assert_ok(ath_arena_on_destroy(arena, note, one));
  assert_ok(ath_arena_on_destroy(arena, note, two));
  assert_non_null(ath_arena_alloc(arena, 1940));
  assert_fails(ath_arena_on_destroy(arena, note, three), ATH_NO_MEMORY, "the limit of 2000 bytes");
  assert_string_equal(released, "");
  ath_arena_destroy(arena);
  assert_string_equal(released, "21");
}

static void an_arena_keeps_its_limit(void **state) {
  (void)state;
  ath_arena *arena = NULL;
  assert_ok(ath_arena_create(1000, &arena));
  assert_non_null(ath_arena_alloc(arena, 900));
  assert_null(ath_arena_alloc(arena, 101));
  assert_non_null(strstr(ath_error_text(), "limit of 1000"));
  assert_null(ath_arena_alloc(arena, SIZE_MAX));
  assert_non_null(ath_arena_alloc(arena, 100));
  ath_arena_destroy(arena);
}

/* --- buffer -------------------------------------------------------------------------------- */

static void a_buffer_grows_to_its_maximum_and_no_further(void **state) {
  (void)state;
  ath_buffer buffer = ath_buffer_make(100);
  for (int i = 0; i < 100; i++) assert_ok(ath_buffer_byte(&buffer, 'a'));
  assert_fails(ath_buffer_byte(&buffer, 'a'), ATH_NO_MEMORY, "limit of 100");
  assert_fails(ath_buffer_format(&buffer, "%d", 1), ATH_NO_MEMORY, "limit of 100");
  assert_int_equal(buffer.length, 100);
  assert_int_equal(strlen(buffer.bytes), 100);
  ath_buffer_free(&buffer);
}

static void json_strings_are_escaped_as_the_standard_says(void **state) {
  (void)state;
  ath_buffer buffer = ath_buffer_make(1000);
  static const char text[] = "a\"b\\c\n\t\x01\0z\xe2\x96\x81";
  assert_ok(ath_buffer_json(&buffer, text, sizeof text - 1));
  assert_string_equal(buffer.bytes, "\"a\\\"b\\\\c\\n\\t\\u0001\\u0000z\xe2\x96\x81\"");
  ath_buffer_clear(&buffer);
  assert_ok(ath_buffer_json(&buffer, "\"\xff\xc3", 3)); /* no text of JSON's has such bytes */
  assert_string_equal(buffer.bytes, "\"\\\"\xef\xbf\xbd\xef\xbf\xbd\"");
  ath_buffer_free(&buffer);
}

static void doubles_are_written_shortest_and_read_back_the_same(void **state) {
  (void)state;
  static const struct { double value; const char *text; } cases[] = {
    {0.0, "0.0"}, {-0.0, "-0.0"}, {1.0, "1.0"}, {-3.5, "-3.5"}, {0.1, "0.1"},
    {1e-7, "1e-7"}, {123456789.0, "123456789.0"}, {1.0 / 3, "0.3333333333333333"},
  };
  ath_buffer buffer = ath_buffer_make(100);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ath_buffer_clear(&buffer);
    assert_ok(ath_buffer_double(&buffer, cases[i].value));
    assert_string_equal(buffer.bytes, cases[i].text);
  }
  for (uint32_t i = 0; i < 20000; i++) {
    uint32_t bits[4];
    double value;
    ath_random(5, ATH_RANDOM_SHUFFLE, 0, i, 0, bits);
    memcpy(&value, bits, sizeof value);
    if (value != value || value - value != 0) continue; /* NaN and infinities */
    ath_buffer_clear(&buffer);
    assert_ok(ath_buffer_double(&buffer, value));
    assert_true(strtod(buffer.bytes, NULL) == value);
  }
  ath_buffer_free(&buffer);
}

/* --- hash map ------------------------------------------------------------------------------ */

static void whole_numbers_are_written_as_printf_writes_them(void **state) {
  (void)state;
  const int64_t values[] = {0, 1, -1, 9, 10, -10, 12345, INT32_MAX, INT32_MIN, INT64_MAX,
                            INT64_MIN};
  ath_buffer buffer = ath_buffer_make(64);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char expected[32];
    snprintf(expected, sizeof expected, "%lld", (long long)values[i]);
    ath_buffer_clear(&buffer);
    assert_ok(ath_buffer_integer(&buffer, values[i]));
    assert_string_equal(buffer.bytes, expected);
  }
  ath_buffer_free(&buffer);
}

static void the_map_finds_what_was_set_and_nothing_else(void **state) {
  (void)state;
  ath_hash_map *map = NULL;
  char key[16];
  int32_t value = -1;
  assert_ok(ath_hash_map_create(10000, &map));
  for (int i = 0; i < 10000; i++) {
    int length = snprintf(key, sizeof key, "k%d", i);
    assert_ok(ath_hash_map_set(map, key, (size_t)length, i));
  }
  assert_ok(ath_hash_map_set(map, "k5", 2, 500));
  assert_int_equal(ath_hash_map_count(map), 10000);
  for (int i = 0; i < 10000; i++) {
    int length = snprintf(key, sizeof key, "k%d", i);
    assert_true(ath_hash_map_get(map, key, (size_t)length, &value));
    assert_int_equal(value, i == 5 ? 500 : i);
  }
  assert_false(ath_hash_map_get(map, "k10000", 6, &value));
  assert_false(ath_hash_map_get(map, "", 0, &value));
  assert_fails(ath_hash_map_set(map, "one more", 8, 1), ATH_NO_MEMORY, "10000");
  ath_hash_map_destroy(map);
}

static void keys_may_hold_nul_bytes(void **state) {
  (void)state;
  ath_hash_map *map = NULL;
  int32_t value = 0;
  assert_ok(ath_hash_map_create(10, &map));
  assert_ok(ath_hash_map_set(map, "a\0b", 3, 1));
  assert_ok(ath_hash_map_set(map, "a\0c", 3, 2));
  assert_true(ath_hash_map_get(map, "a\0b", 3, &value));
  assert_int_equal(value, 1);
  ath_hash_map_destroy(map);
}

/* --- near names and shapes ----------------------------------------------------------------- */

static void a_slip_finds_its_name_and_nonsense_finds_none(void **state) {
  (void)state;
  static const char *names[] = {"learning_rate", "weight_decay", "seed"};
  assert_string_equal(ath_nearest("learning_rte", names, 3), "learning_rate");
  assert_string_equal(ath_nearest("wieght_decay", names, 3), "weight_decay");
  assert_string_equal(ath_nearest("sed", names, 3), "seed");
  assert_null(ath_nearest("photosynthesis", names, 3));
}

static void shapes_count_and_print(void **state) {
  (void)state;
  char text[96];
  ath_type type = ath_type_make(ATH_BF16, 3, 2, 3, 4), scalar = ath_type_make(ATH_F32, 0);
  assert_int_equal(ath_type_count(&type), 24);
  assert_int_equal(ath_type_bytes(&type), 48);
  assert_string_equal(ath_type_text(&type, text), "bf16[2, 3, 4]");
  assert_int_equal(ath_type_count(&scalar), 1);
  assert_string_equal(ath_type_text(&scalar, text), "f32[]");
  assert_false(ath_type_equal(&type, &scalar));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(context_is_put_in_front),
    cmocka_unit_test(a_text_may_quote_the_one_before),
    cmocka_unit_test(system_errors_choose_their_status),
    cmocka_unit_test(statuses_have_names_and_meanings_and_others_a_mark),
    cmocka_unit_test(long_texts_are_cut_not_overrun),
    cmocka_unit_test(each_thread_has_its_own_text),
    cmocka_unit_test(an_outcome_brings_a_failure_to_another_thread),
    cmocka_unit_test(mapped_memory_is_zeroed_and_large_blocks_begin_at_huge_pages),
    cmocka_unit_test(arena_memory_is_zeroed_aligned_and_apart),
    cmocka_unit_test(what_goes_with_an_arena_is_released_last_first),
    cmocka_unit_test(an_arena_keeps_its_limit),
    cmocka_unit_test(a_buffer_grows_to_its_maximum_and_no_further),
    cmocka_unit_test(json_strings_are_escaped_as_the_standard_says),
    cmocka_unit_test(doubles_are_written_shortest_and_read_back_the_same),
    cmocka_unit_test(whole_numbers_are_written_as_printf_writes_them),
    cmocka_unit_test(the_map_finds_what_was_set_and_nothing_else),
    cmocka_unit_test(keys_may_hold_nul_bytes),
    cmocka_unit_test(a_slip_finds_its_name_and_nonsense_finds_none),
    cmocka_unit_test(shapes_count_and_print),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
