/* test_safetensors.c: what a file of tensors must be, rule by rule, and the bytes written. */
#include "testing.h"

#include "athanor/safetensors.h"
#include "base/buffer.h"
#include "base/random.h"
#include "storage/file.h"

/* Opens and closes a file made of a header and `data_size` zero bytes. */
static ath_status open_made(const char *path, uint64_t length, const char *header,
                            size_t header_size, size_t data_size) {
  ath_buffer file = ath_buffer_make(1 << 20);
  char zeros[64] = {0};
  assert_true(data_size <= sizeof zeros);
  assert_ok(ath_buffer_append(&file, &length, 8));
  assert_ok(ath_buffer_append(&file, header, header_size));
  assert_ok(ath_buffer_append(&file, zeros, data_size));
  assert_ok(ath_file_write(path, file.bytes, file.length));
  ath_buffer_free(&file);
  ath_safetensors *tensors = NULL;
  ATH_TRY(ath_safetensors_open(path, &tensors));
  ath_safetensors_close(tensors);
  return ATH_OK;
}

#define TENSOR(name, dtype, shape, begin, end)                                        \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin \
  "," #end "]}"

typedef struct file_case {
  const char *header;
  size_t data_size;
  const char *fault; /* NULL: accepted */
} file_case;

static void check_cases(const file_case *cases, size_t count) {
  char *folder = make_folder();
  const char *path = in_folder(folder, "model.safetensors");
  for (size_t i = 0; i < count; i++) {
    size_t length = strlen(cases[i].header);
    ath_status status = open_made(path, length, cases[i].header, length, cases[i].data_size);
    if (cases[i].fault == NULL ? status != ATH_OK
                               : status != ATH_CORRUPT ||
                                     strstr(ath_error_text(), cases[i].fault) == NULL)
      fail_msg("%s with %zu bytes: %s: %s, expected: %s", cases[i].header, cases[i].data_size,
               ath_status_name(status), ath_error_text(),
               cases[i].fault != NULL ? cases[i].fault : "accepted");
    if (status != ATH_OK) assert_non_null(strstr(ath_error_text(), path));
  }
  remove_folder(folder);
}
#define CHECK_CASES(cases) check_cases(cases, sizeof cases / sizeof *cases)

static void a_wrong_header_length_is_refused(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "model.safetensors");
  ath_safetensors *tensors = NULL;
  for (size_t size = 0; size < 8; size++) {
    assert_ok(ath_file_write(path, "\2\0\0\0\0\0\0\0", size));
    assert_fails(ath_safetensors_open(path, &tensors), ATH_CORRUPT, "header too small");
  }
  assert_fails(open_made(path, 100000001, "{}", 2, 0), ATH_CORRUPT, "header too large");
  assert_fails(open_made(path, UINT64_MAX, "{}", 2, 0), ATH_CORRUPT, "header too large");
  assert_fails(open_made(path, 100000000, "{}", 2, 0), ATH_CORRUPT, "invalid header length");
  assert_fails(open_made(path, 3, "{}", 2, 0), ATH_CORRUPT, "invalid header length");
  assert_fails(open_made(path, 0, "{}", 2, 0), ATH_CORRUPT, "does not begin with '{'");
  assert_fails(ath_safetensors_open(in_folder(folder, "none"), &tensors), ATH_NOT_FOUND, "none");
  remove_folder(folder);
}

static void a_header_must_be_json_in_utf8(void **state) {
  (void)state;
  static const file_case cases[] = {
      {"\x80\x02}q\x01", 0, "does not begin with '{'"}, /* a pickle */
      {"[]", 0, "does not begin with '{'"},
      {" {}", 0, "does not begin with '{'"},
      {"{", 0, "invalid header"},
      {"{} x", 0, "invalid header"},
      {"{\"\xff\":1}", 0, "invalid header"},
      {"{" TENSOR("\xc3", "F32", "[]", 0, 4) "}", 4, "invalid header"},
      {"{}   ", 0, NULL},
  };
  CHECK_CASES(cases);
}

