/* test_shaping.c: pairs, truncation with its windows, padding, post-processors, and malformed UTF-8
 * (sections A8, B7, D4 and E of the log of known failures; values seen in the reference library,
 * but for errors, which it lacks). The random settings are in test_reference_shaping.py. */
#include "tokenizer_testing.h"

#define TOKEN(name, id)                                                                          \
  "\"" name "\":{\"id\":\"" name "\",\"ids\":[" id "],\"tokens\":[\"" name "\"]}"
#define SPECIAL(name, type) "{\"SpecialToken\":{\"id\":\"" name "\",\"type_id\":" type "}}"
#define TEXT(name, type) "{\"Sequence\":{\"id\":\"" name "\",\"type_id\":" type "}}"
#define BERT                                                                                     \
  "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[" SPECIAL("[CLS]", "0") ","  \
  TEXT("A", "0") "," SPECIAL("[SEP]", "0") "],\"pair\":[" SPECIAL("[CLS]", "0") ","             \
  TEXT("A", "0") "," SPECIAL("[SEP]", "0") "," TEXT("B", "1") "," SPECIAL("[SEP]", "1") "],"    \
  "\"special_tokens\":{" TOKEN("[CLS]", "1") "," TOKEN("[SEP]", "2") "}},"
#define SEPARATOR(type)                                                                          \
  "\"post_processor\":{\"type\":\"" type "\",\"sep\":[\"[SEP]\",2],\"cls\":[\"[CLS]\",1]},"
#define MODEL                                                                                    \
  "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"[UNK]\",0],[\"[CLS]\",0],"         \
  "[\"[SEP]\",0],[\"[MASK]\",0],[\"ab\",-1],[\"c\",-1],[\"x\",-1],[\"\u0120b\",-1]]}"

enum { SHAPED = ATH_ENCODE_SPECIAL | ATH_ENCODE_TYPES | ATH_ENCODE_SEQUENCES | ATH_ENCODE_WORDS |
                ATH_ENCODE_MASKS | ATH_ENCODE_TRUNCATE };

static const char *list(const int32_t *values, size_t count) {
  static char lines[8][2048];
  static unsigned turn;
  char *line = lines[turn++ % 8];
  line[0] = '\0';
  for (size_t i = 0; i < count; i++)
    snprintf(line + strlen(line), 2048 - strlen(line), "%s%d", i > 0 ? " " : "", values[i]);
  return line;
}

static const char *bytes(const void *values, size_t count) {
  int32_t wide[256];
  assert_true(count <= 256);
  for (size_t i = 0; i < count; i++) wide[i] = ((const int8_t *)values)[i];
  return list(wide, count);
}

static ath_status pair(const ath_tokenizer *t, const char *first, const char *second,
                       unsigned flags, ath_encoding *out) {
  return ath_tokenizer_encode_pair(t, first, strlen(first), second, strlen(second), flags, out);
}

static void a_pair_has_types_and_masks(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of("{" BERT MODEL "}");
  ath_encoding e = {0};
  assert_ok(pair(t, "ab", "abc", SHAPED, &e));
  assert_string_equal(list(e.ids, e.length), "1 4 2 4 5 2");
  assert_string_equal(list(e.types, e.length), "0 0 0 1 1 1");
  assert_string_equal(bytes(e.special, e.length), "1 0 1 0 0 1");
  assert_string_equal(bytes(e.attention, e.length), "1 1 1 1 1 1");
  assert_string_equal(bytes(e.sequences, e.length), "-1 0 -1 1 1 -1");
  assert_string_equal(list(e.words, e.length), "-1 0 -1 0 0 -1");
  assert_ok(pair(t, "ab", "", SHAPED, &e));
  assert_string_equal(list(e.ids, e.length), "1 4 2 2");
  assert_string_equal(list(e.types, e.length), "0 0 0 1");
  assert_ok(pair(t, "", "", SHAPED & ~(unsigned)ATH_ENCODE_SPECIAL, &e));
  assert_int_equal(e.length, 0);
  assert_int_equal(e.window_count, 1);
  ath_encoding_free(&e);
  ath_tokenizer_destroy(t);
}

