/* test_place.c: names of repositories, and patterns. The right answers are those of huggingface_hub
 * 2.4 (validate_repo_id, parse_hf_uri) and of Python's fnmatch. */
#include "testing.h"

#include "athanor/hub.h"
#include "hub/digest.h"
#include "hub/place.h"

static void check_place(const char *text, ath_hub_kind kind, const char *id, const char *revision,
                        const char *path) {
  ath_hub_place place;
  assert_ok(ath_hub_place_parse(text, &place));
  assert_int_equal(place.kind, kind);
  assert_string_equal(place.id, id);
  assert_string_equal(place.revision, revision);
  assert_string_equal(place.path, path);
}

static void test_places_are_read(void **state) {
  (void)state;
  check_place("tester/one", ATH_HUB_MODEL, "tester/one", "main", "");
  check_place("gpt2", ATH_HUB_MODEL, "gpt2", "main", "");
  check_place("tester/one@v1.0", ATH_HUB_MODEL, "tester/one", "v1.0", "");
  check_place("hf://tester/one", ATH_HUB_MODEL, "tester/one", "main", "");
  check_place("hf://models/tester/one/a/b.txt", ATH_HUB_MODEL, "tester/one", "main", "a/b.txt");
  check_place("hf://datasets/u/n/data/*.parquet", ATH_HUB_DATASET, "u/n", "main", "data/*.parquet");
  check_place("hf://datasets/u/n@dev/data/", ATH_HUB_DATASET, "u/n", "dev", "data");
  check_place("hf://spaces/u/n", ATH_HUB_SPACE, "u/n", "main", "");
  check_place("hf://u/n@refs/pr/12/a.txt", ATH_HUB_MODEL, "u/n", "refs/pr/12", "a.txt");
  check_place("hf://datasets/u/n@refs/convert/parquet/a", ATH_HUB_DATASET, "u/n",
              "refs/convert/parquet", "a");
  check_place("hf://u/n@feature%2Fnew/a", ATH_HUB_MODEL, "u/n", "feature/new", "a");
}

static void test_what_is_no_place_is_refused(void **state) {
  (void)state;
  static const char *const texts[] = {
    "", "/", "a/", "/a", "a b/c", "u/n/x", "hf://", "hf://u/n@", "hf://u/n@/a", "u/-n", "u/n-",
    "u/.n", "u/a..b", "u/a--b", "hf://u/n/../x", "hf://u/n/a//b", "hf://u/n@../../x",
    "hf://u/n/./x", "u/\xc3\xa4", "hf://datasets/"};
  ath_hub_place place;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (ath_hub_place_parse(texts[i], &place) != ATH_USAGE)
      fail_msg("\"%s\" was taken for %s@%s %s", texts[i], place.id, place.revision, place.path);
  char longest[100] = "u/";
  memset(longest + 2, 'n', 97);
  assert_fails(ath_hub_place_parse(longest, &place), ATH_USAGE, "names nothing on the Hub");
  longest[98] = '\0'; /* 96 characters are the most */
  assert_ok(ath_hub_place_parse(longest, &place));
}

static void test_only_two_names_with_a_slash_may_be_meant_for_a_repository(void **state) {
  (void)state;
  assert_true(ath_hub_is_place("tester/one"));
  assert_true(ath_hub_is_place("hf://anything"));
  static const char *const paths[] = {"model", "./model", "../model", "/a/b", "a/b/c", "run/model/",
                                      "~/model", "run/model.", "gs://bucket/x", "a/b@c", "-"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    if (ath_hub_is_place(paths[i])) fail_msg("%s was taken for a repository", paths[i]);
}

static void test_patterns_match_as_in_python(void **state) {
  (void)state;
  static const struct { const char *pattern, *path; bool matches; } cases[] = {
    {"*.json", "config.json", true},   {"*.json", "a/b/config.json", true},
    {"*.json", "config.json5", false}, {"data/", "data/x/y", true},
    {"data/", "data", false},          {"a?c", "abc", true},
    {"a?c", "a/c", true},              {"[!a]x", "bx", true},
    {"[!a]x", "ax", false},            {"[a-c].t", "b.t", true},
    {"*", ".hidden", true},            {"a\\*", "a*", false},
    {"a\\*", "a\\bc", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *const patterns[] = {"never", cases[i].pattern, NULL};
    if (ath_hub_matches(patterns, cases[i].path) != cases[i].matches)
      fail_msg("%s and %s", cases[i].pattern, cases[i].path);
  }
}

static void check_digest(bool large, const char *text, const char *expected) {
  char found[ATH_HUB_OID_MAX];
  ath_hub_digest digest;
  size_t length = strlen(text);
  ath_hub_digest_begin(&digest, large, length);
  for (size_t i = 0; i < length; i++) ath_hub_digest_add(&digest, text + i, 1);
  ath_hub_digest_end(&digest, found);
  assert_string_equal(found, expected);
}

/* Those of `git hash-object` and of FIPS 180-4's example. */
static void test_contents_have_the_names_of_git_and_of_lfs(void **state) {
  (void)state;
  check_digest(false, "", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  check_digest(false, "hello\n", "ce013625030ba8dba906f756967f9e9ca394464a");
  check_digest(true, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_places_are_read),
    cmocka_unit_test(test_what_is_no_place_is_refused),
    cmocka_unit_test(test_only_two_names_with_a_slash_may_be_meant_for_a_repository),
    cmocka_unit_test(test_patterns_match_as_in_python),
    cmocka_unit_test(test_contents_have_the_names_of_git_and_of_lfs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
