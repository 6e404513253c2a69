/* test_example.c: tf.train.Example messages: golden bytes, and what other writers may do. */
#include "testing.h"

#include "athanor/tfrecord.h"
#include "base/buffer.h"
#include "base/random.h"
#include "formats/hex.h"
#include "formats/wire.h"

#define GOLDEN                                                      \
  "0a320a190a0e617474656e74696f6e5f6d61736b12071a050a03010101"      \
  "0a150a09696e7075745f69647312081a060a040001ac02"

/* Reads a list of an Example spelled in hex. */
static ath_status read_hex(const char *hex, const char *name, int32_t *values, size_t capacity,
                           size_t *count) {
  uint8_t bytes[512];
  size_t length = from_hex(hex, bytes, sizeof bytes);
  return ath_example_read_int64(bytes, length, name, values, capacity, count);
}

static void an_example_has_the_golden_bytes(void **state) {
  (void)state;
  const int32_t mask[] = {1, 1, 1}, ids[] = {0, 1, 300};
  const ath_int64_feature features[] = {{"attention_mask", mask, 3}, {"input_ids", ids, 3}};
  ath_buffer out = ath_buffer_make(1000);
  assert_ok(ath_example_write(features, 2, &out));
  assert_int_equal(out.length, 52);
  assert_hex(out.bytes, out.length, GOLDEN);
  ath_buffer_free(&out);
}

static void an_empty_list_and_a_negative_number_have_the_golden_bytes(void **state) {
  (void)state;
  const int32_t minus_one = -1;
  ath_buffer out = ath_buffer_make(1000);
  assert_ok(ath_example_write(&(ath_int64_feature){"x", NULL, 0}, 1, &out));
  assert_hex(out.bytes, out.length, "0a0b0a090a017812041a020a00");
  ath_buffer_clear(&out);
  assert_ok(ath_example_write(&(ath_int64_feature){"x", &minus_one, 1}, 1, &out));
  assert_hex(out.bytes, out.length, "0a150a130a0178120e1a0c0a0a ffffffffffffffffff01");
  ath_buffer_free(&out);
}

static void writing_appends_and_keeps_to_the_maximum(void **state) {
  (void)state;
  const int32_t one = 1;
  ath_buffer out = ath_buffer_make(20);
  assert_ok(ath_buffer_string(&out, "before"));
  assert_ok(ath_example_write(&(ath_int64_feature){"x", &one, 1}, 1, &out));
  assert_hex(out.bytes, out.length, "6265666f7265 0a0c0a0a0a017812051a030a0101");
  assert_fails(ath_example_write(&(ath_int64_feature){"x", &one, 1}, 1, &out), ATH_NO_MEMORY,
               "limit of 20");
  ath_buffer_free(&out);
}

