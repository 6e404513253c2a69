/* test_normalizers.c: normalisers one by one: what they make of texts, and where each character
 * came from. The values are those of the reference library (0.23.3), but for Hangul, where the log
 * of known failures (F2) has the right ones. */
#include "parts_testing.h"

#define NFC "{\"type\":\"NFC\"}"
#define NFD "{\"type\":\"NFD\"}"
#define NFKC "{\"type\":\"NFKC\"}"
#define NFKD "{\"type\":\"NFKD\"}"
#define BERT(clean, chinese, accents, lower)                                        \
  "{\"type\":\"BertNormalizer\",\"clean_text\":" #clean ",\"handle_chinese_chars\":" \
  #chinese ",\"strip_accents\":" #accents ",\"lowercase\":" #lower "}"

static void decomposition_keeps_the_place_of_the_whole_character(void **state) {
  (void)state;
  assert_normalizes(NFD, "\u00e9x", "e(0,1) \u0301(0,1) x(1,2)");
  assert_normalizes(NFD, "\uac01x", "\u1100(0,1) \u1161(0,1) \u11a8(0,1) x(1,2)");
  assert_normalizes(NFKD, "x\u2026", "x(0,1) .(1,2) .(1,2) .(1,2)");
}

static void marks_are_put_in_order_with_their_places_counted_off(void **state) {
  (void)state;
  assert_normalizes(NFD, "\u00e9\u0323x", "e(0,1) \u0323(1,2) \u0301(1,2) x(2,3)");
  assert_normalizes(NFD, "e\u0301\u0323\u0316x",
                    "e(0,1) \u0323(1,2) \u0316(2,3) \u0301(3,4) x(4,5)");
  assert_normalizes(NFD, "\u0344\u0323a", "\u0323(0,1) \u0308(1,2) \u0301(1,2) a(2,3)");
}

static void a_composed_letter_counts_as_the_first_of_its_parts(void **state) {
  (void)state;
  assert_normalizes(NFC, "e\u0301x", "\u00e9(0,1) x(2,3)");
  assert_normalizes(NFC, "\u00e9\u0323x", "\u1eb9(0,1) \u0301(1,2) x(2,3)");
  assert_normalizes(NFC, "\u0958a", "\u0915(0,1) \u093c(0,1) a(1,2)"); /* never composed */
  assert_normalizes(NFKC, "\uff76\uff9ex", "\u30ac(0,1) x(2,3)");
}

static void a_syllable_covers_all_of_its_letters(void **state) {
  (void)state;
  assert_normalizes(NFKC, "\u1106\u1161\u1109\u1175\u11af", "\ub9c8(0,2) \uc2e4(2,5)");
  assert_normalizes(NFC, "\uac00\u11a8x", "\uac01(0,2) x(2,3)");
}

static void compatibility_forms_are_those_of_the_standard(void **state) {
  (void)state;
  assert_normalizes(NFKC, "\ufb01", "f(0,1) i(0,1)");
  assert_normalizes(NFKC, "\u2460", "1(0,1)");
  assert_normalizes(NFKC, "\u00bd", "1(0,1) \u2044(0,1) 2(0,1)");
  assert_normalizes(NFKC, "\u3314", "\u30ad(0,1) \u30ed(0,1)");
  assert_normalizes(NFKC, "\uff8a\uff9f", "\u30d1(0,1)");
  assert_normalizes(NFKC, "\u32ff", "\u32ff(0,1)"); /* younger than the reference's Unicode */
}

static void a_million_marks_take_linear_time(void **state) {
  (void)state;
  enum { COUNT = 1000000 };
  char *text = malloc(1 + 2 * (size_t)COUNT);
  text[0] = 'e';
  for (size_t i = 0; i < COUNT; i++) memcpy(text + 1 + 2 * i, i % 2 ? "\u0323" : "\u0301", 2);
  ath_tokenizer *tokenizer = NULL;
  assert_ok(load_parts(NFC, "null", "null", &tokenizer));
  ath_encoding encoding = {0};
  assert_ok(ath_tokenizer_encode(tokenizer, text, 1 + 2 * (size_t)COUNT, ATH_ENCODE_TOKENS,
                                 &encoding));
  size_t length;
  const char *token = ath_encoding_token(&encoding, tokenizer, 0, &length);
  assert_int_equal(encoding.length, 1);
  assert_int_equal(length, 2 * COUNT + 1); /* e and a dot below make one character of three bytes */
  assert_memory_equal(token, "\u1eb9\u0323", 5);
  assert_memory_equal(token + length - 2, "\u0301", 2);
  ath_encoding_free(&encoding);
  ath_tokenizer_destroy(tokenizer);
  free(text);
}

