/* test_split.c: Split and ByteLevel on small inputs, with the values that the reference library
 * gives (sections B and F of the log of known failures), and patterns that cannot be used. */
#include "tokenizer_testing.h"

#include "tokenizers/byte_alphabet.h"

/* A model that knows nothing: each word is a token that shows its text. */
#define MODEL "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0]]}"
#define BYTE_LEVEL(prefix, regex)                                                         \
  "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":" prefix               \
  ",\"trim_offsets\":true,\"use_regex\":" regex "}," MODEL "}"
#define SPLIT(pattern, behavior, invert)                                                  \
  "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":\"" behavior \
  "\",\"invert\":" invert "}," MODEL "}"

static void assert_cut(const char *json, const char *text, const char *expected) {
  ath_tokenizer *t = tokenizer_of(json);
  assert_string_equal(shown(t, text), expected);
  ath_tokenizer_destroy(t);
}

static void gpt2s_pattern_cuts_as_published(void **state) {
  (void)state;
  static const char *const cases[][2] = {
    {"  hello   world  ", "Ġ(0,1) Ġhello(1,7) ĠĠ(7,9) Ġworld(9,15) ĠĠ(15,17)"},
    {"I'LL we'll", "I(0,1) '(1,2) LL(2,4) Ġwe(4,7) 'll(7,10)"},
    {"a\r\nb", "a(0,1) č(1,2) Ċ(2,3) b(3,4)"},
    {"hello\u2019s", "hello(0,5) âĢĻ(5,6) s(6,7)"},
    {" \t x", "Ġĉ(0,2) Ġx(2,4)"},
    {"\uFF11\uFF123", "ï¼ĳï¼Ĵ3(0,3)"},
    {"i \u2B62 j", "i(0,1) ĠâŃ¢(1,3) Ġj(3,5)"},
  };
  ath_tokenizer *t = tokenizer_of(BYTE_LEVEL("false", "true"));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(shown(t, cases[i][0]), cases[i][1]);
  ath_tokenizer_destroy(t);
}

static void a_space_is_put_in_front_unless_one_is_there(void **state) {
  (void)state;
  static const char *const cases[][2] = {
    {"a", "Ġa(0,1)"}, {" a", "Ġa(0,2)"}, {"\ta", "Ġ(0,1) ĉ(0,1) a(1,2)"}, {"", ""},
    {"é", "ĠÃ©(0,1)"}, {"'s", "Ġ'(0,1) s(1,2)"}, {"\u180Ea", "Ġáłİ(0,1) a(1,2)"},
  };
  ath_tokenizer *t = tokenizer_of(BYTE_LEVEL("true", "true"));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(shown(t, cases[i][0]), cases[i][1]);
  ath_tokenizer_destroy(t);
  assert_cut(BYTE_LEVEL("true", "false"), "a b  c", "ĠaĠbĠĠc(0,6)");
  assert_cut(BYTE_LEVEL("false", "false"), "a b  c", "aĠbĠĠc(0,6)");
}

