/* test_unigram_encoding.c: Unigram and Metaspace on small inputs, with the values that the
 * reference library gives (section C of the log of known failures). */
#include "tokenizer_testing.h"

#define VOCAB "[[\"<unk>\",0.0],[\"a\",-1],[\"b\",-1],[\"ab\",-1.5],[\"abc\",-5],[\"c\",-2]," \
              "[\"\u2581\",-3],[\"\u2581a\",-2]]"
#define MODEL "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":" VOCAB "}"
#define METASPACE(scheme)                                                                 \
  "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":\"" \
  scheme "\",\"split\":true},"
#define SPECIAL \
  "\"added_tokens\":[{\"id\":8,\"content\":\"<s>\",\"normalized\":false,\"special\":true}],"

static void the_best_path_wins_and_unknowns_are_fused(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of("{" MODEL "}");
  assert_string_equal(shown(t, "abc"), "ab(0,2) c(2,3)");
  assert_string_equal(ids_of(t, "abc", 0), "3 5");
  assert_string_equal(shown(t, "xyz"), "xyz(0,3)");
  assert_string_equal(ids_of(t, "xyz", 0), "0");
  assert_string_equal(shown(t, "axyb"), "a(0,1) xy(1,3) b(3,4)");
  assert_string_equal(shown(t, "aab"), "a(0,1) ab(1,3)");
  assert_string_equal(shown(t, ""), "");
  ath_tokenizer_destroy(t);
}

static void of_equal_paths_the_longer_last_piece_wins(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of("{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":"
                                  "[[\"<unk>\",0],[\"a\",-1],[\"aa\",-2]]}}");
  assert_string_equal(shown(t, "aa"), "aa(0,2)");
  assert_string_equal(shown(t, "aaa"), "a(0,1) aa(1,3)");
  assert_string_equal(shown(t, "aaaa"), "aa(0,2) aa(2,4)");
  ath_tokenizer_destroy(t);
}

static void spaces_become_marks(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of("{" METASPACE("always") MODEL "}");
  assert_string_equal(shown(t, "a b"), "▁a(0,1) ▁(1,2) b(2,3)");
  assert_string_equal(shown(t, " a"), "▁a(0,2)");
  assert_string_equal(shown(t, "a  b"), "▁a(0,1) ▁(1,2) ▁(2,3) b(3,4)");
  assert_string_equal(shown(t, "a "), "▁a(0,1) ▁(1,2)");
  assert_string_equal(shown(t, "\ta"), "▁(0,1) \t(0,1) a(1,2)");
  ath_tokenizer_destroy(t);
}

