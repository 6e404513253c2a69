/* test_pattern.c: which paths a pattern takes; the expected ones are those of Python's
 * glob.glob(pattern, recursive=True) in a folder that holds them all. */
#include "testing.h"

#include "storage/pattern.h"

static void a_pattern_takes_what_glob_takes(void **state) {
  (void)state;
  static const char *const paths[] = {"a.txt", "b.csv", "x/a.txt", "x/y/a.txt", "x/y/z/b.txt",
                                      ".h.txt", ".h/a.txt", "x/.h/a.txt", "y/x/y/a.txt", NULL};
  static const struct { const char *pattern, *taken; } cases[] = {
      {"*.txt", "a.txt "},
      {"**/*.txt", "a.txt x/a.txt x/y/a.txt x/y/z/b.txt y/x/y/a.txt "},
      {"x/**/*.txt", "x/a.txt x/y/a.txt x/y/z/b.txt "},
      {"x/**/y/*", "x/y/a.txt "},
      {"**/y/**/?.txt", "x/y/a.txt x/y/z/b.txt y/x/y/a.txt "},
      {"**/x/y/a.txt", "x/y/a.txt y/x/y/a.txt "},
      {"x/**", "x/a.txt x/y/a.txt x/y/z/b.txt "},
      {"**", "a.txt b.csv x/a.txt x/y/a.txt x/y/z/b.txt y/x/y/a.txt "},
      {".h/*", ".h/a.txt "},
      {"x/**/.h/*", "x/.h/a.txt "},
      {"[a-c].*", "a.txt b.csv "},
      {"x/a.txt/**/b", ""},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char taken[256] = "";
    for (const char *const *path = paths; *path != NULL; path++)
      if (ath_path_matches(cases[i].pattern, *path)) {
        strcat(taken, *path);
        strcat(taken, " ");
      }
    if (strcmp(taken, cases[i].taken) != 0)
      fail_msg("%s takes %s, not %s", cases[i].pattern, taken, cases[i].taken);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_pattern_takes_what_glob_takes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
