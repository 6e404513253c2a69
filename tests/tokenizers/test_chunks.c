/* test_chunks.c: ids that come from a text's chunks are those of the whole pipeline, which finds
 * them wherever words are numbered too. */
#include "tokenizer_testing.h"

#include "base/random.h"
#include "tokenizers/tokenizer.h"

enum { TEXTS = 600, PARTS_MAX = 60 };

#define REPLACE(string, content) \
  "{\"type\":\"Replace\",\"pattern\":{\"String\":\"" string "\"},\"content\":\"" content "\"}"
#define NORMALIZERS(list) "{\"type\":\"Sequence\",\"normalizers\":[" list "]}"
#define BERT(lower, accents) \
  "{\"type\":\"BertNormalizer\",\"clean_text\":" lower ",\"handle_chinese_chars\":true," \
  "\"strip_accents\":" accents ",\"lowercase\":" lower "}"
#define TYPE(name) "{\"type\":\"" name "\"}"
#define METASPACE(scheme) \
  "{\"type\":\"Metaspace\",\"replacement\":\"▁\",\"prepend_scheme\":\"" scheme "\"}"
#define CUTTERS(list) "{\"type\":\"Sequence\",\"pretokenizers\":[" list "]}"

static const char *const normalizers[] = {
  "null", BERT("true", "null"), BERT("false", "false"), BERT("false", "true"), TYPE("NFC"),
  TYPE("NFD"), TYPE("NFKC"), TYPE("NFKD"), TYPE("Nmt"),
  NORMALIZERS(REPLACE("``", "\\\"") "," REPLACE("''", "\\\"") "," REPLACE("a", " .")),
  NORMALIZERS(TYPE("NFKD") "," TYPE("StripAccents") "," TYPE("Lowercase")),
  NORMALIZERS(TYPE("NFC") "," REPLACE("=", "x")), NORMALIZERS(TYPE("Nmt") "," TYPE("NFC")),
};
static const char *const pre_tokenizers[] = {
  TYPE("BertPreTokenizer"), TYPE("Whitespace"), TYPE("WhitespaceSplit"), METASPACE("always"),
  METASPACE("never"), CUTTERS(TYPE("WhitespaceSplit") "," METASPACE("always")),
    CUTTERS(TYPE("WhitespaceSplit") "," "{\"type\":\"Digits\",\"individual_digits\":true}"),
};
enum {
  NORMALIZERS_COUNT = sizeof normalizers / sizeof *normalizers,
  CUTTERS_COUNT = sizeof pre_tokenizers / sizeof *pre_tokenizers,
};

/* Words that come again, and what may stand between them: borders, what only looks like one, and
 * what joins its neighbours. */
static const char *const parts[] = {
  " ", " ", " ", " ", "  ", "   ", "a", "ab", "Ab", "word", "Word", "longer", "fifteen_letters",
  "sixteen_letters_", "twenty-four-letters-long", "\xC3\xA9", "e\xCC\x81", "\xCC\x81", ",", ".",
  ", ", ". ", "=", "=\xCC\xB8", "<", "\xCC\xB8", "``", "''", "'", "(", ")", "-", "\t", "\n", "\r\n",
  "\x01", "\x7F", "\xC2\xA0", "\xE3\x80\x80", "\xE4\xBD\xA0", "\xE5\xA5\xBD", "\xE2\x96\x81", "_",
  "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD", "\xE2\x80\x8D", "\xEF\xAC\x81", "\xC2\xB4", "1", "42",
  "\u3400", "\u4DBF", "\u4DC0", "\u4E00", "\u4E00\u0301", "\u9FFF", "\uA000", "\uF900",
  "\u4F60\u597D\u4E16\u754C", "\uAC00", "\u3042", "\xD8\x80", "\xE2\x80\x8B", "[X]", "x",
  "0123456789", "abababab",
};

static void add_piece(ath_buffer *json, const char *piece) {
  assert_ok(ath_buffer_format(json, ",[\"%s\",-%zu.5]", piece, 20 - strlen(piece)));
}

/* Characters that it does not know are bytes; pieces that span a cut that must not be, or are cut
 * by one, tell where cuts are. */
static void write_unigram(ath_buffer *json) {
  assert_ok(ath_buffer_string(json, "{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,"
                              "\"vocab\":[[\"<unk>\",-30.0],[\"[X]\",-9.0]"));
  static const char *const pieces[] = {
    "a", "b", "ab", "word", "wor", "▁word", "▁a", "▁", " ", " a", "a ", ", ", ",a", ".", ",",
    "a,", "''", "'", "=a", "a=", "é", "é ", " é", "1", "42", "ab▁", "x",
  };
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) add_piece(json, pieces[i]);
  for (unsigned byte = 0; byte < 256; byte++)
    assert_ok(ath_buffer_format(json, ",[\"<0x%02X>\",-20.0]", byte));
  assert_ok(ath_buffer_string(json, "]}"));
}

