/* test_tokenizer_files.c: tokenizer.json and the files beside it: old spellings, corner cases of
 * JSON, what each broken file is told (section H of the log of known failures), and that nothing
 * in a file brings the reader down. */
#include "tokenizer_testing.h"

#include <pthread.h>

#include "base/log.h"

#define ONE_PIECE "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0.0]]}"
#define WITH_VOCAB(vocab) \
  "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":" vocab "}}"

static const char full[] =
    "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":["
    "{\"id\":0,\"content\":\"<unk>\",\"single_word\":false,\"lstrip\":true,\"rstrip\":false,"
    "\"normalized\":false,\"special\":true}],"
    "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Replace\",\"pattern\":"
    "{\"String\":\"``\"},\"content\":\"\\\"\"}]},"
    "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\",\"prepend_scheme\":"
    "\"first\",\"split\":true},"
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\","
    "\"type_id\":0}},{\"SpecialToken\":{\"id\":\"<unk>\",\"type_id\":0}}],\"pair\":[{\"Sequence\":"
    "{\"id\":\"A\",\"type_id\":0}},{\"Sequence\":{\"id\":\"B\",\"type_id\":1}}],"
    "\"special_tokens\":{\"<unk>\":{\"id\":\"<unk>\",\"ids\":[0],\"tokens\":[\"<unk>\"]}}},"
    "\"decoder\":{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\",\"prepend_scheme\":"
    "\"always\",\"split\":true},"
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0.0],[\"a\",-1.5],"
    "[\"\\ud83d\\ude00\",-2e-3],[\"\\u2581a\",-3]],\"byte_fallback\":false}}";

static void refused(const char *json, ath_status status, const char *part) {
  ath_tokenizer *t = NULL;
  assert_fails(load_text(json, &t), status, part);
  assert_null(t);
}

static void old_spellings_of_metaspace_are_read(void **state) {
  (void)state;
  static const struct { const char *part, *shown; } cases[] = {
    {"\"replacement\":\"_\",\"add_prefix_space\":true,\"str_rep\":\"_\"", "_a(0,1)"},
    {"\"replacement\":\"_\",\"add_prefix_space\":false,\"prepend_scheme\":\"never\"", "a(0,1)"},
    {"\"replacement\":\"_\",\"add_prefix_space\":false", "a(0,1)"},
    {"\"replacement\":\"_\",\"add_prefix_space\":true,\"prepend_scheme\":\"never\"", "a(0,1)"},
    {"\"replacement\":\"_\"", "_a(0,1)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"pre_tokenizer\":{\"type\":\"Metaspace\",%s},\"model\":{\"type\":\"Unigram\","
             "\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"_a\",-1],[\"a\",-1]]}}",
             cases[i].part);
    ath_tokenizer *t = tokenizer_of(json);
    assert_string_equal(shown(t, "a"), cases[i].shown);
    ath_tokenizer_destroy(t);
  }
}

static void corner_cases_of_json_are_read(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of(
      "\xEF\xBB\xBF" WITH_VOCAB("[[\"<unk>\",0],[\"\\ud83d\\ude00\",-1e-3],[\"\\u0000\",0],"
                                "[\"\\\"\",-0.0],[\"b\\u0000c\",-1]]"));
  assert_string_equal(shown(t, "\U0001F600"), "\U0001F600(0,1)");
  assert_int_equal(ath_tokenizer_id(t, "\U0001F600"), 1);
  assert_int_equal(ath_tokenizer_id(t, "\""), 3);
  ath_encoding encoding = {0};
  assert_ok(ath_tokenizer_encode(t, "b\0c\0", 4, 0, &encoding));
  assert_int_equal(encoding.length, 2);
  assert_int_equal(encoding.ids[0], 4);
  assert_int_equal(encoding.ids[1], 2);
  ath_encoding_free(&encoding);
  ath_tokenizer_destroy(t);
}

static void broken_json_is_told_with_its_place(void **state) {
  (void)state;
  refused("", ATH_INVALID, "not valid JSON");
  refused("[]", ATH_INVALID, "expected an object, found an array");
  refused("{\"model\":", ATH_INVALID, "byte 9");
  refused("\xEF\xBB\xBF{\"model\":", ATH_INVALID, "byte 12");
  refused(WITH_VOCAB("[[\"\\ud83d\",0]]"), ATH_INVALID, "byte");
  refused(WITH_VOCAB("[[\"\xFF\",0]]"), ATH_INVALID, "byte");
  refused("{\"model\":1,\"model\":2}", ATH_INVALID, "duplicate");
  ath_tokenizer *t = NULL;
  assert_fails(ath_tokenizer_load("/nonexistent/tokenizer.json", &t), ATH_NOT_FOUND,
               "/nonexistent/tokenizer.json");
}

static void a_faulty_model_is_told_with_its_path(void **state) {
  (void)state;
  refused("{}", ATH_INVALID, "tokenizer.json: model: there is no model");
  refused("{\"model\":{}}", ATH_INVALID, "model.vocab: expected an object, found nothing");
  refused("{\"model\":{\"type\":\"Nonsense\"}}", ATH_UNSUPPORTED,
          "\"Nonsense\" is not supported yet (supported: BPE, Unigram, WordLevel, WordPiece)");
  refused("{\"model\":{\"type\":\"Unigram\"}}", ATH_INVALID,
          "model.vocab: expected an array, found nothing");
  refused(WITH_VOCAB("[[\"a\"]]"), ATH_INVALID,
          "model.vocab[0]: expected [piece, score], found 1 values");
  refused(WITH_VOCAB("[[\"a\",0],7]"), ATH_INVALID,
          "model.vocab[1]: expected an array, found an integer");
  refused(WITH_VOCAB("[[\"a\",\"b\"]]"), ATH_INVALID,
          "model.vocab[0][1]: expected a number, found a string");
  refused(WITH_VOCAB("[[null,0]]"), ATH_INVALID,
          "model.vocab[0][0]: expected a string, found null");
  refused(WITH_VOCAB("[[\"a\",0],[\"b\",0],[\"a\",-1]]"), ATH_INVALID,
          "model.vocab[2]: the piece \"a\" is there twice");
  refused(WITH_VOCAB("[]"), ATH_INVALID, "model.unk_id: 0 is not in the vocabulary of 0 pieces");
  refused("{\"model\":{\"type\":\"Unigram\",\"unk_id\":-1,\"vocab\":[[\"a\",0]]}}", ATH_INVALID,
          "model.unk_id: -1 is not between 0 and");
}

static void a_faulty_part_is_told_with_its_path(void **state) {
  (void)state;
  refused("{\"version\":\"2.0\"," ONE_PIECE "}", ATH_UNSUPPORTED, "version: \"2.0\"");
  refused("{\"truncation\":{\"stride\":5}," ONE_PIECE "}", ATH_INVALID,
          "truncation.max_length: expected an integer, found nothing");
  refused("{\"truncation\":{\"max_length\":5,\"strategy\":\"Both\"}," ONE_PIECE "}", ATH_INVALID,
          "truncation.strategy: \"Both\" is not one of LongestFirst, OnlyFirst, OnlySecond");
  refused("{\"truncation\":{\"max_length\":5,\"stride\":5}," ONE_PIECE "}", ATH_INVALID,
          "truncation: stride is 5, but max_length 5 leaves room for 5 tokens");
  refused("{\"padding\":{}," ONE_PIECE "}", ATH_INVALID,
          "padding.strategy: expected a string, found nothing");
  refused("{\"padding\":{\"strategy\":{\"Fixed\":-1}}," ONE_PIECE "}", ATH_INVALID,
          "padding.strategy.Fixed: -1 is not between 1 and");
  refused("{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Replace\","
          "\"pattern\":{\"String\":\"a\"},\"content\":\"\"},{\"type\":\"Nonsense\"}]}," ONE_PIECE
          "}", ATH_UNSUPPORTED,
          "tokenizer.json: normalizer.normalizers[1].type: \"Nonsense\" is not supported yet "
          "(supported: ");
  refused("{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(a\"},\"content\":\"\"}"
          "," ONE_PIECE "}", ATH_INVALID, "normalizer.pattern.Regex");
  refused("{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"ab\"}," ONE_PIECE "}",
          ATH_INVALID, "pre_tokenizer.replacement: expected one character");
  refused("{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":"
          "\"often\"}," ONE_PIECE "}", ATH_INVALID, "pre_tokenizer.prepend_scheme: \"often\"");
  refused("{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":"
          "\"first\",\"add_prefix_space\":false}," ONE_PIECE "}", ATH_INVALID,
          "pre_tokenizer.add_prefix_space: false, but prepend_scheme is \"first\"");
  refused("{\"decoder\":{\"type\":\"Nonsense\"}," ONE_PIECE "}", ATH_UNSUPPORTED,
          "decoder.type: \"Nonsense\"");
  refused("{\"added_tokens\":[{\"id\":0,\"content\":\"x\"},{\"id\":1,\"content\":\"x\"}],"
          ONE_PIECE "}", ATH_INVALID, "added_tokens[1].content: \"x\" is added_tokens[0] already");
  refused("{\"added_tokens\":[{\"content\":\"x\"}]," ONE_PIECE "}", ATH_INVALID,
          "added_tokens[0].id: expected an integer, found nothing");
}

static void a_template_must_refer_to_what_is_there(void **state) {
  (void)state;
#define TEMPLATE(single, tokens)                                                                \
  "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[" single "],\"pair\":[],"   \
  "\"special_tokens\":{" tokens "}}," ONE_PIECE "}"
#define A "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}"
#define X "{\"SpecialToken\":{\"id\":\"X\",\"type_id\":0}}"
  refused(TEMPLATE(A "," X, ""), ATH_INVALID,
          "post_processor.single[1].SpecialToken.id: \"X\" is not in post_processor");
  refused(TEMPLATE("{\"Sequence\":{\"id\":\"B\",\"type_id\":0}}", ""), ATH_INVALID,
          "cannot use $B");
  refused(TEMPLATE(A, "\"X\":{\"id\":\"X\",\"ids\":[1],\"tokens\":[]}"), ATH_INVALID,
          "post_processor.special_tokens.X.tokens: 0 tokens for 1 ids");
  refused(TEMPLATE(A "," X, "\"X\":{\"id\":\"X\",\"ids\":[5],\"tokens\":[\"X\"]}"), ATH_INVALID,
          "the id 5 is in no vocabulary; the tokenizer has 1 ids");
}

/* Messages of the log while a test runs. */
static char heard[2048];
static void hear(void *context, ath_log_level level, const char *text) {
  (void)context;
  (void)level;
  snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%s\n", text);
}

static void what_is_odd_but_harmless_is_warned_of(void **state) {
  (void)state;
  heard[0] = '\0';
  ath_log_set_sink(&(ath_log_sink){.message = hear});
  ath_tokenizer *t = tokenizer_of("{\"colour\":1,\"added_tokens\":[{\"id\":7,\"content\":\"x\"},"
                                  "{\"id\":9,\"content\":\"\"}]," ONE_PIECE "}");
  ath_log_set_sink(NULL);
  assert_non_null(strstr(heard, "tokenizer.json: colour: unknown key, ignored"));
  assert_non_null(strstr(heard, "added_tokens[0].id: 7, but \"x\" gets the id 1"));
  assert_non_null(strstr(heard, "added_tokens[1].content: empty, ignored"));
  assert_int_equal(ath_tokenizer_id(t, "x"), 1);
  ath_tokenizer_destroy(t);
}

static void deep_nesting_is_refused(void **state) {
  (void)state;
  ath_buffer json = ath_buffer_make(1 << 20);
  assert_ok(ath_buffer_string(&json, "{\"normalizer\":"));
  for (int i = 0; i < 500; i++)
    assert_ok(ath_buffer_string(&json, "{\"type\":\"Sequence\",\"normalizers\":["));
  for (int i = 0; i < 500; i++) assert_ok(ath_buffer_string(&json, "]}"));
  assert_ok(ath_buffer_string(&json, "," ONE_PIECE "}"));
  refused(json.bytes, ATH_INVALID, "nested more than");
  ath_buffer_free(&json);
}

static void saving_what_was_loaded_gives_it_again(void **state) {
  (void)state;
  char *folder = make_folder();
  ath_tokenizer *t = tokenizer_of(full), *again = NULL;
  assert_ok(ath_tokenizer_save(t, in_folder(folder, "a/b"), 0));
  assert_ok(ath_tokenizer_load(in_folder(folder, "a/b"), &again));
  assert_string_equal(ath_tokenizer_hash(t), ath_tokenizer_hash(again));
  assert_int_equal(strlen(ath_tokenizer_hash(t)), 64);
  assert_string_equal(shown(again, "a \U0001F600"), shown(t, "a \U0001F600"));
  /* The hash is that of the file, as sha256sum sees it. */
  char command[4200];
  snprintf(command, sizeof command, "echo '%s  %s/a/b/tokenizer.json' | sha256sum -c --status",
           ath_tokenizer_hash(t), folder);
  assert_int_equal(system(command), 0);
  ath_tokenizer_destroy(t);
  ath_tokenizer_destroy(again);
  remove_folder(folder);
}

static void *ask_hash(void *tokenizer) {
  return (void *)(uintptr_t)ath_tokenizer_hash(tokenizer);
}

/* It is computed at the first call, which may come from several threads at once. */
static void the_hash_is_the_same_for_all_threads(void **state) {
  (void)state;
  enum { THREADS = 8 };
  pthread_t threads[THREADS];
  ath_tokenizer *t = tokenizer_of(full), *other = tokenizer_of(full);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, ask_hash, t), 0);
  for (int i = 0; i < THREADS; i++) {
    void *hash = NULL;
    assert_int_equal(pthread_join(threads[i], &hash), 0);
    assert_string_equal(hash, ath_tokenizer_hash(other));
  }
  ath_tokenizer_destroy(t);
  ath_tokenizer_destroy(other);
}

