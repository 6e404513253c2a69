/* test_lines.c: what ends a line, and what is refused. */
#include "testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "storage/file.h"
#include "storage/lines.h"

static char *folder;

static int setup(void **state) { (void)state; folder = make_folder(); return 0; }
static int teardown(void **state) { (void)state; remove_folder(folder); return 0; }

static ath_lines *open_text(const char *bytes, size_t length) {
  const char *path = in_folder(folder, "text.txt");
  assert_ok(ath_file_write(path, bytes, length));
  ath_lines *lines = NULL;
  assert_ok(ath_lines_open(path, &lines));
  return lines;
}

/* The file gives exactly these lines. */
static void expect_lines(const char *bytes, size_t length, const char *const *right,
                         size_t count) {
  ath_lines *lines = open_text(bytes, length);
  ath_line line;
  for (size_t i = 0; i < count; i++) {
    assert_ok(ath_lines_next(lines, &line));
    assert_non_null(line.bytes);
    assert_int_equal(line.number, i + 1);
    assert_int_equal(line.length, strlen(right[i]));
    assert_memory_equal(line.bytes, right[i], line.length);
    assert_memory_equal(bytes + line.at, right[i], line.length);
  }
  for (int again = 0; again < 2; again++) {
    assert_ok(ath_lines_next(lines, &line));
    assert_null(line.bytes);
  }
  ath_lines_close(lines);
}
#define EXPECT_LINES(text, ...)                                                  \
  do {                                                                           \
    const char *right_[] = {__VA_ARGS__};                                        \
    expect_lines(text, sizeof text - 1, right_, sizeof right_ / sizeof *right_); \
  } while (0)

/* Case M1 of the failure log. */
static void only_lf_crlf_and_cr_end_a_line(void **state) {
  (void)state;
  EXPECT_LINES("a\u2028b\u2029c\xC2\x85" "d\x0b" "e\nf\r\ng\rh",
               "a\u2028b\u2029c\xC2\x85" "d\x0b" "e", "f", "g", "h");
}

static void the_last_line_needs_no_ending_and_blank_lines_count(void **state) {
  (void)state;
  EXPECT_LINES("a\n", "a");
  EXPECT_LINES("a", "a");
  EXPECT_LINES("\n\r\n\r\r\nb\r", "", "", "", "", "b");
  expect_lines("", 0, NULL, 0);
}

/* Case M4: spaces at both ends belong to the line. */
static void wikitext_rows_are_kept_as_they_are(void **state) {
  (void)state;
  EXPECT_LINES("\n = Title = \n The @-@ text , with spaces . \n", "", " = Title = ",
               " The @-@ text , with spaces . ");
}

static void a_byte_order_mark_is_skipped_at_the_start_only(void **state) {
  (void)state;
  const char text[] = "\xEF\xBB\xBF" "a\n\xEF\xBB\xBF" "b\n";
  EXPECT_LINES(text, "a", "\xEF\xBB\xBF" "b");
  EXPECT_LINES("\xEF\xBB\xBF", );
}

static void nul_is_a_character(void **state) {
  (void)state;
  ath_lines *lines = open_text("a\0b\nc", 5);
  ath_line line;
  assert_ok(ath_lines_next(lines, &line));
  assert_int_equal(line.length, 3);
  assert_memory_equal(line.bytes, "a\0b", 3);
  ath_lines_close(lines);
}

/* Lines and endings fall on every place of the reader's window. */
static void long_files_read_the_same_as_short_ones(void **state) {
  (void)state;
  size_t total = 3 << 20;
  char *bytes = malloc(total);
  for (int style = 0; style < 3; style++) {
    uint64_t ends[16384];
    size_t used = 0, count = 0;
    for (size_t length = 1; used + 400000 < total; length = length * 5 / 4 + 1 + count % 7) {
      if (length > 300000) length = 1;
      memset(bytes + used, 'a' + (int)(count % 26), length);
      used += length;
      if (style != 1) bytes[used++] = '\r';
      if (style != 0) bytes[used++] = '\n';
      ends[count++] = used;
    }
    ath_lines *lines = open_text(bytes, used);
    ath_line line;
    for (size_t i = 0; i < count; i++) {
      assert_ok(ath_lines_next(lines, &line));
      assert_int_equal(line.next, ends[i]);
      assert_int_equal(line.length, ends[i] - line.at - (style == 2 ? 2 : 1));
      assert_int_equal(line.bytes[line.length - 1], 'a' + (int)(i % 26));
    }
    assert_ok(ath_lines_next(lines, &line));
    assert_null(line.bytes);
    ath_lines_close(lines);
  }
  free(bytes);
}