static void write_wordpiece(ath_buffer *json) {
  assert_ok(ath_buffer_string(json, "{\"type\":\"WordPiece\",\"max_input_chars_per_word\":20,"
                              "\"vocab\":{\"[UNK]\":0,\"[X]\":1"));
  for (unsigned c = 0x21; c < 0x7F; c++)
    if (c != '"' && c != '\\')
      assert_ok(ath_buffer_format(json, ",\"%c\":%u,\"##%c\":%u", c, c, c, c + 128));
  assert_ok(ath_buffer_string(json, ",\"word\":300,\"##ab\":301,\"é\":302,\"##é\":303,\"▁\":304,"
                              "\"##▁\":305,\"你\":306}}"));
}

static ath_tokenizer *make(const char *normalizer, const char *pre_tokenizer,
                           void write_model(ath_buffer *)) {
  ath_buffer json = ath_buffer_make(1 << 16);
  assert_ok(ath_buffer_format(&json, "{\"added_tokens\":[{\"id\":1,\"content\":\"[X]\"}],"
                              "\"normalizer\":%s,\"pre_tokenizer\":%s,\"model\":", normalizer,
                              pre_tokenizer));
  write_model(&json);
  assert_ok(ath_buffer_string(&json, "}"));
  ath_tokenizer *tokenizer = NULL;
  assert_ok(load_bytes(json.bytes, json.length, &tokenizer));
  ath_buffer_free(&json);
  return tokenizer;
}

static size_t random_text(uint32_t number, char *out) {
  static const uint32_t key[2] = {5, 25};
  uint32_t n[4];
  ath_philox((const uint32_t[4]){number, 0, 0, 0}, key, n);
  size_t length = 0, count = n[0] % PARTS_MAX;
  for (uint32_t i = 1; i <= count; i++) {
    ath_philox((const uint32_t[4]){number, i, 0, 0}, key, n);
    const char *part = parts[n[0] % (n[1] % 4 == 0 ? sizeof parts / sizeof *parts : 16)];
    memcpy(out + length, part, strlen(part));
    length += strlen(part);
  }
  return length;
}

/* The texts lie in memory of their exact size, so that a sanitizer sees who reads past it. */
static void assert_same_ids(const ath_tokenizer *tokenizer, const char *name) {
  ath_encoding alone = {0}, whole = {0};
  for (uint32_t i = 0; i < TEXTS; i++) {
    char text[PARTS_MAX * 32];
    size_t length = random_text(i, text);
    char *exact = malloc(length + 1);
    assert_non_null(exact);
    memcpy(exact, text, length);
    assert_ok(ath_tokenizer_encode(tokenizer, exact, length, 0, &alone));
    assert_ok(ath_tokenizer_encode(tokenizer, exact, length, ATH_ENCODE_WORDS, &whole));
    free(exact);
    bool same = alone.length == whole.length &&
                (alone.length == 0 ||
                 memcmp(alone.ids, whole.ids, alone.length * sizeof *alone.ids) == 0);
    if (!same) fail_msg("%s: other ids for \"%.*s\"", name, (int)length, text);
  }
  ath_encoding_free(&alone);
  ath_encoding_free(&whole);
}

static void chunks_become_what_the_pipeline_makes_of_them(void **state) {
  (void)state;
  size_t cut = 0;
  for (size_t n = 0; n < NORMALIZERS_COUNT; n++)
    for (size_t p = 0; p < CUTTERS_COUNT; p++)
      for (int m = 0; m < 2; m++) {
        ath_tokenizer *tokenizer = make(normalizers[n], pre_tokenizers[p],
                                        m == 0 ? write_unigram : write_wordpiece);
        char name[1024];
        snprintf(name, sizeof name, "%s, %s, %s", normalizers[n], pre_tokenizers[p],
                 m == 0 ? "Unigram" : "WordPiece");
        cut += tokenizer->chunking.possible;
        assert_same_ids(tokenizer, name);
        ath_tokenizer_destroy(tokenizer);
      }
  assert_int_equal(cut, NORMALIZERS_COUNT * CUTTERS_COUNT * 2);
}

static void assert_no_chunks(const char *normalizer, const char *pre_tokenizer, bool none) {
  ath_tokenizer *tokenizer = make(normalizer, pre_tokenizer, write_unigram);
  assert_int_equal(tokenizer->chunking.possible, !none);
  ath_tokenizer_destroy(tokenizer);
}

/* "a" put in front of every text, white space taken from its ends, a match that spans spaces, a
 * mark that only the input's beginning gets, and words that spaces do not end. */
static void texts_whose_parts_depend_on_others_are_not_cut(void **state) {
  (void)state;
  assert_no_chunks("null", TYPE("WhitespaceSplit"), false);
  assert_no_chunks("{\"type\":\"Prepend\",\"prepend\":\"a\"}", TYPE("WhitespaceSplit"), true);
  assert_no_chunks("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}",
                   TYPE("WhitespaceSplit"), true);
  assert_no_chunks("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a.b\"},\"content\":\"\"}",
                   TYPE("WhitespaceSplit"), true);
  assert_no_chunks(REPLACE("a b", ""), METASPACE("always"), true);
  assert_no_chunks("null", METASPACE("first"), true);
  assert_no_chunks("null", CUTTERS(TYPE("WhitespaceSplit") "," METASPACE("first")), true);
  assert_no_chunks("null", TYPE("Punctuation"), true);
  assert_no_chunks("null", "null", true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(chunks_become_what_the_pipeline_makes_of_them),
    cmocka_unit_test(texts_whose_parts_depend_on_others_are_not_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