static void small_letters_do_not_heed_their_neighbours(void **state) {
  (void)state;
  assert_normalizes("{\"type\":\"Lowercase\"}", "\u0130xA", "i(0,1) \u0307(0,1) x(1,2) a(2,3)");
  assert_normalizes("{\"type\":\"Lowercase\"}", "\u1e9eS", "\u00df(0,1) s(1,2)");
  assert_normalizes("{\"type\":\"Lowercase\"}", "\u0391\u03a3", "\u03b1(0,1) \u03c3(1,2)");
}

static void accents_go_only_when_they_stand_alone(void **state) {
  (void)state;
  assert_normalizes("{\"type\":\"StripAccents\"}", "\u00e9e\u0301x", "\u00e9(0,1) e(1,2) x(3,4)");
  assert_normalizes("{\"type\":\"Sequence\",\"normalizers\":[" NFD ",{\"type\":\"StripAccents\"}]}",
                    "\u00e9e\u0301x", "e(0,1) e(1,2) x(3,4)");
}

static void strip_takes_white_space_from_the_ends(void **state) {
  (void)state;
#define STRIP(left, right) \
  "{\"type\":\"Strip\",\"strip_left\":" #left ",\"strip_right\":" #right "}"
  assert_normalizes(STRIP(true, true), " \u00a0a b \n", "a(2,3)  (3,4) b(4,5)");
  assert_normalizes(STRIP(false, true), " a ", " (0,1) a(1,2)");
  assert_normalizes(STRIP(true, false), " a ", "a(1,2)  (2,3)");
  assert_normalizes(STRIP(true, true), "  ", "");
}

static void prepend_counts_to_the_first_character(void **state) {
  (void)state;
  assert_normalizes("{\"type\":\"Prepend\",\"prepend\":\"ab\"}", "xy",
                    "a(0,1) b(0,1) x(0,1) y(1,2)");
  assert_normalizes("{\"type\":\"Prepend\",\"prepend\":\"ab\"}", "", "");
}

static void nmt_drops_controls_and_makes_other_separators_spaces(void **state) {
  (void)state;
  assert_normalizes("{\"type\":\"Nmt\"}", "a\u200b\x01" "b\u00a0c\u200dx\n",
                    "a(0,1)  (1,2) b(3,4) \u00a0(4,5) c(5,6)  (6,7) x(7,8)  (8,9)");
}

static void byte_level_shows_every_byte(void **state) {
  (void)state;
  assert_normalizes("{\"type\":\"ByteLevel\"}", "\u00e9 a",
                    "\u00c3(0,1) \u00a9(0,1) \u0120(1,2) a(2,3)");
}

static void bert_cleans_sets_apart_and_makes_plain(void **state) {
  (void)state;
  assert_normalizes(BERT(true, true, null, true), "\u00e9\0a\u4f60b\t",
                    "e(0,1) a(2,3)  (3,4) \u4f60(3,4)  (3,4) b(4,5)  (5,6)");
  assert_normalizes(BERT(true, true, null, true), "\u200ba\ufffd\u00c0", "a(1,2) a(3,4)");
  assert_normalizes(BERT(true, true, true, false), "A\u00e9\u0301", "A(0,1) e(1,2)");
  assert_normalizes(BERT(true, true, false, true), "CAF\u00c9", "c(0,1) a(1,2) f(2,3) \u00e9(3,4)");
  assert_normalizes(BERT(false, false, null, false), "A\t\u4f60", "A(0,1) \t(1,2) \u4f60(2,3)");
}

/* Section A4 of the log of known failures. */
static void bert_takes_invisible_characters_out_of_words(void **state) {
  (void)state;
  static const char *const joined[] = {"a\u200bb", "a\u00adb", "a\ufffdb", "a\u200db",
                                       "a\xC2\x85" "b", "a\vb"};
  for (size_t i = 0; i < sizeof joined / sizeof *joined; i++)
    assert_string_equal(parts_show(BERT(true, true, null, true), "{\"type\":\"BertPreTokenizer\"}",
                                   joined[i], strlen(joined[i])), "ab(0,3)");
  assert_string_equal(parts_show(BERT(true, true, null, true), "{\"type\":\"BertPreTokenizer\"}",
                                 "a\0b", 3), "ab(0,3)");
  static const char *const parted[] = {"a\tb", "a\u00a0b", "a\u3000b", "a\u2028b"};
  for (size_t i = 0; i < sizeof parted / sizeof *parted; i++)
    assert_string_equal(parts_show(BERT(true, true, null, true), "{\"type\":\"BertPreTokenizer\"}",
                                   parted[i], strlen(parted[i])), "a(0,1) b(2,3)");
}