static void the_tensors_must_cover_the_data_exactly(void **state) {
  (void)state;
  static const file_case cases[] = {
      {"{}", 0, NULL},
      {"{}", 1, "file not fully covered"},
      {"{" TENSOR("a", "F32", "[]", 0, 4) "}", 4, NULL},
      {"{" TENSOR("a", "F32", "[0]", 0, 0) "}", 0, NULL},
      {"{" TENSOR("a", "F32", "[1]", 0, 4) "}", 5, "incomplete metadata, file not fully covered"},
      {"{" TENSOR("a", "F32", "[1]", 0, 4) "}", 3, "invalid offset"},
      {"{" TENSOR("a", "F32", "[1]", 4, 8) "}", 8, "invalid offset"},
      {"{" TENSOR("a", "F32", "[1]", 0, 4) "," TENSOR("b", "F32", "[1]", 8, 12) "}", 12,
       "apart from"},
      {"{" TENSOR("a", "F32", "[1]", 0, 4) "," TENSOR("b", "F32", "[1]", 0, 4) "}", 4, "inside"},
      {"{" TENSOR("a", "F32", "[2]", 0, 8) "," TENSOR("b", "F32", "[1]", 4, 8) "}", 8, "inside"},
      {"{" TENSOR("b", "F32", "[1]", 4, 8) "," TENSOR("e", "F32", "[0]", 4, 4) ","
       TENSOR("a", "F32", "[1]", 0, 4) "}", 8, NULL},
      {"{" TENSOR("a", "F32", "[1]", 4, 0) "}", 4, "invalid offset"},
      {"{" TENSOR("a", "F32", "[1]", -4, 0) "}", 4, "invalid offset"},
      {"{" TENSOR("a", "F32", "[1]", 0, 4.0) "}", 4, "invalid offset"},
      {"{" TENSOR("a", "F32", "[1]", 0, 18446744073709551620) "}", 4, "invalid header"},
      {"{" TENSOR("a", "F32", "[1]", 0, 9223372036854775807) "}", 4, "invalid offset"},
  };
  CHECK_CASES(cases);
}

static void a_shape_must_agree_with_the_bytes(void **state) {
  (void)state;
  static const file_case cases[] = {
      {"{" TENSOR("a", "F32", "[2]", 0, 4) "}", 4, "invalid shape"},
      {"{" TENSOR("a", "F32", "[]", 0, 8) "}", 8, "invalid shape"},
      {"{" TENSOR("a", "F32", "[-1]", 0, 4) "}", 4, "invalid shape"},
      {"{" TENSOR("a", "F32", "[1.0]", 0, 4) "}", 4, "invalid shape"},
      {"{" TENSOR("a", "F32", "[4294967296,4294967296]", 0, 0) "}", 0, "overflows"},
      {"{" TENSOR("a", "F32", "[4611686018427387904]", 0, 0) "}", 0, "overflows"},
      {"{" TENSOR("a", "U8", "[4294967296,4294967296,0]", 0, 0) "}", 0, "overflows"},
      {"{" TENSOR("a", "F32", "[9223372036854775807,2,0]", 0, 0) "}", 0, "overflows"},
      {"{" TENSOR("a", "U8", "[0,4294967296,4294967296]", 0, 0) "}", 0, NULL},
      {"{" TENSOR("a", "F4", "[3]", 0, 1) "}", 1, "whole bytes"},
      {"{" TENSOR("a", "F4", "[4]", 0, 2) "}", 2, NULL},
      {"{" TENSOR("a", "F64", "[2]", 0, 16) "}", 16, NULL},
      {"{" TENSOR("a", "BF16", "[2,2]", 0, 8) "}", 8, NULL},
  };
  CHECK_CASES(cases);
}

static void an_entry_must_be_whole_and_named_once(void **state) {
  (void)state;
  static const file_case cases[] = {
      {"{" TENSOR("a", "F32", "[1]", 0, 4) "," TENSOR("a", "F32", "[1]", 0, 4) "}", 4,
       "invalid header"},
      {"{" TENSOR("a", "F32", "[1]", 0, 4) "," TENSOR("\\u0061", "F32", "[1]", 0, 4) "}", 4,
       "invalid header"},
      {"{" TENSOR("a", "F31", "[1]", 0, 4) "}", 4, "unknown dtype \"F31\""},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "no dtype, shape or data_offsets"},
      {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "no dtype, shape"},
      {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "no dtype"},
      {"{\"a\":{\"dtype\":5,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "no dtype"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}}", 4, "invalid offset"},
      {"{\"a\":[]}", 0, "no dtype"},
      {"{\"__metadata__\":{}}", 0, NULL},
      {"{\"__metadata__\":{\"format\":\"pt\",\"x\":\"y\"}}", 0, NULL},
      {"{\"__metadata__\":{\"format\":1}}", 0, "the value of \"format\" is not a string"},
      {"{\"__metadata__\":\"pt\"}", 0, "is not an object"},
  };
  CHECK_CASES(cases);
}