static void the_files_beside_it_name_the_special_tokens(void **state) {
  (void)state;
  static const char tokenizer[] = WITH_VOCAB("[[\"<unk>\",0],[\"[CLS]\",0],[\"q\",0],[\"p\",0]]");
  static const char config[] =
      "{\"cls_token\":\"q\",\"model_max_length\":1000000000000000019884624838656}";
  static const char map[] = "{\"cls_token\":\"p\",\"pad_token\":{\"content\":\"p\"}}";
  char *folder = make_folder();
  const char *path = in_folder(folder, "tokenizer.json");
  assert_ok(ath_file_write(path, tokenizer, strlen(tokenizer)));
  ath_tokenizer *t = NULL;
  assert_ok(ath_tokenizer_load(folder, &t));
  assert_int_equal(ath_tokenizer_special(t, ATH_TOKEN_CLS), 1);
  assert_int_equal(ath_tokenizer_special(t, ATH_TOKEN_PAD), -1);
  ath_tokenizer_destroy(t);
  assert_ok(ath_file_write(in_folder(folder, "tokenizer_config.json"), config, strlen(config)));
  assert_ok(ath_file_write(in_folder(folder, "special_tokens_map.json"), map, strlen(map)));
  assert_ok(ath_tokenizer_load(folder, &t));
  assert_int_equal(ath_tokenizer_special(t, ATH_TOKEN_CLS), 2);
  assert_int_equal(ath_tokenizer_special(t, ATH_TOKEN_PAD), 3);
  assert_int_equal(ath_tokenizer_special(t, ATH_TOKEN_UNK), 0);
  ath_tokenizer_destroy(t);
  remove_folder(folder);
}