static void lists_of_other_writers_are_read(void **state) {
  (void)state;
  static const struct { const char *what, *hex; } cases[] = {
      {"packed", "0a100a0e0a0369647312071a050a0301ac02"},
      {"one field for each value", "0a120a100a0369647312091a07 0801 08ac02 1800"},
      {"packed and unpacked", "0a110a0f0a0369647312081a06 0a0101 08ac02"},
      {"value before key", "0a100a0e12071a050a0301ac020a03696473"},
      {"another feature first", "0a190a070a017812021a00 0a0e0a0369647312071a050a0301ac02"},
      {"unknown fields of every kind",
       "9206026869 0a360a34 9a06017a 0a03696473 a00601 a906 0102030405060708 b506 01020304"
       "120e 7a0101 1a09 1801 0a0301ac02 2001 a30608011806a406"},
      {"features in two parts", "0a070a050a017812000a100a0e0a0369647312071a050a0301ac02"},
      {"the last entry of a name counts",
       "0a1d 0a0b0a0369647312041a020807 0a0e0a0369647312071a050a0301ac02"},
      {"longer varints than needed", "0a120a100a0369647312091a070a058100ac8200"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int32_t values[4] = {0};
    size_t count = 0;
    ath_status status = read_hex(cases[i].hex, "ids", values, 4, &count);
    if (status != ATH_OK || count != 2 || values[0] != 1 || values[1] != 300)
      fail_msg("%s: %s, %zu values: %d %d", cases[i].what, ath_error_text(), count, values[0],
               values[1]);
  }
}

static void an_empty_feature_is_an_empty_list(void **state) {
  (void)state;
  static const char *const cases[] = {"0a0b0a090a017812041a020a00", "0a090a070a017812021a00",
                                      "0a070a050a01781200", "0a050a030a0178"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t count = 9;
    assert_ok(read_hex(cases[i], "x", NULL, 0, &count));
    assert_int_equal(count, 0);
  }
}

static void unusable_lists_are_refused_with_the_reason(void **state) {
  (void)state;
  int32_t values[8];
  size_t count;
  assert_fails(read_hex(GOLDEN, "labels", values, 8, &count), ATH_NOT_FOUND, "\"labels\"");
  assert_fails(read_hex(GOLDEN, "input", values, 8, &count), ATH_NOT_FOUND, "\"input\"");
  assert_fails(read_hex("", "x", values, 8, &count), ATH_NOT_FOUND, "\"x\"");
  assert_fails(read_hex(GOLDEN, "input_ids", values, 2, &count), ATH_INVALID, "more than the 2");
  assert_fails(read_hex("0a0e0a0c0a017812071205 0d0000003f", "x", values, 8, &count), ATH_INVALID,
               "list of floats");
  assert_fails(read_hex("0a0c0a0a0a017812050a030a0161", "x", values, 8, &count), ATH_INVALID,
               "list of byte strings");
  assert_fails(read_hex("0a100a0e0a017812091a070a058080808008", "x", values, 8, &count),
               ATH_INVALID, "value 0 is 2147483648");
}

static void the_ends_of_the_range_are_read(void **state) {
  (void)state;
  const int32_t written[] = {INT32_MIN, -1, 0, 127, 128, 16383, 16384, INT32_MAX};
  int32_t values[8];
  size_t count;
  ath_buffer out = ath_buffer_make(1000);
  assert_ok(ath_example_write(&(ath_int64_feature){"x", written, 8}, 1, &out));
  assert_ok(ath_example_read_int64(out.bytes, out.length, "x", values, 8, &count));
  assert_int_equal(count, 8);
  assert_memory_equal(values, written, sizeof written);
  ath_buffer_free(&out);
}

/* Packed lists are decoded several values at a time, others one by one; both give what was put
 * in, for every mix of lengths. The unpacked message is made of the packed one's varints. */
static void packed_and_unpacked_lists_agree(void **state) {
  (void)state;
  enum { COUNT = 37 };
  ath_buffer packed = ath_buffer_make(4096);
  for (uint64_t turn = 0; turn < 2000; turn++) {
    int32_t written[COUNT], from_packed[COUNT], from_unpacked[COUNT];
    uint8_t list[COUNT * 11], message[COUNT * 11 + 16], *end = list;
    for (uint32_t i = 0; i < COUNT; i++) {
      uint32_t r[4];
      ath_random(11, ATH_RANDOM_SHUFFLE, 0, turn, i, r);
      written[i] = (int32_t)(r[0] >> r[1] % (turn % 2 ? 32 : 12));
      *end++ = 0x08;
      end = ath_wire_put_varint(end, (uint64_t)(int64_t)written[i]);
    }
    size_t length = (size_t)(end - list), count = 0;
    uint8_t *at = message;
    size_t feature = 1 + ath_wire_varint_size(length) + length;
    size_t entry = 3 + 1 + ath_wire_varint_size(feature) + feature;
    at = ath_wire_put_head(at, 1, 1 + ath_wire_varint_size(entry) + entry);
    at = ath_wire_put_head(at, 1, entry);
    memcpy(at, "\x0a\x01x", 3);
    at = ath_wire_put_head(at + 3, 2, feature);
    at = ath_wire_put_head(at, 3, length);
    memcpy(at, list, length);
    assert_ok(ath_example_read_int64(message, (size_t)(at - message) + length, "x", from_unpacked,
                                     COUNT, &count));
    assert_int_equal(count, COUNT);
    assert_memory_equal(from_unpacked, written, sizeof written);

    ath_buffer_clear(&packed);
    assert_ok(ath_example_write(&(ath_int64_feature){"x", written, COUNT}, 1, &packed));
    assert_ok(ath_example_read_int64(packed.bytes, packed.length, "x", from_packed, COUNT, &count));
    assert_int_equal(count, COUNT);
    assert_memory_equal(from_packed, written, sizeof written);
    assert_fails(ath_example_read_int64(packed.bytes, packed.length, "x", from_packed, COUNT - 1,
                                        &count), ATH_INVALID, "more than the 36");
  }
  ath_buffer_free(&packed);
}

static void malformed_messages_are_corrupt(void **state) {
  (void)state;
  static const struct { const char *hex, *text; } cases[] = {
      {"0a", "ends inside a varint"},
      {"0a05", "5 bytes has only 0 left"},
      {"0affffffffffffffffff01", "has only 0 left"},
      {"00", "impossible tag 0"},
      {"0f01", "unknown kind 7"},
      {"0c", "group ends that did not begin"},
      {"0b0801", "group 1 is not closed"},
      {"0b14", "group 1 is not closed"},
      {"0901020304", "inside a number of 8 bytes"},
      {"0a150a130a0178120e1a0c0a0affffffffffffffffff80", "varint"},
      {"0a160a140a0178120f1a0d0a0bffffffffffffffffffff01", "longer than 10 bytes"},
      {"0a0c0a0a0a017812051a030a0281", "2 bytes has only 1 left"},
      {"0a0f0a0d0a017812081a020a001a020a00", "holds two lists"},
      {"0a0b0a090a0178120012021a00", "given twice"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int32_t values[4];
    size_t count;
    assert_fails(read_hex(cases[i].hex, "x", values, 4, &count), ATH_CORRUPT, cases[i].text);
  }
}

typedef struct seen_features {
  char text[256];
  ath_status answer;
} seen_features;

static ath_status note_feature(void *context, const ath_feature_view *feature) {
  seen_features *seen = context;
  size_t used = strlen(seen->text);
  snprintf(seen->text + used, sizeof seen->text - used, "%.*s:%d:%zu ",
           (int)feature->name_length, feature->name, (int)feature->kind, feature->count);
  return seen->answer;
}

static void a_visit_shows_every_kind(void **state) {
  (void)state;
  seen_features seen = {0};
  uint8_t bytes[256];
  size_t length = from_hex(
      "0a3c"
      "0a0d 0a0162 1208 0a060a01610a0162" /* b: two byte strings */
      "0a11 0a0166 120c 120a 0a08 0000003f 0000803f"
      "0a09 0a0169 1204 1a02 0800"
      "0a0b 0a0165 1206 0a04 1801 1801" /* only unknown fields */
      , bytes, sizeof bytes);
  bytes[1] = (uint8_t)(length - 2);
  assert_ok(ath_example_visit(bytes, length, note_feature, &seen));
  assert_string_equal(seen.text, "b:1:2 f:2:2 i:3:1 e:1:0 ");
  seen = (seen_features){.answer = ATH_INTERRUPTED};
  assert_int_equal(ath_example_visit(bytes, length, note_feature, &seen), ATH_INTERRUPTED);
  assert_string_equal(seen.text, "b:1:2 ");
}

/* Random damage, in memory of exactly the message's size so that a sanitizer sees any step
 * beyond it; and every cut of the golden message. */
static void random_damage_never_reads_outside(void **state) {
  (void)state;
  uint8_t golden[64];
  size_t length = from_hex(GOLDEN, golden, sizeof golden);
  for (uint64_t turn = 0; turn < 20000; turn++) {
    uint32_t r[4];
    ath_random(5, ATH_RANDOM_SHUFFLE, 0, turn, 0, r);
    size_t size = turn <= length ? turn : length;
    uint8_t *bytes = malloc(size + (size == 0));
    assert_non_null(bytes);
    memcpy(bytes, golden, size);
    for (uint32_t k = 0; turn > length && k <= r[3] % 4; k++) {
      uint32_t q[4];
      ath_random(5, ATH_RANDOM_SHUFFLE, 0, turn, 1 + k, q);
      bytes[q[0] % size] = (uint8_t)q[1];
    }
    int32_t values[3];
    size_t count = 0;
    ath_status status = ath_example_read_int64(bytes, size, "input_ids", values, 3, &count);
    assert_true(status == ATH_OK ? count <= 3 : status == ATH_CORRUPT || status == ATH_INVALID ||
                                                    status == ATH_NOT_FOUND);
    seen_features seen = {0};
    status = ath_example_visit(bytes, size, note_feature, &seen);
    assert_true(status == ATH_OK || status == ATH_CORRUPT);
    free(bytes);
  }
}

/* Sizes of varints at each border against the bytes written. */
static void a_varint_takes_the_size_announced(void **state) {
  (void)state;
  for (int bit = 0; bit < 64; bit++)
    for (int less = 0; less < 2; less++) {
      uint64_t value = (UINT64_C(1) << bit) - (uint64_t)less, back = 0;
      uint8_t bytes[16];
      size_t size = (size_t)(ath_wire_put_varint(bytes, value) - bytes);
      assert_int_equal(size, ath_wire_varint_size(value));
      ath_wire wire = ath_wire_make(bytes, size);
      assert_ok(ath_wire_varint(&wire, &back));
      assert_true(back == value && wire.at == wire.end);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_example_has_the_golden_bytes),
      cmocka_unit_test(an_empty_list_and_a_negative_number_have_the_golden_bytes),
      cmocka_unit_test(writing_appends_and_keeps_to_the_maximum),
      cmocka_unit_test(lists_of_other_writers_are_read),
      cmocka_unit_test(an_empty_feature_is_an_empty_list),
      cmocka_unit_test(unusable_lists_are_refused_with_the_reason),
      cmocka_unit_test(the_ends_of_the_range_are_read),
      cmocka_unit_test(packed_and_unpacked_lists_agree),
      cmocka_unit_test(malformed_messages_are_corrupt),
      cmocka_unit_test(a_visit_shows_every_kind),
      cmocka_unit_test(random_damage_never_reads_outside),
      cmocka_unit_test(a_varint_takes_the_size_announced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