static void a_deeply_nested_header_is_refused(void **state) {
  (void)state;
  char *folder = make_folder();
  char header[20000] = "{\"a\":";
  memset(header + 5, '[', sizeof header - 5);
  assert_fails(open_made(in_folder(folder, "deep"), sizeof header, header, sizeof header, 0),
               ATH_CORRUPT, "invalid header");
  remove_folder(folder);
}

/* The layout that the reference library writes for one F32 [1, 2] named "a". */
static void a_saved_file_has_the_reference_layout(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "model.safetensors");
  const float numbers[2] = {1, -2};
  const ath_tensor_entry entry = {"a", ath_type_make(ATH_F32, 2, 1, 2), numbers};
  assert_ok(ath_safetensors_save(path, &entry, 1));
  ath_buffer file = ath_buffer_make(1000);
  assert_ok(ath_file_read(path, &file));
  assert_int_equal(file.length, 104);
  assert_memory_equal(file.bytes, "\x58\0\0\0\0\0\0\0", 8);
  static const char header[] =
      "{\"__metadata__\":{\"format\":\"pt\"},"
      "\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}";
  assert_memory_equal(file.bytes + 8, header, sizeof header - 1);
  for (size_t i = 8 + sizeof header - 1; i < 96; i++) assert_int_equal(file.bytes[i], ' ');
  assert_memory_equal(file.bytes + 96, numbers, 8);
  ath_buffer_free(&file);
  remove_folder(folder);
}

static void what_is_saved_comes_back(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "model.safetensors");
  const float weights[6] = {1, 2, 3, 4, 5, 6}, scalar = 0.5f;
  const uint16_t halves[3] = {0x3f80, 0x4000, 0xc000};
  const int32_t integers[2] = {-1, 7};
  const uint32_t words[1] = {0xdeadbeef};
  const ath_tensor_entry entries[] = {
      {"b \"quoted\"\n\xc3\xa9", ath_type_make(ATH_BF16, 1, 3), halves},
      {"z", ath_type_make(ATH_F32, 2, 2, 3), weights},
      {"i", ath_type_make(ATH_I32, 1, 2), integers},
      {"a", ath_type_make(ATH_F32, 0), &scalar},
      {"u", ath_type_make(ATH_U32, 5, 1, 1, 1, 1, 1), words},
      {"empty", ath_type_make(ATH_F32, 2, 0, 9), NULL},
  };
  static const int order[] = {3, 5, 1, 4, 2, 0};
  assert_ok(ath_safetensors_save(path, entries, 6));
  ath_safetensors *tensors = NULL;
  assert_ok(ath_safetensors_open(path, &tensors));
  assert_int_equal(ath_safetensors_count(tensors), 6);
  for (size_t i = 0; i < 6; i++) {
    const ath_tensor_entry *expected = &entries[order[i]], *got = ath_safetensors_at(tensors, i);
    assert_string_equal(got->name, expected->name);
    assert_true(ath_type_equal(&got->type, &expected->type));
    assert_ptr_equal(ath_safetensors_find(tensors, expected->name), got);
    size_t bytes = ath_type_bytes(&got->type);
    if (bytes > 0) assert_memory_equal(got->data, expected->data, bytes);
  }
  assert_null(ath_safetensors_find(tensors, "b"));
  ath_safetensors_close(tensors);
  remove_folder(folder);
}

static void unsupported_types_are_not_listed(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "model.safetensors");
  static const char header[] =
      "{" TENSOR("half", "F16", "[2]", 0, 4) "," TENSOR("deep", "F32", "[1,1,1,1,1,1]", 4, 8) ","
      TENSOR("ok", "F32", "[1]", 8, 12) "}";
  assert_ok(open_made(path, sizeof header - 1, header, sizeof header - 1, 12));
  ath_safetensors *tensors = NULL;
  assert_ok(ath_safetensors_open(path, &tensors));
  assert_int_equal(ath_safetensors_count(tensors), 1);
  assert_string_equal(ath_safetensors_at(tensors, 0)->name, "ok");
  assert_null(ath_safetensors_find(tensors, "half"));
  ath_safetensors_close(tensors);
  remove_folder(folder);
}