/* Whatever the bytes are: an error with a text, or a tokenizer that encodes. */
static void survive(const char *bytes, size_t length) {
  ath_tokenizer *t = NULL;
  if (load_bytes(bytes, length, &t) != ATH_OK) {
    assert_true(strlen(ath_error_text()) > 0);
    return;
  }
  ath_encoding encoding = {0};
  const char *text = "a \U0001F600 ``<unk> a_";
  unsigned flags = ATH_ENCODE_SPECIAL | ATH_ENCODE_OFFSETS | ATH_ENCODE_TOKENS;
  if (ath_tokenizer_encode(t, text, strlen(text), flags, &encoding) == ATH_OK) {
    ath_buffer out = ath_buffer_make(10000);
    assert_ok(ath_tokenizer_decode(t, encoding.ids, encoding.length, 0, &out));
    ath_buffer_free(&out);
  }
  ath_encoding_free(&encoding);
  ath_tokenizer_destroy(t);
}

static void a_file_cut_anywhere_is_refused_or_read(void **state) {
  (void)state;
  for (size_t length = 0; length < sizeof full - 1; length++) {
    ath_tokenizer *t = NULL;
    assert_int_not_equal(load_bytes(full, length, &t), ATH_OK);
  }
  survive(full, sizeof full - 1);
}

