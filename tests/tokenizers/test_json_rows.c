/* test_json_rows.c: large objects and arrays are read row by row as jansson reads them, wherever
 * they are in a file, and refused with the place. */
#include "tokenizer_testing.h"

#include "tokenizers/json_rows.h"

/* Rows as text: a key, its length and number each. The plain version makes it of jansson's tree. */
static ath_status rows_of(const char *text, size_t length, ath_buffer *out) {
  ath_buffer file = ath_buffer_make(1 << 20);
  assert_ok(ath_buffer_append(&file, text, length));
  const ath_json root = {.key = "a.json"};
  ath_json_rows rows;
  ath_status status = ath_json_rows_open_file(&root, &file, &rows);
  for (bool more = true; status == ATH_OK;) {
    ath_json_slice key;
    int64_t id;
    status = ath_json_rows_next(&rows, &more, &key);
    if (status != ATH_OK || !more) break;
    assert_ok(ath_buffer_append(out, key.bytes, key.length));
    assert_ok(ath_buffer_format(out, ",%zu:", key.length));
    status = ath_json_rows_integer(&rows, 0, 1000, &id);
    assert_ok(ath_buffer_format(out, "%lld\n", status == ATH_OK ? (long long)id : 0LL));
  }
  ath_json_rows_close(&rows);
  ath_buffer_free(&file);
  return status;
}

/* Whether jansson reads it, as integers in the range. Not compared is what it refuses for reasons
 * of its own, keys with NULs or that are doubled; and −0, which it takes for an integer. */
static bool tree_of(const char *text, size_t length, ath_buffer *out, bool *compared) {
  json_error_t error;
  json_t *tree = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
  *compared = false;
  if (memmem(text, length, "-0", 2) != NULL) {
    json_decref(tree);
    return false;
  }
  *compared = tree != NULL || (json_error_code(&error) != json_error_duplicate_key &&
                               json_error_code(&error) != json_error_null_byte_in_key &&
                               json_error_code(&error) != json_error_null_character);
  bool good = json_is_object(tree);
  const char *key;
  json_t *value;
  if (good) json_object_foreach(tree, key, value) {
    assert_ok(ath_buffer_format(out, "%s,%zu:%lld\n", key, strlen(key),
                                (long long)json_integer_value(value)));
    good = good && json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= 1000;
  }
  json_decref(tree);
  return good;
}

static void agree(const char *text, size_t length) {
  ath_buffer ours = ath_buffer_make(1 << 20), theirs = ath_buffer_make(1 << 20);
  assert_ok(ath_buffer_string(&ours, ""));
  assert_ok(ath_buffer_string(&theirs, ""));
  bool compared, good = tree_of(text, length, &theirs, &compared);
  ath_status status = rows_of(text, length, &ours);
  if (compared && good != (status == ATH_OK))
    fail_msg("%.*s: %s", (int)length, text, status == ATH_OK ? "read" : ath_error_text());
  if (compared && good) assert_string_equal(ours.bytes, theirs.bytes);
  ath_buffer_free(&ours);
  ath_buffer_free(&theirs);
}

static const char *const objects[] = {
  "{}", " { } ", "{\"a\":0}", "{\"a\" : 0 , \"b\":1000}", "\t{\r\n\"\":7}\n",
  "{\"\\\"\\\\\\/\\b\\f\\n\\r\\t\":1,\"\\u00e9\\u20AC\\ud83d\\ude00x\":2,\"\\u0041\":3}",
  "{\"\u0120the\":4,\"\u65E5\u672C\":5,\"\U0001F600\":6,\"long key with many letters\":12}",
};

static void rows_are_those_of_the_tree(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
    agree(objects[i], strlen(objects[i]));
}

static void changed_bytes_are_refused_as_the_tree_refuses_them(void **state) {
  (void)state;
  static const char changes[] = "\"{}[],:0-9e.\\ u\x80\xC3\xED\xF4\x01tn/x";
  char bytes[256];
  for (size_t n = 0; n < sizeof objects / sizeof *objects; n++) {
    size_t length = strlen(objects[n]);
    for (size_t i = 0; i < length; i++) {
      agree(objects[n], i); /* cut */
      for (size_t c = 0; c + 1 < sizeof changes; c++) {
        memcpy(bytes, objects[n], length);
        bytes[i] = changes[c];
        agree(bytes, length);
        memmove(bytes + i + 1, objects[n] + i, length - i); /* put in */
        agree(bytes, length + 1);
      }
      memcpy(bytes, objects[n], length);
      memmove(bytes + i, objects[n] + i + 1, length - i - 1); /* left out */
      agree(bytes, length - 1);
    }
  }
}

