/* test_special_tokens.c: added tokens in the text, the quote replacement before the words, the
 * template around them, and the tokenizer that training makes (sections D, F1, G6 of the log of
 * known failures; values seen in the reference library). */
#include "tokenizer_testing.h"

#include "tokenizers/tokenizer.h"
#include "unigram_testing.h"

#define MODEL                                                                                \
  "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"[UNK]\",0],[\"i\",-1],"        \
  "[\"saw\",-1],[\"a\",-1]]}"
/* The reference's own example has Lowercase, which Replace stands in for. */
#define LOWER_Y                                                                              \
  "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"Y\"},\"content\":\"y\"},"

static char *with_token(const char *normalizer, const char *token) {
  static char json[2048];
  snprintf(json, sizeof json, "{\"added_tokens\":[{\"id\":4,%s}],%s%s}", token, normalizer,
           MODEL);
  return json;
}

static void a_normalised_token_is_found_as_the_normaliser_leaves_it(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of(
      with_token(LOWER_Y, "\"content\":\"Yesterday\",\"normalized\":true"));
  assert_string_equal(ids_of(t, "yesterdayi", 0), "4 1");
  assert_string_equal(ids_of(t, "Yesterdayi", 0), "4 1");
  assert_string_equal(shown(t, "Yesterdays"), "yesterday(0,9) s(9,10)");
  ath_tokenizer_destroy(t);
  t = tokenizer_of(with_token(LOWER_Y, "\"content\":\"Yesterday\",\"normalized\":false"));
  assert_string_equal(ids_of(t, "yesterdayi", 0), "0 3 0 1");
  assert_string_equal(ids_of(t, "Yesterdayi", 0), "4 1");
  ath_tokenizer_destroy(t);
}

static void a_single_word_does_not_match_inside_one(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of(
      with_token("", "\"content\":\"Yesterday\",\"single_word\":true,\"normalized\":false"));
  assert_string_equal(shown(t, "Yesterday"), "Yesterday(0,9)");
  assert_string_equal(ids_of(t, "Yesterdays", 0), "0 3 0");
  assert_string_equal(ids_of(t, "\u00e9Yesterday", 0), "0 3 0");
  assert_string_equal(ids_of(t, "-Yesterday-", 0), "0 4 0");
  assert_string_equal(shown(t, "Yesterdays Yesterday"),
                      "Yesterd(0,7) a(7,8) ys (8,11) Yesterday(11,20)");
  ath_tokenizer_destroy(t);
}