/* The sixteen bytes at once against what a byte alone becomes. */
static void bert_treats_long_ascii_as_it_does_short(void **state) {
  (void)state;
  ath_tokenizer *tokenizer = NULL;
  assert_ok(load_parts(BERT(true, true, null, true), "null", "null", &tokenizer));
  ath_encoding encoding = {0};
  for (int at = 0; at < 40; at++)
    for (int c = 1; c < 128; c++) {
      char text[41], expected[41] = "";
      memset(text, 'B', 40);
      text[at] = (char)c;
      int n = 0;
      for (int i = 0; i < 40; i++) {
        char b = i == at ? (char)c : 'B';
        bool space = b == ' ' || b == '\t' || b == '\n' || b == '\r';
        if (!space && (b < ' ' || b == 0x7F)) continue;
        expected[n++] = space ? ' ' : b >= 'A' && b <= 'Z' ? (char)(b + 32) : b;
      }
      assert_ok(ath_tokenizer_encode(tokenizer, text, 40, ATH_ENCODE_TOKENS, &encoding));
      size_t length;
      const char *token = ath_encoding_token(&encoding, tokenizer, 0, &length);
      assert_int_equal(length, n);
      assert_memory_equal(token, expected, length);
    }
  ath_encoding_free(&encoding);
  ath_tokenizer_destroy(tokenizer);
}

static void assert_refused(const char *normalizer, const char *part) {
  ath_tokenizer *tokenizer = NULL;
  assert_fails(load_parts(normalizer, "null", "null", &tokenizer), ATH_INVALID, part);
}

static void what_makes_no_normaliser_is_refused_with_its_place(void **state) {
  (void)state;
  assert_refused("{\"type\":\"Strip\",\"strip_left\":1,\"strip_right\":true}",
                 "normalizer.strip_left: expected true or false");
  assert_refused("{\"type\":\"Strip\",\"strip_left\":true}", "normalizer.strip_right");
  assert_refused("{\"type\":\"Prepend\"}", "normalizer.prepend: expected a string");
  assert_refused("{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"
                 "\"strip_accents\":3,\"lowercase\":true}", "normalizer.strip_accents");
  assert_refused("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"!\"}",
                 "normalizer.precompiled_charsmap: not base64");
  assert_refused("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAA=\"}", "trie");
  assert_refused("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/////w==\"}", "trie");
}

/* A trie that leads out of itself changes nothing. */
static void a_damaged_character_map_does_no_harm(void **state) {
  (void)state;
  assert_normalizes("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"CAAAAP//////////\"}",
                    "abc\u00e9", "a(0,1) b(1,2) c(2,3) \u00e9(3,4)");
  assert_normalizes("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAAAA==\"}", "a",
                    "a(0,1)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(decomposition_keeps_the_place_of_the_whole_character),
    cmocka_unit_test(marks_are_put_in_order_with_their_places_counted_off),
    cmocka_unit_test(a_composed_letter_counts_as_the_first_of_its_parts),
    cmocka_unit_test(a_syllable_covers_all_of_its_letters),
    cmocka_unit_test(compatibility_forms_are_those_of_the_standard),
    cmocka_unit_test(a_million_marks_take_linear_time),
    cmocka_unit_test(small_letters_do_not_heed_their_neighbours),
    cmocka_unit_test(accents_go_only_when_they_stand_alone),
    cmocka_unit_test(strip_takes_white_space_from_the_ends),
    cmocka_unit_test(prepend_counts_to_the_first_character),
    cmocka_unit_test(nmt_drops_controls_and_makes_other_separators_spaces),
    cmocka_unit_test(byte_level_shows_every_byte),
    cmocka_unit_test(bert_cleans_sets_apart_and_makes_plain),
    cmocka_unit_test(bert_takes_invisible_characters_out_of_words),
    cmocka_unit_test(bert_treats_long_ascii_as_it_does_short),
    cmocka_unit_test(what_makes_no_normaliser_is_refused_with_its_place),
    cmocka_unit_test(a_damaged_character_map_does_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