/* So whoever masks by this mask may mask a token that the user typed (section A8). */
static void a_special_token_in_the_text_is_not_marked_as_added(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of("{\"added_tokens\":[{\"id\":2,\"content\":\"[SEP]\","
                                  "\"special\":true}]," BERT MODEL "}");
  ath_encoding e = {0};
  assert_ok(ath_tokenizer_encode(t, "[SEP]", 5, SHAPED, &e));
  assert_string_equal(list(e.ids, e.length), "1 2 2");
  assert_string_equal(bytes(e.special, e.length), "1 0 1");
  assert_string_equal(list(e.words, e.length), "-1 0 -1");
  ath_encoding_free(&e);
  ath_tokenizer_destroy(t);
}

static void bert_and_roberta_separate_their_way(void **state) {
  (void)state;
  ath_encoding e = {0};
  ath_tokenizer *t = tokenizer_of("{" SEPARATOR("BertProcessing") MODEL "}");
  assert_ok(pair(t, "ab", "c", SHAPED, &e));
  assert_string_equal(list(e.ids, e.length), "1 4 2 5 2");
  assert_string_equal(list(e.types, e.length), "0 0 0 1 1");
  ath_tokenizer_destroy(t);
  t = tokenizer_of("{" SEPARATOR("RobertaProcessing") MODEL "}");
  assert_ok(pair(t, "ab", "c", SHAPED, &e));
  assert_string_equal(list(e.ids, e.length), "1 4 2 2 5 2");
  assert_string_equal(list(e.types, e.length), "0 0 0 0 0 0");
  ath_encoding_free(&e);
  ath_tokenizer_destroy(t);
}

static void a_mask_that_takes_the_space_before_it_is_trimmed(void **state) {
  (void)state;
  static const char *const parts[] = {
    "\"added_tokens\":[{\"id\":3,\"content\":\"[MASK]\",\"lstrip\":true}],\"post_processor\":"
    "{\"type\":\"RobertaProcessing\",\"sep\":[\"[SEP]\",2],\"cls\":[\"[CLS]\",1],"
    "\"add_prefix_space\":false,\"trim_offsets\":",
    "},\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\u0120\","
    "\"prepend_scheme\":\"never\"}," MODEL "}"};
  char json[2048];
  snprintf(json, sizeof json, "{%strue%s", parts[0], parts[1]);
  ath_tokenizer *t = tokenizer_of(json);
  assert_string_equal(shown(t, "x [MASK] b"), "x(0,1)  [MASK](2,8) \u0120b(9,10)");
  ath_tokenizer_destroy(t);
  snprintf(json, sizeof json, "{%sfalse%s", parts[0], parts[1]);
  t = tokenizer_of(json);
  assert_string_equal(shown(t, "x [MASK] b"), "x(0,1)  [MASK](1,8) \u0120b(8,10)");
  ath_tokenizer_destroy(t);
}

/* `count` tokens, whose ids tell their places. */
static ath_tokenizer *counter(const char *post_processor) {
  static char json[8192];
  snprintf(json, sizeof json, "{%s\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":"
           "[[\"?\",0],[\"[CLS]\",0],[\"[SEP]\",0]", post_processor);
  for (int i = 0; i < 50; i++) /* 3 … 52: one Chinese character each */
    snprintf(json + strlen(json), sizeof json - strlen(json), ",[\"\xE4\xB8%c\",-1]", 0x80 + i);
  strcat(json, "]}}");
  return tokenizer_of(json);
}

static const char *characters(int count) {
  static char text[256];
  text[0] = '\0';
  for (int i = 0; i < count; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "\xE4\xB8%c", 0x80 + i);
  return text;
}

