/* test_pre_tokenizers.c: pre-tokenisers one by one, with the words that the reference library
 * (0.23.3) gives. */
#include "parts_testing.h"

static void white_space_parts_words(void **state) {
  (void)state;
#define SPLIT "{\"type\":\"WhitespaceSplit\"}"
  assert_cuts(SPLIT, "a\u00a0b\u2028c\u200bd", "a(0,1) b(2,3) c\u200bd(4,7)");
  assert_cuts(SPLIT, "  a ", "a(2,3)");
  assert_cuts(SPLIT, " \t", "");
}

static void words_and_what_is_none_are_parted(void **state) {
  (void)state;
#define WORDS "{\"type\":\"Whitespace\"}"
  assert_cuts(WORDS, "a\u00e9 b,c--\u0301x_y",
              "a\u00e9(0,2) b(3,4) ,(4,5) c(5,6) --(6,8) \u0301x_y(8,12)");
  assert_cuts(WORDS, "c\u200bd", "c(0,1) \u200b(1,2) d(2,3)");
  assert_cuts(WORDS, "\u200d\u200c a", "\u200d\u200c(0,2) a(3,4)");
}

static void bert_parts_punctuation_one_by_one(void **state) {
  (void)state;
#define BERT "{\"type\":\"BertPreTokenizer\"}"
  assert_cuts(BERT, "a\u00e9 b,c--\u0301x_y",
              "a\u00e9(0,2) b(3,4) ,(4,5) c(5,6) -(6,7) -(7,8) \u0301x(8,10) _(10,11) y(11,12)");
}

/* F3 of the log of known failures has the same five ways. */
static void punctuation_behaves_in_five_ways(void **state) {
  (void)state;
#define PUNCTUATION(behavior) "{\"type\":\"Punctuation\",\"behavior\":\"" behavior "\"}"
  assert_cuts(PUNCTUATION("Removed"), "!a--b-,c", "a(1,2) b(4,5) c(7,8)");
  assert_cuts(PUNCTUATION("Isolated"), "!a--b-,c",
              "!(0,1) a(1,2) -(2,3) -(3,4) b(4,5) -(5,6) ,(6,7) c(7,8)");
  assert_cuts(PUNCTUATION("MergedWithPrevious"), "!a--b-,c",
              "!(0,1) a-(1,3) -(3,4) b-(4,6) ,(6,7) c(7,8)");
  assert_cuts(PUNCTUATION("MergedWithNext"), "!a--b-,c", "!a(0,2) -(2,3) -b(3,5) -(5,6) ,c(6,8)");
  assert_cuts(PUNCTUATION("Contiguous"), "!a--b-,c", "!(0,1) a(1,2) --(2,4) b(4,5) -,(5,7) c(7,8)");
  assert_cuts("{\"type\":\"Punctuation\"}", "a-", "a(0,1) -(1,2)");
}

static void digits_are_parted_whole_or_singly(void **state) {
  (void)state;
#define DIGITS(individual) "{\"type\":\"Digits\",\"individual_digits\":" individual "}"
  assert_cuts(DIGITS("false"), "a1b22c", "a(0,1) 1(1,2) b(2,3) 22(3,5) c(5,6)");
  assert_cuts(DIGITS("true"), "a1b22c", "a(0,1) 1(1,2) b(2,3) 2(3,4) 2(4,5) c(5,6)");
  assert_cuts(DIGITS("false"), "\u0663x\u00bd\u2167", "\u0663(0,1) x(1,2) \u00bd\u2167(2,4)");
}

static void a_delimiter_is_dropped(void **state) {
  (void)state;
  assert_cuts("{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"x\"}", "xaxxbx", "a(1,2) b(4,5)");
  assert_cuts("{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"\u00e9\"}", "a\u00e9b\u00e9",
              "a(0,1) b(2,3)");
}

static void scripts_part_where_they_change(void **state) {
  (void)state;
#define SCRIPTS "{\"type\":\"UnicodeScripts\"}"
  assert_cuts(SCRIPTS, "ab \u0431\u0430", "ab (0,3) \u0431\u0430(3,5)");
  assert_cuts(SCRIPTS, "\u4eac\u90fd\u3072\u30ab\u30fc", "\u4eac\u90fd\u3072\u30ab\u30fc(0,5)");
  assert_cuts(SCRIPTS, "a,b", "a(0,1) ,(1,2) b(2,3)");
  assert_cuts(SCRIPTS, "ab! \u3002\u4eac", "ab(0,2) ! \u3002(2,5) \u4eac(5,6)");
  assert_cuts(SCRIPTS, "\u0378 a", "a(2,3)"); /* what has no script is lost in front */
  assert_cuts(SCRIPTS, " ", "");
}

