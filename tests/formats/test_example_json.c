/* test_example_json.c: Examples as JSON: every kind, what is ambiguous, what is refused. */
#include "testing.h"

#include "base/buffer.h"
#include "formats/example_json.h"
#include "formats/hex.h"

static void to_json(const char *hex, const char *expected) {
  uint8_t bytes[512];
  size_t length = from_hex(hex, bytes, sizeof bytes);
  ath_buffer out = ath_buffer_make(1 << 16);
  assert_ok(ath_example_to_json(bytes, length, &out));
  assert_string_equal(out.bytes, expected);
  ath_buffer_free(&out);
}

static ath_status from_json(const char *text, ath_buffer *out) {
  ath_buffer_clear(out);
  return ath_example_from_json(text, strlen(text), out);
}

static void every_kind_has_its_json_and_bytes(void **state) {
  (void)state;
  static const struct { const char *hex, *json; } cases[] = {
      {"0a00", "{}"},
      {"0a0c0a0a0a017812051a030a0101", "{\"x\": [1]}"},
      {"0a0b0a090a017812041a020a00", "{\"x\": {\"int64\": []}}"},
      {"0a0b0a090a0178120412020a00", "{\"x\": {\"float\": []}}"},
      {"0a090a070a017812020a00", "{\"x\": {\"bytes\": []}}"},
      {"0a070a050a01781200", "{\"x\": null}"},
      {"0a150a130a0178120e1a0c0a0affffffffffffffffff01", "{\"x\": [-1]}"},
      {"0a130a110a0178120c120a0a080000003f0000803f", "{\"x\": [0.5, 1.0]}"},
      {"0a0f0a0d0a017812081206 0a04 0000c07f", "{\"x\": {\"float\": [\"NaN\"]}}"},
      {"0a130a110a0178120c120a0a08 0000807f 000080ff",
       "{\"x\": {\"float\": [\"Infinity\", \"-Infinity\"]}}"},
      {"0a0f0a0d0a017812080a06 0a0161 0a0162", "{\"x\": [\"a\", \"b\"]}"},
      {"0a0e0a0c0a017812070a05 0a01ff 0a00", "{\"x\": [{\"base64\": \"/w==\"}, \"\"]}"},
      {"0a0b0a090a0012050a030a0161", "{\"\": [\"a\"]}"},
  };
  ath_buffer out = ath_buffer_make(1 << 16);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    to_json(cases[i].hex, cases[i].json);
    assert_ok(from_json(cases[i].json, &out));
    assert_hex(out.bytes, out.length, cases[i].hex);
  }
  ath_buffer_free(&out);
}

static void of_two_entries_the_last_counts_in_any_order(void **state) {
  (void)state;
  to_json("0a160a090a017812041a0208070a090a017812041a020809", "{\"x\": [9]}");
  /* Feature lists before the context, and a name there that both have. */
  to_json("12110a0f0a0178120a0a041a0208010a021a00" "0a0b0a090a017812041a020803",
          "{\"sequence_example\": {\"context\": {\"x\": [3]}, \"feature_lists\": "
          "{\"x\": [[1], {\"int64\": []}]}}}");
}

static void a_sequence_example_has_its_bytes(void **state) {
  (void)state;
  ath_buffer out = ath_buffer_make(1 << 16);
  assert_ok(from_json("{\"sequence_example\": {\"context\": {\"i\": [5]}, \"feature_lists\": "
                      "{\"s\": [[1], null, [\"a\"]], \"t\": []}}}", &out));
  assert_hex(out.bytes, out.length,
             "0a0c0a0a0a016912051a030a0105"
             "121e 0a150a01731210 0a051a030a0101 0a00 0a050a030a0161 0a050a01741200");
  /* An Example's feature of that name is none. */
  assert_ok(from_json("{\"sequence_example\": [1]}", &out));
  assert_ok(from_json("{\"sequence_example\": {\"int64\": []}}", &out));
  ath_buffer_free(&out);
}

static void a_single_value_is_a_list_of_one(void **state) {
  (void)state;
  ath_buffer one = ath_buffer_make(1 << 16), list = ath_buffer_make(1 << 16);
  assert_ok(from_json("{\"a\": 1, \"b\": 0.5, \"c\": \"x\", \"d\": {\"base64\": \"AP8=\"}}", &one));
  assert_ok(from_json("{\"a\": [1], \"b\": [0.5], \"c\": [\"x\"], \"d\": [{\"base64\": \"AP8=\"}]}",
                      &list));
  assert_int_equal(one.length, list.length);
  assert_memory_equal(one.bytes, list.bytes, one.length);
  ath_buffer_free(&one);
  ath_buffer_free(&list);
}

static void what_is_no_message_is_refused_with_the_reason(void **state) {
  (void)state;
  static const struct { const char *json, *part; } cases[] = {
      {"{\"x\": [1}", "not JSON at its character"},
      {"[1]", "not a JSON object"},
      {"{\"x\": 1, \"x\": 2}", "duplicate"},
      {"{\"x\": []}", "feature \"x\": an empty list has no kind"},
      {"{\"x\": [1, \"a\"]}", "byte strings holds something else"},
      {"{\"x\": [[1]]}", "integers holds something else"},
      {"{\"x\": true}", "true and false"},
      {"{\"x\": [1, true]}", "integers holds something else"},
      {"{\"x\": {\"int64\": [0.5]}}", "integers holds something else"},
      {"{\"x\": {\"float\": [\"nan\"]}}", "floats holds something else"},
      {"{\"x\": [1e39]}", "too large for a float"},
      {"{\"x\": [9223372036854775808]}", "too big integer"},
      {"{\"x\": [{\"base64\": \"?\"}]}", "base64 is malformed"},
      {"{\"x\": [{\"base64\": \"AP8=\", \"y\": 1}]}", "byte strings holds something else"},
      {"{\"sequence_example\": {\"context\": {}}}", "two objects"},
      {"{\"sequence_example\": {\"context\": {}, \"feature_lists\": {\"x\": 1}}}", "of lists"},
      {"{\"sequence_example\": {\"context\": {}, \"feature_lists\": {\"x\": [[1], [true]]}}}",
       "step 1"},
  };
  ath_buffer out = ath_buffer_make(1 << 16);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_fails(from_json(cases[i].json, &out), ATH_INVALID, cases[i].part);
  ath_buffer_free(&out);
}

static void malformed_messages_are_refused(void **state) {
  (void)state;
  uint8_t bytes[64];
  ath_buffer out = ath_buffer_make(1 << 16);
  size_t length = from_hex("0a0e0a0c0a017812071205 0a03 000000", bytes, sizeof bytes);
  assert_fails(ath_example_to_json(bytes, length, &out), ATH_CORRUPT, "3 bytes");
  length = from_hex("0a070a050a01ff1200", bytes, sizeof bytes);
  assert_fails(ath_example_to_json(bytes, length, &out), ATH_INVALID, "name is not UTF-8");
  ath_buffer_free(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_has_its_json_and_bytes),
      cmocka_unit_test(of_two_entries_the_last_counts_in_any_order),
      cmocka_unit_test(a_sequence_example_has_its_bytes),
      cmocka_unit_test(a_single_value_is_a_list_of_one),
      cmocka_unit_test(what_is_no_message_is_refused_with_the_reason),
      cmocka_unit_test(malformed_messages_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