static void the_mark_after_a_special_token_depends_on_the_scheme(void **state) {
  (void)state;
  static const struct { const char *json, *between, *after; } cases[] = {
    {"{" SPECIAL METASPACE("always") MODEL "}", "7 8 7", "8 7"},
    {"{" SPECIAL METASPACE("first") MODEL "}", "7 8 1", "8 1"},
    {"{" SPECIAL METASPACE("never") MODEL "}", "1 8 1", "8 1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ath_tokenizer *t = tokenizer_of(cases[i].json);
    assert_string_equal(ids_of(t, "a<s>a", 0), cases[i].between);
    assert_string_equal(ids_of(t, "<s>a", 0), cases[i].after);
    assert_string_equal(ids_of(t, " <s> a", 0), "6 8 7");
    ath_tokenizer_destroy(t);
  }
}

static void a_text_without_words_between_marks_is_one_word(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of(
      "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"split\":false},"
      "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"\u2581\",-3],"
      "[\"a\u2581a\",-1],[\"a\",-2]]}}");
  assert_string_equal(shown(t, "a a"), "▁(0,1) a▁a(0,3)");
  ath_tokenizer_destroy(t);
}

static void without_an_unknown_token_the_character_is_named(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of(
      "{\"model\":{\"type\":\"Unigram\",\"unk_id\":null,\"vocab\":[[\"ab\",-1],[\"a\",-1]]}}");
  ath_encoding encoding = {0};
  assert_string_equal(ids_of(t, "aba", 0), "0 1");
  assert_fails(ath_tokenizer_encode(t, "a\u00e9", 3, 0, &encoding), ATH_INVALID,
               "\"\u00e9\" is in no piece of the vocabulary");
  assert_int_equal(encoding.length, 0);
  ath_encoding_free(&encoding);
  ath_tokenizer_destroy(t);
}

static void invalid_utf8_is_refused_with_its_byte(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of("{" METASPACE("always") MODEL "}");
  ath_encoding encoding = {0};
  assert_fails(ath_tokenizer_encode(t, "abc\xFF" "d", 5, 0, &encoding), ATH_INVALID,
               "invalid UTF-8 at byte 3 (0xFF)");
  assert_fails(ath_tokenizer_encode(t, "a\xED\xA0\x80", 4, 0, &encoding), ATH_INVALID,
               "at byte 1");
  assert_fails(ath_tokenizer_encode(t, "ab\xE2\x96", 4, 0, &encoding), ATH_INVALID, "at byte 2");
  ath_encoding_free(&encoding);
  ath_tokenizer_destroy(t);
}

/* A long word does not fit the cache, and is found at every length with the same rule. */
static void a_megabyte_of_one_character_is_cut_in_linear_time(void **state) {
  (void)state;
  enum { LENGTH = 1 << 20 };
  ath_tokenizer *t = tokenizer_of("{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":"
                                  "[[\"<unk>\",0],[\"a\",-1],[\"aa\",-1.5]]}}");
  char *text = malloc(LENGTH);
  memset(text, 'a', LENGTH);
  ath_encoding encoding = {0};
  assert_ok(ath_tokenizer_encode(t, text, LENGTH, ATH_ENCODE_OFFSETS, &encoding));
  assert_int_equal(encoding.length, LENGTH / 2);
  assert_int_equal(encoding.ends[LENGTH / 2 - 1], LENGTH);
  memset(text, 'x', LENGTH);
  assert_ok(ath_tokenizer_encode(t, text, LENGTH, ATH_ENCODE_OFFSETS, &encoding));
  assert_int_equal(encoding.length, 1);
  assert_int_equal(encoding.ends[0], LENGTH);
  ath_encoding_free(&encoding);
  free(text);
  ath_tokenizer_destroy(t);
}

/* The same words again and again, so that the second time they come from the cache; and two
 * tokenizers in turn with one encoding, so that one's words must not be taken for the other's. */
static void a_cached_word_is_the_same_word(void **state) {
  (void)state;
  ath_tokenizer *one = tokenizer_of("{" METASPACE("always") MODEL "}");
  ath_tokenizer *two = tokenizer_of("{" METASPACE("always")
                                    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":"
                                    "[[\"<unk>\",0],[\"ab\",-1],[\"\u2581\",-1]]}}");
  ath_encoding encoding = {0};
  for (int round = 0; round < 3; round++) {
    assert_ok(ath_tokenizer_encode(one, "ab ab", 5, ATH_ENCODE_OFFSETS, &encoding));
    assert_int_equal(encoding.length, 4);
    assert_int_equal(encoding.ids[1], 2);
    assert_int_equal(encoding.ids[3], 2);
    assert_int_equal(encoding.starts[2], 2);
    assert_ok(ath_tokenizer_encode(two, "ab ab", 5, 0, &encoding));
    assert_int_equal(encoding.length, 4);
    assert_int_equal(encoding.ids[0], 2);
    assert_int_equal(encoding.ids[1], 1);
  }
  ath_encoding_free(&encoding);
  ath_tokenizer_destroy(one);
  ath_tokenizer_destroy(two);
}

static void decoding_turns_marks_into_spaces(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of(
      "{" SPECIAL METASPACE("always")
      "\"decoder\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":"
      "\"always\",\"split\":true}," MODEL "}");
  assert_string_equal(decoded(t, (const int32_t[]){7, 6, 2}, 3, 0), "a b");
  assert_string_equal(decoded(t, (const int32_t[]){8, 7, 2, 8}, 4, 0), "<s> ab<s>");
  assert_string_equal(decoded(t, (const int32_t[]){8, 7, 2, 8}, 4, 1), "ab");
  assert_string_equal(decoded(t, NULL, 0, 0), "");
  ath_buffer out = ath_buffer_make(100);
  assert_fails(ath_tokenizer_decode(t, (const int32_t[]){1, 9}, 2, 0, &out), ATH_INVALID,
               "there is no token 9 (number 2 of those to decode)");
  ath_buffer_free(&out);
  ath_tokenizer_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_best_path_wins_and_unknowns_are_fused),
    cmocka_unit_test(of_equal_paths_the_longer_last_piece_wins),
    cmocka_unit_test(spaces_become_marks),
    cmocka_unit_test(the_mark_after_a_special_token_depends_on_the_scheme),
    cmocka_unit_test(a_text_without_words_between_marks_is_one_word),
    cmocka_unit_test(without_an_unknown_token_the_character_is_named),
    cmocka_unit_test(invalid_utf8_is_refused_with_its_byte),
    cmocka_unit_test(a_megabyte_of_one_character_is_cut_in_linear_time),
    cmocka_unit_test(a_cached_word_is_the_same_word),
    cmocka_unit_test(decoding_turns_marks_into_spaces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
