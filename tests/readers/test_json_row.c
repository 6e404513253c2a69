/* test_json_row.c: rows of JSON, found without a tree, beside jansson, which makes one. */
#include "testing.h"

#include <jansson.h>

#include "base/random.h"
#include "base/utf8.h"
#include "readers/json_row.h"

static const char *const seeds[] = {
  "{\"text\": \"a\", \"label\": 1}",
  "{\"label\":-0.5e+3,\"text\":\"two\\nlines \\u00e9\\ud83d\\ude00\",\"\":[1,{\"text\":\"\"},[]]}",
  "{ \"te\\u0078t\" : \"\\\"quoted\\\"\\\\\" , \"label\" : null, \"y\":{\"z\":[true,false,null]} }",
  "{\"text\":\"first\",\"text\":\"\\t\\b\\f\\r\\/second\",\"label\":\"\xC3\xA9\"}",
  "{\"text\":[\"no string\"],\"label\":{\"a\":\"b\"}}",
  "{}",
};
enum { SEEDS = sizeof seeds / sizeof *seeds, ROUNDS = 40000, ROW_MAX = 256, CHANGES = 3 };

/* What jansson refuses though RFC 8259 allows it. */
static bool is_limit(const json_error_t *error) {
  return strstr(error->text, "too big") != NULL || strstr(error->text, "overflow") != NULL ||
         strstr(error->text, "NUL") != NULL;
}

static void compare(const char *row, size_t length, ath_buffer rooms[3]) {
  ath_json_member members[2] = {{.name = "text", .name_length = 4, .room = &rooms[0]},
                                {.name = "label", .name_length = 5, .room = &rooms[1]}};
  bool good;
  json_error_t error;
  assert_ok(ath_json_row(row, length, members, 2, &rooms[2], &good));
  json_t *tree = json_loadb(row, length, JSON_ALLOW_NUL, &error);
  bool wanted = json_is_object(tree);
  if (tree == NULL && is_limit(&error)) return;
  if (good != wanted) fail_msg("%.*s: %d, not %d", (int)length, row, good, wanted);
  for (int i = 0; good && i < 2; i++) {
    const json_t *value = json_object_getn(tree, members[i].name, members[i].name_length);
    assert_int_equal(members[i].kind == ATH_JSON_ABSENT, value == NULL);
    assert_int_equal(members[i].kind == ATH_JSON_STRING, json_is_string(value));
    assert_int_equal(members[i].kind == ATH_JSON_NULL, json_is_null(value));
    if (!json_is_string(value)) continue;
    assert_int_equal(members[i].length, json_string_length(value));
    assert_memory_equal(members[i].bytes, json_string_value(value), members[i].length);
  }
  json_decref(tree);
}

static void changed_rows_are_read_and_refused_as_by_jansson(void **state) {
  (void)state;
  static const char alphabet[] = "{}[]\":,\\ untrfalse0.1eE+-d8DcuxX\t\n/\x01";
  ath_buffer rooms[3];
  for (int i = 0; i < 3; i++) rooms[i] = ath_buffer_make(ROW_MAX * 4);
  for (uint64_t round = 0; round < ROUNDS; round++) {
    char row[ROW_MAX + 1];
    uint32_t bits[4];
    size_t length = strlen(seeds[round % SEEDS]);
    memcpy(row, seeds[round % SEEDS], length);
    for (uint64_t change = 0; change < CHANGES && round >= SEEDS; change++) {
      ath_random(7, ATH_RANDOM_SPLIT, 0, round, change, bits);
      size_t at = bits[0] % length, more = bits[1] % 3;
      if (more == 1 && length > 2) memmove(row + at, row + at + 1, --length - at);
      if (more == 2) memmove(row + at + 1, row + at, length++ - at);
      if (more != 1) row[at] = alphabet[bits[2] % (sizeof alphabet - 1)];
    }
    if (ath_utf8_prefix(row, length) == length) compare(row, length, rooms);
  }
  for (int i = 0; i < 3; i++) ath_buffer_free(&rooms[i]);
}

/* A string of nothing but escapes is passed over once, not once for each. */
static void many_escapes_and_deep_values_take_no_time(void **state) {
  (void)state;
  size_t length = 4 << 20;
  char *row = malloc(length);
  ath_buffer rooms[2] = {ath_buffer_make(length), ath_buffer_make(length)};
  ath_json_member member = {.name = "text", .name_length = 4, .room = &rooms[0]};
  bool good;
  for (size_t i = 0; i < length; i += 2) memcpy(row + i, "\\\"", 2);
  memcpy(row, "{\"text\":\" ", 10);
  memcpy(row + length - 2, "\"}", 2);
  assert_ok(ath_json_row(row, length, &member, 1, &rooms[1], &good));
  assert_true(good);
  assert_int_equal(member.length, 1 + (length - 12) / 2);
  memset(row, '[', length);
  memcpy(row, "{\"text\":", 8);
  assert_ok(ath_json_row(row, length, &member, 1, &rooms[1], &good));
  assert_false(good);
  for (int i = 0; i < 2; i++) ath_buffer_free(&rooms[i]);
  free(row);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(changed_rows_are_read_and_refused_as_by_jansson),
    cmocka_unit_test(many_escapes_and_deep_values_take_no_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