static void white_space_beside_a_token_goes_with_it(void **state) {
  (void)state;
  static const struct { const char *flags, *expected; } cases[] = {
    {"\"lstrip\":true", "i(0,1)    yesterday(1,13)   (13,15) a(15,16)"},
    {"\"rstrip\":true", "i(0,1)    (1,4) yesterday  (4,15) a(15,16)"},
    {"\"lstrip\":true,\"rstrip\":true", "i(0,1)    yesterday  (1,15) a(15,16)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char token[256];
    snprintf(token, sizeof token, "\"content\":\"yesterday\",\"normalized\":false,%s",
             cases[i].flags);
    ath_tokenizer *t = tokenizer_of(with_token("", token));
    assert_string_equal(shown(t, "i   yesterday  a"), cases[i].expected);
    ath_tokenizer_destroy(t);
  }
  ath_tokenizer *t = tokenizer_of(with_token(
      "", "\"content\":\"yesterday\",\"lstrip\":true,\"rstrip\":true,\"normalized\":false"));
  assert_string_equal(shown(t, "i\u00a0\nyesterday\u3000a"),
                      "i(0,1) \u00a0\nyesterday\u3000(1,13) a(13,14)");
  ath_tokenizer_destroy(t);
}

static void the_longest_token_that_begins_first_is_found(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of(
      "{\"added_tokens\":[{\"id\":4,\"content\":\"<m>\"},{\"id\":5,\"content\":\"<m><n>\"},"
      "{\"id\":6,\"content\":\"><\"}]," MODEL "}");
  assert_string_equal(ids_of(t, "<m><n>", 0), "5");
  assert_string_equal(ids_of(t, "<m><m>", 0), "4 4");
  assert_string_equal(ids_of(t, "<<m>i><", 0), "0 4 1 6");
  assert_int_equal(ath_tokenizer_size(t), 7);
  ath_tokenizer_destroy(t);
}

static ath_tokenizer *built(void) {
  static const ath_unigram_piece pieces[] = {
    {"\u2581", -2}, {"a", -1}, {"b", -1}, {"\"", -3}, {"'", -3}, {"`", -3}, {"\u2581a", -1.5},
    {"MASK", -2},
  };
  ath_tokenizer *t = NULL;
  assert_ok(unigram_of(pieces, sizeof pieces / sizeof *pieces, &t));
  return t;
}

/* Each pair of back-ticks or apostrophes, from left to right, becomes a quote. The quote has the
 * place of the pair's second character, as in the reference (tokenizers 0.23.3). */
static void quotes_are_replaced_from_left_to_right(void **state) {
  (void)state;
  ath_tokenizer *t = built();
  assert_string_equal(shown(t, "```a``"), "▁(1,2) \"(1,2) `(2,3) a(3,4) \"(5,6)");
  assert_string_equal(shown(t, "'''"), "▁(1,2) \"(1,2) '(2,3)");
  assert_string_equal(shown(t, "a ``b''"), "▁a(0,1) ▁(1,2) \"(3,4) b(4,5) \"(6,7)");
  assert_string_equal(shown(t, "````"), "▁(1,2) \"(1,2) \"(3,4)");
  assert_string_equal(shown(t, "\u00e9''"), "▁(0,1) \u00e9(0,1) \"(2,3)");
  ath_tokenizer_destroy(t);
}

static void special_tokens_come_first_and_surround_the_text(void **state) {
  (void)state;
  ath_tokenizer *t = built();
  static const char *const names[] = {"[CLS]", "[SEP]", "<unk>", "<pad>", "[MASK]"};
  for (int32_t id = 0; id < 5; id++) {
    assert_string_equal(ath_tokenizer_token(t, id), names[id]);
    assert_int_equal(ath_tokenizer_id(t, names[id]), id);
    assert_true(ath_tokenizer_is_special(t, id));
  }
  assert_false(ath_tokenizer_is_special(t, 5));
  assert_int_equal(ath_tokenizer_size(t), 13);
  assert_int_equal(ath_tokenizer_special(t, ATH_TOKEN_CLS), 0);
  assert_int_equal(ath_tokenizer_special(t, ATH_TOKEN_MASK), 4);
  assert_string_equal(shown_flags(t, "a", 1, ATH_ENCODE_SPECIAL),
                      "[CLS](0,0) ▁a(0,1) [SEP](0,0)");
  assert_string_equal(ids_of(t, "", ATH_ENCODE_SPECIAL), "0 1");
  ath_tokenizer_destroy(t);
}

static void a_special_token_typed_in_the_text_is_one_token(void **state) {
  (void)state;
  ath_tokenizer *t = built();
  assert_string_equal(shown(t, "a[MASK]a"), "▁a(0,1) [MASK](1,7) ▁a(7,8)");
  assert_string_equal(shown(t, "a [mask]"), "▁a(0,1) ▁(1,2) [m(2,4) a(4,5) sk](5,8)");
  assert_string_equal(ids_of(t, "[SEP]", ATH_ENCODE_SPECIAL), "0 1 1");
  ath_tokenizer_destroy(t);
}

static ath_status join_words(void *context, const char *word, size_t length) {
  ath_buffer *out = context;
  ATH_TRY(ath_buffer_byte(out, '|'));
  return ath_buffer_append(out, word, length);
}

static ath_status stop_at_once(void *context, const char *word, size_t length) {
  (void)context;
  return ath_fail(ATH_INTERRUPTED, "at %.*s", (int)length, word);
}

static void training_sees_the_words_without_special_tokens(void **state) {
  (void)state;
  ath_tokenizer *t = NULL;
  assert_ok(unigram_of(NULL, 0, &t));
  ath_encoding scratch = {0};
  ath_buffer out = ath_buffer_make(1000);
  const char *text = "``one'' [MASK] two  three[SEP]";
  assert_ok(ath_tokenizer_each_word(t, text, strlen(text), &scratch, join_words, &out));
  assert_string_equal(out.bytes, "|▁\"one\"|▁two|▁|▁three");
  assert_fails(ath_tokenizer_each_word(t, "a b", 3, &scratch, stop_at_once, NULL),
               ATH_INTERRUPTED, "at ▁a");
  assert_fails(ath_tokenizer_each_word(t, "a\x80", 2, &scratch, join_words, &out), ATH_INVALID,
               "invalid UTF-8 at byte 1");
  ath_buffer_free(&out);
  ath_encoding_free(&scratch);
  ath_tokenizer_destroy(t);
}

static void pieces_that_make_no_vocabulary_are_refused(void **state) {
  (void)state;
  ath_tokenizer *t = NULL;
  assert_fails(unigram_of((ath_unigram_piece[]){{"a", -1}, {"a", -2}}, 2, &t),
               ATH_INVALID, "\"a\" is there twice");
  assert_fails(unigram_of((ath_unigram_piece[]){{"[SEP]", -1}}, 1, &t),
               ATH_INVALID, "special token");
  assert_fails(unigram_of((ath_unigram_piece[]){{"", -1}}, 1, &t), ATH_INVALID,
               "piece 0 is empty");
  assert_fails(unigram_of((ath_unigram_piece[]){{"a", 0.0 / 0.0}}, 1, &t),
               ATH_INVALID, "not finite");
  assert_fails(unigram_of((ath_unigram_piece[]){{"\xC3", -1}}, 1, &t),
               ATH_INVALID, "not UTF-8");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_normalised_token_is_found_as_the_normaliser_leaves_it),
    cmocka_unit_test(a_single_word_does_not_match_inside_one),
    cmocka_unit_test(white_space_beside_a_token_goes_with_it),
    cmocka_unit_test(the_longest_token_that_begins_first_is_found),
    cmocka_unit_test(quotes_are_replaced_from_left_to_right),
    cmocka_unit_test(special_tokens_come_first_and_surround_the_text),
    cmocka_unit_test(a_special_token_typed_in_the_text_is_one_token),
    cmocka_unit_test(training_sees_the_words_without_special_tokens),
    cmocka_unit_test(pieces_that_make_no_vocabulary_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
