/* test_scanners.c: hand-made scanners against Oniguruma on every sort of character, and what
 * becomes of expressions that have no meaning or no end. */
#include "scanner_testing.h"

#include "base/random.h"
#include "tokenizers/characters.h"
#include "tokenizers/unicode_classes.h"

enum { TEXTS = 20000, LONGEST = 24 };

/* Characters that the patterns name, or that lie at the edges of what they name. */
static const char *const parts[] = {
  "'", "'s", "'S", "'\u017F", "'t", "'T", "'re", "'rE", "'ve", "'VE", "'m", "'M", "'ll", "'lL",
  "'l", "'d", "'D", "\u2019s", " ", "  ", "   ", "\n", "\r", "\r\n", "\n\n", "\t", "\v", "\f",
  "\u00A0", "\xC2\x85", "\u1680", "\u180E", "\u2003", "\u200B", "\u2028", "\u2029", "\u202F",
  "\u3000", "\x1C", "a", "b", "S", "AB", "the", "\u00E9", "\u00C9", "\u01C5", "\u02B0", "\u0301",
  "\u0903", "\u4E2D", "\u05D0", "\u0421", "\u0441", "\u1E9E", "\u00DF", "\uFB01", "\u0345",
  "\u24B6", "\u2160", "1", "12", "2345", "\u0661", "\uFF11", "\u00BD", "\u2167", ".", "!", "?!",
  "/", "//", "-", "_", "\U0001F600", "\U0001F468\u200D\U0001F469", "\u20AC", "<|startoftext|>",
  "<|endoftext|>", "<|", "\u1C89", "\uA7CB", "\U00010D40", "\U00010D4A", "\U0002EBF0",
  "\U000E0001", "\uE000", "\u0378", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQrstuvwxyz",
};

static size_t random_text(uint32_t number, char *out) {
  static const uint32_t key[2] = {16, 6};
  uint32_t n[4];
  ath_philox((const uint32_t[4]){number, 0, 0, 0}, key, n);
  size_t length = 0, count = n[0] % LONGEST;
  for (uint32_t i = 1; i <= count; i++) {
    ath_philox((const uint32_t[4]){number, i, 0, 0}, key, n);
    char any[4];
    const char *part = parts[n[0] % (sizeof parts / sizeof *parts)];
    size_t size = strlen(part);
    if (n[1] % 4 == 0) {
      uint32_t c = n[1] % 8 == 0 ? n[2] % 0x110000 : n[2] % 0x3000;
      if (c >= 0xD800 && c < 0xE000) c = 'z';
      size = ath_character_write(c, any);
      part = any;
    }
    memcpy(out + length, part, size);
    length += size;
  }
  return length;
}

static void scanners_find_what_oniguruma_finds_in_random_text(void **state) {
  (void)state;
  both_ways both;
  open_both_ways(&both);
  for (size_t which = 0; which < both.count; which++) {
    size_t matches = 0;
    for (uint32_t i = 0; i < TEXTS; i++) {
      char text[LONGEST * 64];
      size_t length = random_text(i, text);
      matches += assert_same_matches(&both, which, text, length);
    }
    assert_in_range(matches, TEXTS / 100, SIZE_MAX);
  }
  close_both_ways(&both);
}

/* Each character of Unicode alone, and between letters. */
static void every_character_is_of_the_class_that_oniguruma_has(void **state) {
  (void)state;
  both_ways both;
  open_both_ways(&both);
  for (uint32_t c = 1; c < 0x110000; c++) {
    if (c >= 0xD800 && c < 0xE000) continue;
    char text[8] = "a";
    size_t length = 1 + ath_character_write(c, text + 1);
    text[length++] = 'a';
    assert_same_matches(&both, 0, text, length);
  }
  close_both_ways(&both);
}

static ath_status compile(const char *pattern, const ath_regex **out, ath_arena *arena) {
  return ath_regex_compile(pattern, strlen(pattern), arena, out);
}

static void expressions_without_meaning_are_refused_with_their_fault(void **state) {
  (void)state;
  ath_arena *arena = NULL;
  const ath_regex *regex;
  assert_ok(ath_arena_create((size_t)1 << 20, &arena));
  assert_fails(compile("(", &regex, arena), ATH_INVALID,
               "end pattern with unmatched parenthesis");
  assert_fails(compile("[b-a]", &regex, arena), ATH_INVALID, "empty range in char class");
  assert_fails(compile("\\p{Foo}", &regex, arena), ATH_INVALID,
               "invalid character property name {Foo}");
  assert_fails(compile("*", &regex, arena), ATH_INVALID,
               "target of repeat operator is not specified");
  char groups[3 * 64 + 1] = "";
  for (int i = 0; i < 64; i++) strcat(groups, "(a)");
  assert_fails(compile(groups, &regex, arena), ATH_INVALID, "64 groups; at most 63");
  groups[3 * 63] = '\0';
  assert_ok(compile(groups, &regex, arena));
  ath_arena_destroy(arena);
}

static void an_expression_that_backtracks_without_end_is_stopped(void **state) {
  (void)state;
  ath_arena *arena = NULL;
  const ath_regex *regex;
  assert_ok(ath_arena_create((size_t)1 << 20, &arena));
  assert_ok(compile("(?:a|aa|a?a)+$x", &regex, arena));
  char text[4096];
  memset(text, 'a', sizeof text);
  bool found;
  ath_match match;
  assert_fails(ath_regex_search(regex, text, sizeof text, 0, &found, &match), ATH_INVALID,
               "fails on this text from byte 0 on: retry-limit-in");
  ath_arena_destroy(arena);
}

/* A run of a class that the text ends with, or that the next character ends, at every length that
 * vectors treat differently. */
static void runs_of_letters_end_where_they_end(void **state) {
  (void)state;
  char text[80];
  for (size_t run = 1; run < 40; run++)
    for (int after = 0; after < 256; after++) {
      memset(text, 'q', sizeof text);
      memset(text + run, after, sizeof text - run);
      bool letter = (after | 0x20) >= 'a' && (after | 0x20) <= 'z' && after < 128;
      if (after >= 128) continue;
      assert_int_equal(ath_scan_gpt2(text, sizeof text, 0), letter ? sizeof text : run);
      assert_int_equal(ath_scan_gpt2(text, run, 0), run);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(scanners_find_what_oniguruma_finds_in_random_text),
    cmocka_unit_test(every_character_is_of_the_class_that_oniguruma_has),
    cmocka_unit_test(expressions_without_meaning_are_refused_with_their_fault),
    cmocka_unit_test(an_expression_that_backtracks_without_end_is_stopped),
    cmocka_unit_test(runs_of_letters_end_where_they_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