static void what_is_cut_off_follows_in_windows(void **state) {
  (void)state;
  ath_tokenizer *t = counter("");
  ath_truncation truncation = {.max_length = 10, .stride = 2};
  assert_ok(ath_tokenizer_set_truncation(t, &truncation));
  ath_encoding e = {0};
  const char *text = characters(50);
  assert_ok(ath_tokenizer_encode(t, text, strlen(text), SHAPED | ATH_ENCODE_WINDOWS, &e));
  assert_int_equal(e.window_count, 6);
  for (size_t w = 0, from = 0; w < 6; from = e.window_ends[w++]) {
    assert_int_equal(e.window_ends[w] - from, 10);
    assert_int_equal(e.ids[from], 3 + 8 * w);
  }
  assert_ok(ath_tokenizer_encode(t, text, strlen(text), SHAPED, &e));
  assert_int_equal(e.length, 10);
  assert_int_equal(e.window_count, 1);
  assert_ok(ath_tokenizer_encode(t, text, strlen(text), ATH_ENCODE_SPECIAL, &e));
  assert_int_equal(e.length, 50); /* who does not ask gets it whole */
  ath_encoding_free(&e);
  ath_tokenizer_destroy(t);
}

static void a_truncation_without_room_or_progress_is_refused(void **state) {
  (void)state;
  ath_tokenizer *t = counter(BERT);
  ath_truncation truncation = {.max_length = 10, .stride = 7};
  assert_ok(ath_tokenizer_set_truncation(t, &truncation));
  ath_encoding e = {0};
  const char *text = characters(30);
  assert_ok(ath_tokenizer_encode(t, text, strlen(text), SHAPED | ATH_ENCODE_WINDOWS, &e));
  assert_int_equal(e.window_count, 23);
  truncation.stride = 8;
  assert_fails(ath_tokenizer_set_truncation(t, &truncation), ATH_INVALID,
               "make stride less than 8 or max_length larger");
  truncation = (ath_truncation){.max_length = 1};
  assert_fails(ath_tokenizer_set_truncation(t, &truncation), ATH_INVALID,
               "adds 2 special tokens to a text; make max_length larger");
  assert_int_equal(ath_tokenizer_truncation(t)->stride, 7); /* what was set before stays */
  truncation = (ath_truncation){.max_length = 2};
  assert_ok(ath_tokenizer_set_truncation(t, &truncation));
  assert_fails(pair(t, "a", "b", SHAPED, &e), ATH_INVALID, "adds 3 special tokens");
  assert_int_equal(e.length, 0);
  truncation = (ath_truncation){.max_length = 12, .strategy = ATH_TRUNCATE_ONLY_SECOND};
  assert_ok(ath_tokenizer_set_truncation(t, &truncation));
  assert_fails(ath_tokenizer_encode(t, text, strlen(text), SHAPED, &e), ATH_INVALID,
               "there is one text");
  assert_fails(pair(t, text, "b", SHAPED, &e), ATH_INVALID, "the other has 30 tokens");
  assert_ok(ath_tokenizer_set_truncation(t, NULL));
  assert_null(ath_tokenizer_truncation(t));
  ath_encoding_free(&e);
  ath_tokenizer_destroy(t);
}

static void padding_fills_up_to_a_length_or_the_longest(void **state) {
  (void)state;
  ath_tokenizer *t = counter("");
  ath_encoding e[2] = {{0}};
  ath_padding padding = {.length = 6, .id = 99, .token = "[PAD]"};
  assert_ok(ath_tokenizer_set_padding(t, &padding));
  assert_ok(ath_tokenizer_encode(t, characters(4), 12, SHAPED | ATH_ENCODE_TOKENS, &e[0]));
  assert_ok(ath_tokenizer_pad(t, e, 1));
  assert_string_equal(list(e[0].ids, e[0].length), "3 4 5 6 99 99");
  assert_string_equal(bytes(e[0].attention, 6), "1 1 1 1 0 0");
  assert_string_equal(bytes(e[0].special, 6), "0 0 0 0 1 1");
  size_t length;
  assert_memory_equal(ath_encoding_token(&e[0], t, 5, &length), "[PAD]", 5);
  padding = (ath_padding){.multiple = 8, .side = ATH_LEFT, .id = 99, .token = "[PAD]"};
  assert_ok(ath_tokenizer_set_padding(t, &padding));
  assert_ok(ath_tokenizer_encode(t, characters(3), 9, SHAPED, &e[0]));
  assert_ok(ath_tokenizer_encode(t, characters(9), 27, SHAPED, &e[1]));
  assert_ok(ath_tokenizer_pad(t, e, 2));
  assert_int_equal(e[0].length, 16);
  assert_int_equal(e[1].length, 16);
  assert_int_equal(e[0].ids[0], 99);
  assert_int_equal(e[0].ids[13], 3);
  padding.id = -1;
  assert_fails(ath_tokenizer_set_padding(t, &padding), ATH_INVALID, "id -1");
  for (int i = 0; i < 2; i++) ath_encoding_free(&e[i]);
  ath_tokenizer_destroy(t);
}