static void a_file_with_changed_bytes_is_refused_or_read(void **state) {
  (void)state;
  static const char changes[] = "\"{}[],:0-9e\\ x\x80";
  char bytes[sizeof full];
  for (size_t i = 0; i < sizeof full - 1; i++) {
    memcpy(bytes, full, sizeof full);
    bytes[i] = changes[i % (sizeof changes - 1)];
    survive(bytes, sizeof full - 1);
    memcpy(bytes, full, sizeof full);
    bytes[i] ^= (char)(1 << (i % 8));
    survive(bytes, sizeof full - 1);
    memmove(bytes + i, full + i + 1, sizeof full - 2 - i); /* one byte left out */
    survive(bytes, sizeof full - 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(old_spellings_of_metaspace_are_read),
    cmocka_unit_test(corner_cases_of_json_are_read),
    cmocka_unit_test(broken_json_is_told_with_its_place),
    cmocka_unit_test(a_faulty_model_is_told_with_its_path),
    cmocka_unit_test(a_faulty_part_is_told_with_its_path),
    cmocka_unit_test(a_template_must_refer_to_what_is_there),
    cmocka_unit_test(what_is_odd_but_harmless_is_warned_of),
    cmocka_unit_test(deep_nesting_is_refused),
    cmocka_unit_test(saving_what_was_loaded_gives_it_again),
    cmocka_unit_test(the_hash_is_the_same_for_all_threads),
    cmocka_unit_test(the_files_beside_it_name_the_special_tokens),
    cmocka_unit_test(a_file_cut_anywhere_is_refused_or_read),
    cmocka_unit_test(a_file_with_changed_bytes_is_refused_or_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
