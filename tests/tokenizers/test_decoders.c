/* test_decoders.c: decoders one by one, with the texts that the reference (0.23.3) gives. */
#include "parts_testing.h"

/* Decodes pieces, which become the vocabulary; NULL ends them. */
static const char *decode(const char *decoder, const char *const *pieces) {
  char json[4096];
  int32_t ids[32], count = 0;
  snprintf(json, sizeof json, "{\"decoder\":%s,\"model\":{\"type\":\"Unigram\",\"unk_id\":0,"
           "\"vocab\":[[\"<unknown>\",0.0]", decoder);
  ath_buffer text = ath_buffer_make(sizeof json);
  assert_ok(ath_buffer_string(&text, json));
  for (; pieces[count] != NULL; count++) { /* a piece that comes again has the id it has */
    int32_t first = 0;
    while (strcmp(pieces[first], pieces[count]) != 0) first++;
    ids[count] = first < count ? ids[first] : 0;
    if (first < count) continue;
    ids[count] = 1;
    for (int32_t i = 0; i < count; i++) if (ids[i] >= ids[count]) ids[count] = ids[i] + 1;
    assert_ok(ath_buffer_string(&text, ",["));
    assert_ok(ath_buffer_json(&text, pieces[count], strlen(pieces[count])));
    assert_ok(ath_buffer_string(&text, ",-1.0]"));
  }
  assert_ok(ath_buffer_string(&text, "]}}"));
  ath_tokenizer *tokenizer = NULL;
  assert_ok(load_bytes(text.bytes, text.length, &tokenizer));
  const char *line = decoded(tokenizer, ids, (size_t)count, 0);
  ath_tokenizer_destroy(tokenizer);
  ath_buffer_free(&text);
  return line;
}

#define assert_decodes(expected, decoder, ...) \
  assert_string_equal(decode(decoder, (const char *const[]){__VA_ARGS__, NULL}), expected)

static void byte_letters_become_bytes(void **state) {
  (void)state;
#define BYTE_LEVEL \
  "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex\":true}"
  assert_decodes(" a\u00e9\ufffd\ufffda b\u00c3\u00a9\u4f60\ufffd", BYTE_LEVEL, "\u0120a", "\u00c3",
                 "\u00a9", "\u00e9", "\u00e9", "a b", "\u00c3\u00a9\u4f60", "\u00c3");
}

static void named_bytes_become_characters_or_one_mark_each(void **state) {
  (void)state;
#define FALLBACK "{\"type\":\"ByteFallback\"}"
  assert_decodes("\u4f60b", FALLBACK, "<0xE4>", "<0xBD>", "<0xA0>", "b");
  assert_decodes("\ufffd\ufffd\ufffd\ufffdb\ufffd", FALLBACK, "<0xE4>", "<0xBD>", "<0xA0>",
                 "<0xE4>", "b", "<0xe4>");
  assert_decodes("\ufffd<0x4><0xGG><0X41>", FALLBACK, "<0xFF>", "<0x4>", "<0xGG>", "<0X41>");
}

static void word_pieces_are_joined_and_cleaned_up(void **state) {
  (void)state;
#define WORD_PIECE(clean) "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":" clean "}"
  assert_decodes("##ab c.n't ' x' don't a. b'c's", WORD_PIECE("true"), "##a", "##b", "c", ".",
                 "n't", "'", "x", "' ", "do not", "a . b ' c 's");
  assert_decodes("ab . 's", WORD_PIECE("false"), "a", "##b", ".", "'s");
  assert_decodes("do n ' ts, ok!", WORD_PIECE("true"), "do", "n", "'", "t", "##s", ",", "ok",
                 "!"); /* F4 of the log of known failures */
}

static void the_suffix_becomes_a_space_but_at_the_end(void **state) {
  (void)state;
  assert_decodes("a b c", "{\"type\":\"BPEDecoder\",\"suffix\":\"</w>\"}", "a</w>b</w>", "c</w>");
  assert_decodes(" a b c d", "{\"type\":\"BPEDecoder\",\"suffix\":\"\"}", "abc", "d");
}

