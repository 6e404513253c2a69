/* test_shared_scanners.c: hand-made scanners against Oniguruma on real text. */
#include "scanner_testing.h"

#include "storage/file.h"

static void compare_file(const char *name) {
  const char *shared = getenv("ATHANOR_SHARED");
  char path[4096];
  snprintf(path, sizeof path, "%s/data/text/%s", shared != NULL ? shared : "../shared", name);
  ath_buffer text = ath_buffer_make((size_t)64 << 20);
  assert_ok(ath_file_read(path, &text));
  both_ways both;
  open_both_ways(&both);
  for (size_t which = 0; which < both.count; which++)
    assert_same_matches(&both, which, text.bytes, text.length);
  close_both_ways(&both);
  ath_buffer_free(&text);
}

static void scanners_find_what_oniguruma_finds_in_wikitext(void **state) {
  (void)state;
  compare_file("wikitext-2-raw.test.raw");
}

static void scanners_find_what_oniguruma_finds_in_wikipedia(void **state) {
  (void)state;
  compare_file("enwiki-2019-2MB.wikiextractor.txt");
}

static void scanners_find_what_oniguruma_finds_in_awkward_text(void **state) {
  (void)state;
  compare_file("bert_sample_text.txt");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(scanners_find_what_oniguruma_finds_in_wikitext),
    cmocka_unit_test(scanners_find_what_oniguruma_finds_in_wikipedia),
    cmocka_unit_test(scanners_find_what_oniguruma_finds_in_awkward_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