static void bad_names_are_not_saved(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "model.safetensors");
  const float number = 1;
  const int32_t integer = 1;
  const ath_tensor_entry twice[] = {{"a", ath_type_make(ATH_F32, 0), &number},
                                    {"b", ath_type_make(ATH_F32, 0), &number},
                                    {"a", ath_type_make(ATH_I32, 0), &integer}};
  assert_fails(ath_safetensors_save(path, twice, 3), ATH_INVALID, "two tensors are named \"a\"");
  const ath_tensor_entry reserved = {"__metadata__", ath_type_make(ATH_F32, 0), &number};
  assert_fails(ath_safetensors_save(path, &reserved, 1), ATH_INVALID, "__metadata__");
  const ath_tensor_entry broken = {"\xff", ath_type_make(ATH_F32, 0), &number};
  assert_fails(ath_safetensors_save(path, &broken, 1), ATH_INVALID, "cannot be a tensor's name");
  assert_false(ath_path_exists(path));
  assert_ok(ath_safetensors_save(path, NULL, 0));
  assert_fails(ath_safetensors_save(in_folder(folder, "no/such"), twice, 2), ATH_NOT_FOUND, "such");
  remove_folder(folder);
}

static void random_damage_never_reads_outside(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "model.safetensors");
  const float numbers[4] = {1, 2, 3, 4};
  const ath_tensor_entry entries[] = {{"first", ath_type_make(ATH_F32, 1, 3), numbers},
                                      {"second", ath_type_make(ATH_F32, 0), numbers + 3}};
  assert_ok(ath_safetensors_save(path, entries, 2));
  ath_buffer file = ath_buffer_make(1000);
  assert_ok(ath_file_read(path, &file));
  for (uint64_t turn = 0; turn < 4000; turn++) {
    char damaged[1000];
    uint32_t r[4];
    memcpy(damaged, file.bytes, file.length);
    ath_random(9, ATH_RANDOM_SHUFFLE, 0, turn, 0, r);
    for (uint32_t k = 0; k <= r[0] % 3; k++) {
      uint32_t q[4];
      ath_random(9, ATH_RANDOM_SHUFFLE, 0, turn, 1 + k, q);
      const char digits[] = "0123456789[]{},\":- ";
      damaged[q[0] % (file.length - 16)] =
          q[1] % 2 ? (char)q[2] : digits[q[2] % (sizeof digits - 1)];
    }
    assert_ok(ath_file_write(path, damaged, r[1] % 4 == 0 ? r[2] % file.length : file.length));
    ath_safetensors *tensors = NULL;
    if (ath_safetensors_open(path, &tensors) != ATH_OK) continue;
    float sum = 0; /* every listed byte can be read */
    for (size_t i = 0; i < ath_safetensors_count(tensors); i++) {
      const ath_tensor_entry *entry = ath_safetensors_at(tensors, i);
      for (size_t b = 0; b < ath_type_bytes(&entry->type); b++)
        sum += (float)((const uint8_t *)entry->data)[b];
    }
    assert_true(sum >= 0);
    ath_safetensors_close(tensors);
  }
  ath_buffer_free(&file);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_wrong_header_length_is_refused),
      cmocka_unit_test(a_header_must_be_json_in_utf8),
      cmocka_unit_test(the_tensors_must_cover_the_data_exactly),
      cmocka_unit_test(a_shape_must_agree_with_the_bytes),
      cmocka_unit_test(an_entry_must_be_whole_and_named_once),
      cmocka_unit_test(a_deeply_nested_header_is_refused),
      cmocka_unit_test(a_saved_file_has_the_reference_layout),
      cmocka_unit_test(what_is_saved_comes_back),
      cmocka_unit_test(unsupported_types_are_not_listed),
      cmocka_unit_test(bad_names_are_not_saved),
      cmocka_unit_test(random_damage_never_reads_outside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