static void the_byte_alphabet_is_gpt2s(void **state) {
  (void)state;
  bool seen[0x144] = {false};
  for (int b = 0; b < 256; b++) {
    const ath_byte_letter *letter = &ath_byte_letters[b];
    const uint8_t *s = (const uint8_t *)letter->utf8;
    uint32_t c = letter->length == 1 ? s[0] : (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
    assert_in_range(c, '!', 0x143);
    assert_false(seen[c]);
    seen[c] = true;
    assert_int_equal(ath_letter_byte(c), b);
  }
  assert_int_equal(ath_letter_byte(0x120), ' ');
  assert_int_equal(ath_letter_byte(0x10A), '\n');
  assert_int_equal(ath_letter_byte(0x10D), '\r');
  assert_int_equal(ath_letter_byte(0x109), '\t');
  assert_int_equal(ath_letter_byte(0x143), 0xAD);
  assert_int_equal(ath_letter_byte(0x144), -1);
  assert_int_equal(ath_letter_byte(' '), -1);
}

static void the_five_behaviours_cut_at_a_string(void **state) {
  (void)state;
#define AT_DASH "{\"String\":\"-\"}"
  assert_cut(SPLIT(AT_DASH, "Removed", "false"), "a--b-", "a(0,1) b(3,4)");
  assert_cut(SPLIT(AT_DASH, "Isolated", "false"), "a--b-",
             "a(0,1) -(1,2) -(2,3) b(3,4) -(4,5)");
  assert_cut(SPLIT(AT_DASH, "MergedWithPrevious", "false"), "a--b-",
             "a-(0,2) -(2,3) b-(3,5)");
  assert_cut(SPLIT(AT_DASH, "MergedWithNext", "false"), "a--b-",
             "a(0,1) -(1,2) -b(2,4) -(4,5)");
  assert_cut(SPLIT(AT_DASH, "Contiguous", "false"), "a--b-", "a(0,1) --(1,3) b(3,4) -(4,5)");
  assert_cut(SPLIT(AT_DASH, "Removed", "true"), "a--b-", "-(1,2) -(2,3) -(4,5)");
  assert_cut(SPLIT(AT_DASH, "MergedWithPrevious", "true"), "a--b-",
             "a(0,1) -(1,2) -b(2,4) -(4,5)");
}

static void empty_matches_cut_but_are_no_words(void **state) {
  (void)state;
  assert_cut(SPLIT("{\"Regex\":\"x*\"}", "Isolated", "false"), "axxb", "a(0,1) xx(1,3) b(3,4)");
  assert_cut(SPLIT("{\"Regex\":\"x*\"}", "MergedWithNext", "false"), "axxb", "a(0,1) xxb(1,4)");
  assert_cut(SPLIT("{\"String\":\"\"}", "Contiguous", "false"), "ab", "a(0,1) b(1,2)");
}

static void a_pattern_without_meaning_is_refused_with_its_path(void **state) {
  (void)state;
  ath_tokenizer *t = NULL;
  assert_fails(load_text(SPLIT("{\"Regex\":\"(\"}", "Isolated", "false"), &t), ATH_INVALID,
               "pre_tokenizer.pattern.Regex: not a regular expression of Oniguruma's: "
               "end pattern with unmatched parenthesis");
  assert_fails(load_text(SPLIT("{\"Regex\":1}", "Isolated", "false"), &t), ATH_INVALID,
               "pre_tokenizer.pattern.Regex: expected a string");
  assert_fails(load_text(SPLIT("{}", "Isolated", "false"), &t), ATH_INVALID,
               "pre_tokenizer.pattern.String: expected a string");
  assert_fails(load_text(SPLIT("{\"String\":\"a\"}", "Sideways", "false"), &t), ATH_INVALID,
               "pre_tokenizer.behavior");
}

/* Each search goes over the rest of the text and comes back with one letter. */
static void a_pattern_that_takes_too_long_is_refused_not_waited_for(void **state) {
  (void)state;
  enum { LENGTH = 1 << 20 };
  ath_tokenizer *t = tokenizer_of(SPLIT("{\"Regex\":\"(?:a|a?a|aa)+$x|a\"}", "Isolated", "false"));
  char *text = malloc(LENGTH);
  memset(text, 'a', LENGTH);
  ath_encoding encoding = {0};
  assert_fails(ath_tokenizer_encode(t, text, LENGTH, 0, &encoding), ATH_INVALID,
               "the tokenizer's regular expression fails on this text from byte 0");
  assert_int_equal(encoding.length, 0);
  ath_encoding_free(&encoding);
  free(text);
  ath_tokenizer_destroy(t);
}

static void a_megabyte_of_one_character_is_cut_in_linear_time(void **state) {
  (void)state;
  enum { LENGTH = 1 << 20 };
  ath_tokenizer *t = tokenizer_of(BYTE_LEVEL("false", "true"));
  char *text = malloc(LENGTH);
  ath_encoding encoding = {0};
  for (const char *c = "a1. \n"; *c != '\0'; c++) {
    memset(text, *c, LENGTH);
    assert_ok(ath_tokenizer_encode(t, text, LENGTH, ATH_ENCODE_OFFSETS, &encoding));
    assert_int_equal(encoding.length, 1);
    assert_int_equal(encoding.ends[0], LENGTH);
  }
  ath_encoding_free(&encoding);
  free(text);
  ath_tokenizer_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(gpt2s_pattern_cuts_as_published),
    cmocka_unit_test(a_space_is_put_in_front_unless_one_is_there),
    cmocka_unit_test(the_byte_alphabet_is_gpt2s),
    cmocka_unit_test(the_five_behaviours_cut_at_a_string),
    cmocka_unit_test(empty_matches_cut_but_are_no_words),
    cmocka_unit_test(a_pattern_without_meaning_is_refused_with_its_path),
    cmocka_unit_test(a_pattern_that_takes_too_long_is_refused_not_waited_for),
    cmocka_unit_test(a_megabyte_of_one_character_is_cut_in_linear_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