static void faults_have_their_byte_and_line(void **state) {
  (void)state;
  static const struct { const char *text, *part; } cases[] = {
    {"", "a.json: not valid JSON: expected { (byte 0, line 1)"},
    {"7", "a.json: expected an object, found an integer"},
    {"{\n\"a\":1,\n\"b\" 2}", "a.json: not valid JSON: expected : (byte 13, line 3)"},
    {"{\"a\":1,}", "expected a key (byte 7, line 1)"},
    {"{\"a\":1 \"b\":2}", "expected , or } (byte 7, line 1)"},
    {"{\"a\":1} x", "the end should be here (byte 8, line 1)"},
    {"{\"a", "the text ends inside a string (byte 3, line 1)"},
    {"{\"a\n\":1}", "a control character inside a string (byte 3, line 1)"},
    {"{\"a\xC3(\":1}", "invalid UTF-8 (byte 3, line 1)"},
    {"{\"\xED\xA0\x80\":1}", "invalid UTF-8 (byte 2, line 1)"},
    {"{\"\\q\":1}", "no such escape (byte 2, line 1)"},
    {"{\"\\u12g4\":1}", "\\u wants four hexadecimal digits (byte 2, line 1)"},
    {"{\"ab\\ud83dx\":1}", "half of a surrogate pair without the other (byte 4, line 1)"},
    {"{\"\\ude00\":1}", "half of a surrogate pair without the other (byte 2, line 1)"},
    {"{\"a\":}", "a value should be here (byte 5, line 1)"},
    {"{\"a\":01}", "a value should be here (byte 5, line 1)"},
    {"{\"a\":\"x\"}", "a.json: a: expected an integer, found a string"},
    {"{\"a\":1e2}", "a.json: a: expected an integer, found a number"},
    {"{\"a\":-1}", "a.json: a: -1 is not between 0 and 1000"},
    {"{\"a\":10000000000000000000000}", "is not between 0 and 1000"},
    {"{\"a\":1e999}", "the number is too large"},
    {"{\"\\u0062\":null}", "a.json: b: expected an integer, found null"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ath_buffer out = ath_buffer_make(1 << 20);
    assert_fails(rows_of(cases[i].text, strlen(cases[i].text), &out), ATH_INVALID, cases[i].part);
    ath_buffer_free(&out);
  }
}

/* --- in a file ----------------------------------------------------------------------------- */

#define VOCAB "{\"a\":0,\"b\":1,\"ab\":2,\"]}\\\"{\":3}"
#define MERGES "[\"a b\"]"
#define DECOY "\"x\":{\"model\":{\"vocab\":[1],\"merges\":{}}},\"y\":\"{\\\"model\\\"\","

static void sections_are_found_wherever_they_are(void **state) {
  (void)state;
  static const char *const files[] = {
    "{\"model\":{\"type\":\"BPE\",\"vocab\":" VOCAB ",\"merges\":" MERGES "}}",
    "{\"model\":{\"merges\":" MERGES ",\"vocab\":" VOCAB ",\"type\":\"BPE\"}}",
    "\xEF\xBB\xBF{" DECOY "\"model\" :\n{\"vocab\" : " VOCAB "\n, \"merges\":" MERGES
    "} , \"decoder\":null}",
    /* Keys spelt oddly: then all is a tree. */
    "{\"mod\\u0065l\":{\"type\":\"BPE\",\"vocab\":" VOCAB ",\"merges\":" MERGES "}}",
    "{\"model\":{\"type\":\"BPE\",\"v\\u006fcab\":" VOCAB ",\"merg\\u0065s\":" MERGES "}}",
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    ath_tokenizer *t = tokenizer_of(files[i]);
    assert_string_equal(shown(t, "abb"), "ab(0,2) b(2,3)");
    assert_int_equal(ath_tokenizer_id(t, "]}\"{"), 3);
    ath_tokenizer_destroy(t);
  }
}

static void faults_around_sections_have_their_place_in_the_file(void **state) {
  (void)state;
  static const struct { const char *json, *part; } cases[] = {
    {"{\"model\":{\"vocab\":{\"a\":0,\n\"b\":1},\"merges\":[\"a b\" ]}, x}", "(byte 54, line 2)"},
    {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[}}", "not valid JSON"},
    {"{\"model\":{\"vocab\":{\"a\":0},\"vocab\":{\"b\":0}}}", "duplicate"},
    {"{\"model\":{\"vocab\":{\"a\":0},\"vocab\":{},\"vocab\":{\"b\":0}}}", "duplicate"},
    {"{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"a\",\"vocab\":{\"a\":0},"
     "\"merges\":[1 2]}}", "(byte 74, line 1)"}, /* nobody reads it */
    {"{\"model\":{\"vocab\":{\"a\":0}\n ,\"merges\":[[\"a\",\"b\",\"c\"]]}}",
     "model.merges[0]: expected two tokens, found 3"},
    {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[[\"a\"\"b\"]]}}", "byte"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ath_tokenizer *t = NULL;
    assert_fails(load_text(cases[i].json, &t), ATH_INVALID, cases[i].part);
  }
}

/* The reference keeps the last id of a token that is there twice. */
static void a_doubled_token_has_its_last_id(void **state) {
  (void)state;
  ath_tokenizer *t = tokenizer_of("{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\","
                                  "\"vocab\":{\"u\":0,\"a\":1,\"b\":2,\"a\":3}}}");
  assert_string_equal(ids_of(t, "a", 0), "3");
  assert_null(ath_tokenizer_token(t, 1));
  assert_string_equal(ath_tokenizer_token(t, 3), "a");
  ath_tokenizer_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_are_those_of_the_tree),
    cmocka_unit_test(changed_bytes_are_refused_as_the_tree_refuses_them),
    cmocka_unit_test(faults_have_their_byte_and_line),
    cmocka_unit_test(sections_are_found_wherever_they_are),
    cmocka_unit_test(faults_around_sections_have_their_place_in_the_file),
    cmocka_unit_test(a_doubled_token_has_its_last_id),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