static void repeats_and_blanks_of_ctc_go(void **state) {
  (void)state;
#define CTC(clean)                                                                            \
  "{\"type\":\"CTC\",\"pad_token\":\"<pad>\",\"word_delimiter_token\":\"|\",\"cleanup\":" clean "}"
  assert_decodes("aa b  xy. 's", CTC("true"), "<pad>", "a", "a", "<pad>", "a", "|", "b", "||",
                 "x<pad>y", " .", "|", "'s");
  assert_decodes("a|b .", CTC("false"), "a", "|", "b", " .");
}

static void strip_takes_so_many_from_each_piece(void **state) {
  (void)state;
  assert_decodes("aab", "{\"type\":\"Strip\",\"content\":\"a\",\"start\":1,\"stop\":0}", "aaa",
                 "ab");
  assert_decodes("bab", "{\"type\":\"Strip\",\"content\":\"a\",\"start\":2,\"stop\":2}", "aabaa",
                 "aaab", "aaa"); /* the reference gives up on the last piece */
}

static void replace_and_fuse_and_sequence(void **state) {
  (void)state;
#define REPLACE(from, to) \
  "{\"type\":\"Replace\",\"pattern\":{\"String\":\"" from "\"},\"content\":\"" to "\"}"
  assert_decodes("baba", REPLACE("aa", "b"), "aaa", "ba");
  assert_decodes("a a", "{\"type\":\"Sequence\",\"decoders\":[" REPLACE("\u2581", " ") ","
                 "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":"
                 "\" \",\"start\":1,\"stop\":0}]}", "\u2581a", "\u2581a");
  assert_decodes("ab", "{\"type\":\"Sequence\",\"decoders\":[]}", "a", "b");
}

static void the_first_marks_of_metaspace_go(void **state) {
  (void)state;
#define METASPACE(scheme)                                                                     \
  "{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":\"" scheme "\"}"
  assert_decodes("a b  a  ", METASPACE("always"), "\u2581a", "\u2581b\u2581", "\u2581",
                 "a\u2581\u2581");
  assert_decodes(" a b ", METASPACE("never"), "\u2581a", "\u2581b\u2581");
}

static void what_makes_no_decoder_is_refused_with_its_place(void **state) {
  (void)state;
  ath_tokenizer *tokenizer = NULL;
  assert_fails(load_parts("null", "null", "{\"type\":\"Strip\",\"content\":\"ab\",\"start\":1,"
                          "\"stop\":0}", &tokenizer), ATH_INVALID,
               "decoder.content: expected one character");
  assert_fails(load_parts("null", "null", "{\"type\":\"Strip\",\"content\":\"a\",\"start\":-1,"
                          "\"stop\":0}", &tokenizer), ATH_INVALID, "decoder.start: -1");
  assert_fails(load_parts("null", "null", "{\"type\":\"WordPiece\",\"prefix\":1,\"cleanup\":true}",
                          &tokenizer), ATH_INVALID, "decoder.prefix: expected a string");
  assert_fails(load_parts("null", "null", "{\"type\":\"Sequence\",\"decoders\":["
                          "{\"type\":\"CTC\"}]}", &tokenizer), ATH_INVALID,
               "decoder.decoders[0].pad_token");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(byte_letters_become_bytes),
    cmocka_unit_test(named_bytes_become_characters_or_one_mark_each),
    cmocka_unit_test(word_pieces_are_joined_and_cleaned_up),
    cmocka_unit_test(the_suffix_becomes_a_space_but_at_the_end),
    cmocka_unit_test(repeats_and_blanks_of_ctc_go),
    cmocka_unit_test(strip_takes_so_many_from_each_piece),
    cmocka_unit_test(replace_and_fuse_and_sequence),
    cmocka_unit_test(the_first_marks_of_metaspace_go),
    cmocka_unit_test(what_makes_no_decoder_is_refused_with_its_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