static void fixed_lengths_count_characters(void **state) {
  (void)state;
  assert_cuts("{\"type\":\"FixedLength\",\"length\":3}", "abcd\u00e9\U0001F600g",
              "abc(0,3) d\u00e9\U0001F600(3,6) g(6,7)");
}

#define METASPACE(scheme, split)                                                \
  "{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":\"" scheme \
  "\",\"split\":" split "}"

static void each_of_a_sequence_cuts_the_words_before_it(void **state) {
  (void)state;
#define SEQUENCE(...) "{\"type\":\"Sequence\",\"pretokenizers\":[" __VA_ARGS__ "]}"
  assert_cuts(SEQUENCE(WORDS "," METASPACE("always", "true")), "a b",
              "\u2581a(0,1) \u2581b(2,3)");
  assert_cuts(SEQUENCE(WORDS "," METASPACE("first", "true")), "a b", "\u2581a(0,1) b(2,3)");
  assert_cuts(SEQUENCE(), "a b", "a b(0,3)");
  /* Three at work at once, each in memory of its own. */
  assert_cuts(SEQUENCE(METASPACE("always", "true") ",{\"type\":\"Metaspace\",\"replacement\":\"_\","
                       "\"prepend_scheme\":\"always\",\"split\":false},"
                       "{\"type\":\"FixedLength\",\"length\":2}"),
              "ab cd", "_\u2581(0,1) ab(0,2) _\u2581(2,3) cd(3,5)");
}

static void old_spellings_of_metaspace_are_read(void **state) {
  (void)state;
#define OLD(flag)                                                                  \
  "{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"str_rep\":\"\u2581\"," \
  "\"add_prefix_space\":" flag "}"
  assert_cuts(OLD("true"), "a b", "\u2581a(0,1) \u2581b(1,3)");
  assert_cuts(OLD("false"), "a b", "a(0,1) \u2581b(1,3)");
}

static void assert_refused(const char *pre_tokenizer, const char *part) {
  ath_tokenizer *tokenizer = NULL;
  assert_fails(load_parts("null", pre_tokenizer, "null", &tokenizer), ATH_INVALID, part);
}

static void what_makes_no_pre_tokeniser_is_refused_with_its_place(void **state) {
  (void)state;
  assert_refused("{\"type\":\"Punctuation\",\"behavior\":\"isolated\"}",
                 "pre_tokenizer.behavior: \"isolated\" is not one of Removed");
  assert_refused("{\"type\":\"Digits\"}", "pre_tokenizer.individual_digits");
  assert_refused("{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"ab\"}",
                 "pre_tokenizer.delimiter: expected one character");
  assert_refused("{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"\"}", "pre_tokenizer.delimiter");
  assert_refused("{\"type\":\"FixedLength\",\"length\":0}", "pre_tokenizer.length: 0 is not");
  assert_refused("{\"type\":\"FixedLength\",\"length\":-1}", "pre_tokenizer.length");
  assert_refused(SEQUENCE("{\"type\":\"Digits\"}"),
                 "pre_tokenizer.pretokenizers[0].individual_digits");
}

static void a_sequence_has_a_longest_length(void **state) {
  (void)state;
  char json[3000] = "{\"type\":\"Sequence\",\"pretokenizers\":[";
  for (int i = 0; i < 65; i++)
    strcat(json, i > 0 ? ",{\"type\":\"Whitespace\"}" : "{\"type\":\"Whitespace\"}");
  strcat(json, "]}");
  assert_refused(json, "pre_tokenizer.pretokenizers: 65 pre-tokenisers in a row; at most 64");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(white_space_parts_words),
    cmocka_unit_test(words_and_what_is_none_are_parted),
    cmocka_unit_test(bert_parts_punctuation_one_by_one),
    cmocka_unit_test(punctuation_behaves_in_five_ways),
    cmocka_unit_test(digits_are_parted_whole_or_singly),
    cmocka_unit_test(a_delimiter_is_dropped),
    cmocka_unit_test(scripts_part_where_they_change),
    cmocka_unit_test(fixed_lengths_count_characters),
    cmocka_unit_test(each_of_a_sequence_cuts_the_words_before_it),
    cmocka_unit_test(old_spellings_of_metaspace_are_read),
    cmocka_unit_test(what_makes_no_pre_tokeniser_is_refused_with_its_place),
    cmocka_unit_test(a_sequence_has_a_longest_length),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