static void seeking_continues_at_a_noted_line(void **state) {
  (void)state;
  ath_lines *lines = open_text("one\r\ntwo\nthree", 14);
  ath_line first, line;
  assert_ok(ath_lines_next(lines, &first));
  for (int again = 0; again < 2; again++) {
    assert_ok(ath_lines_seek(lines, first.next, 2));
    assert_ok(ath_lines_next(lines, &line));
    assert_memory_equal(line.bytes, "two", 3);
    assert_int_equal(line.number, 2);
  }
  ath_lines_close(lines);
}

/* Case B7: FF, a surrogate, a cut character, and overlong forms, each with its place. */
static void text_that_is_not_utf8_is_refused_with_its_place(void **state) {
  (void)state;
  const struct { const char *bytes; const char *part; } cases[] = {
    {"ok\na\xFF" "b\n", "line 2, column 2: byte 4 (0xFF)"},
    {"\xED\xA0\x80\n", "line 1, column 1: byte 0 (0xED"},
    {"12345678abc\xF0\x9F\x98", "byte 11 (0xF0"},
    {"\xC0\xAF\n", "byte 0 (0xC0"},
    {"\xF4\x90\x80\x80", "byte 0 (0xF4"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ath_lines *lines = open_text(cases[i].bytes, strlen(cases[i].bytes));
    ath_line line;
    if (i == 0) assert_ok(ath_lines_next(lines, &line));
    assert_fails(ath_lines_next(lines, &line), ATH_INVALID, cases[i].part);
    assert_non_null(strstr(ath_error_text(), "text.txt"));
    ath_lines_close(lines);
  }
}

/* Every code point encodes to accepted bytes, by the arithmetic of RFC 3629. */
static void every_code_point_but_surrogates_is_utf8(void **state) {
  (void)state;
  for (uint32_t c = 0; c < 0x110000; c++) {
    char s[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    const int lead[] = {0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1;) s[i] = (char)(0x80 | ((c >> (6 * (n - 1 - i))) & 0x3F));
    s[0] = (char)(lead[n - 1] | (int)(c >> (6 * (n - 1))));
    size_t good = ath_utf8_prefix(s, n);
    if (good != (c >= 0xD800 && c < 0xE000 ? 0 : n)) fail_msg("U+%04X: %zu", c, good);
    if (n > 1) assert_int_equal(ath_utf8_prefix(s, n - 1), 0);
  }
}

static void a_line_over_the_maximum_is_refused(void **state) {
  (void)state;
  const char *path = in_folder(folder, "long.txt");
  FILE *file = fopen(path, "wb");
  for (int i = 0; i < ATH_LINE_MAX / 1024; i++) fprintf(file, "%01024d", i);
  fputs("\r\nshort\n", file);
  fclose(file);
  ath_lines *lines = NULL;
  ath_line line;
  assert_ok(ath_lines_open(path, &lines));
  assert_ok(ath_lines_next(lines, &line));
  assert_int_equal(line.length, ATH_LINE_MAX);
  assert_ok(ath_lines_next(lines, &line));
  assert_int_equal(line.length, 5);
  ath_lines_close(lines);

  for (int over = 1; over <= 3; over++) {
    file = fopen(path, "r+b");
    fseek(file, ATH_LINE_MAX + over - 1, SEEK_SET);
    fputs("x\n", file);
    fclose(file);
    assert_ok(ath_lines_open(path, &lines));
    assert_fails(ath_lines_next(lines, &line), ATH_INVALID, "line 1, which begins at byte 0, is l");
    ath_lines_close(lines);
  }
}

static void what_cannot_be_opened_is_named(void **state) {
  (void)state;
  ath_lines *lines = NULL;
  assert_fails(ath_lines_open(in_folder(folder, "missing.txt"), &lines), ATH_NOT_FOUND,
               "missing.txt");
  assert_fails(ath_lines_open(folder, &lines), ATH_INVALID, "is a folder");
  const char *path = in_folder(folder, "secret.txt");
  assert_ok(ath_file_write(path, "a", 1));
  assert_int_equal(chmod(path, 0), 0);
  if (geteuid() != 0) /* root may read everything */
    assert_fails(ath_lines_open(path, &lines), ATH_DENIED, "secret.txt");
  assert_null(lines);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(only_lf_crlf_and_cr_end_a_line),
    cmocka_unit_test(the_last_line_needs_no_ending_and_blank_lines_count),
    cmocka_unit_test(wikitext_rows_are_kept_as_they_are),
    cmocka_unit_test(a_byte_order_mark_is_skipped_at_the_start_only),
    cmocka_unit_test(nul_is_a_character),
    cmocka_unit_test(long_files_read_the_same_as_short_ones),
    cmocka_unit_test(seeking_continues_at_a_noted_line),
    cmocka_unit_test(text_that_is_not_utf8_is_refused_with_its_place),
    cmocka_unit_test(every_code_point_but_surrogates_is_utf8),
    cmocka_unit_test(a_line_over_the_maximum_is_refused),
    cmocka_unit_test(what_cannot_be_opened_is_named),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