/* As Python's errors="replace" has it: one U+FFFD for FF, three for a surrogate, one for a sequence
 * that ends early. */
static void malformed_bytes_are_refused_or_replaced(void **state) {
  (void)state;
  static const struct { const char *bytes; size_t at; const char *shown; } cases[] = {
    {"x\xFF" "c", 1, "x(0,1) \uFFFD(1,2) c(2,3)"},
    {"\xED\xA0\x80", 0, "\uFFFD\uFFFD\uFFFD(0,3)"},
    {"x\xF0\x9F\x98", 1, "x(0,1) \uFFFD(1,2)"},
    {"\xF0\x9F\x98x\xE2\x82", 0, "\uFFFD(0,1) x(1,2) \uFFFD(2,3)"},
    {"\xC0\xAFx", 0, "\uFFFD\uFFFD(0,2) x(2,3)"},
    {"\xF4\x90\x80\x80x", 0, "\uFFFD\uFFFD\uFFFD\uFFFD(0,4) x(4,5)"},
  };
  ath_tokenizer *t = tokenizer_of("{" MODEL "}");
  ath_encoding e = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char message[64];
    size_t length = strlen(cases[i].bytes);
    snprintf(message, sizeof message, "invalid UTF-8 at byte %zu", cases[i].at);
    assert_fails(ath_tokenizer_encode(t, cases[i].bytes, length, 0, &e), ATH_INVALID, message);
    assert_string_equal(shown_flags(t, cases[i].bytes, length, ATH_ENCODE_REPAIR),
                        cases[i].shown);
  }
  ath_encoding_free(&e);
  ath_tokenizer_destroy(t);
}

/* Arrays asked for late must be as long as those that were there. */
static void an_encoding_serves_calls_that_ask_for_different_arrays(void **state) {
  (void)state;
  ath_tokenizer *t = counter(BERT);
  ath_encoding e = {0};
  assert_ok(ath_tokenizer_encode(t, characters(40), 120, 0, &e));
  assert_ok(pair(t, "a", "b", ATH_ENCODE_SPECIAL | ATH_ENCODE_MASKS, &e));
  assert_ok(ath_tokenizer_encode(t, characters(50), 150, SHAPED | ATH_ENCODE_OFFSETS, &e));
  assert_int_equal(e.length, 52);
  assert_int_equal(e.types[51], 0);
  assert_int_equal(e.ends[50], 50);
  ath_encoding_free(&e);
  ath_tokenizer_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_pair_has_types_and_masks),
    cmocka_unit_test(a_special_token_in_the_text_is_not_marked_as_added),
    cmocka_unit_test(bert_and_roberta_separate_their_way),
    cmocka_unit_test(a_mask_that_takes_the_space_before_it_is_trimmed),
    cmocka_unit_test(what_is_cut_off_follows_in_windows),
    cmocka_unit_test(a_truncation_without_room_or_progress_is_refused),
    cmocka_unit_test(padding_fills_up_to_a_length_or_the_longest),
    cmocka_unit_test(malformed_bytes_are_refused_or_replaced),
    cmocka_unit_test(an_encoding_serves_calls_that_ask_for_different_arrays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
