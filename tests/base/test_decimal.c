/* test_decimal.c: decimal numbers are read as strtod reads them, to the last bit. */
#include "testing.h"

#include <math.h>

#include "base/decimal.h"

static void agrees(const char *text) {
  double found = 0, expected;
  bool whole;
  char *end;
  expected = strtod(text, &end);
  const char *after = ath_decimal_read(text, &found, &whole);
  if (after != end || memcmp(&found, &expected, sizeof found) != 0)
    fail_msg("%s: %.17g, not %.17g", text, found, expected);
  assert_int_equal(whole, strpbrk(text, ".eE") == NULL);
}

static uint64_t next_random(void) {
  static uint64_t state = 88172645463325252u; /* xorshift64, Marsaglia 2003 */
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static void usual_and_odd_numbers_are_read(void **state) {
  (void)state;
  static const char *const texts[] = {
    "0", "-0", "0.0", "-0.0", "7", "-13", "-2.0122928619384766", "-1e-3", "1e23", "8.5e22", "1e22",
    "9007199254740993", "9007199254740992.9999999999", "18446744073709551615",
    "18446744073709551616", "0.1e-27", "123456789012345678901234567890", "4.9e-324", "2.4e-324",
    "1.7976931348623157e308", "1e400", "-1e400", "1e-400", "0e99999999999", "1E+5", "1.5E-07",
    "0.000000000000000000000000000000000001", "2.2250738585072011e-308", "1e99999999999999999999",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) agrees(texts[i]);
}

static void random_numbers_are_read(void **state) {
  (void)state;
  char text[64];
  for (int i = 0; i < 300000; i++) {
    uint64_t bits = next_random();
    int digits = (int)(next_random() % 21), power = (int)(next_random() % 60) - 30;
    snprintf(text, sizeof text, "-%.*f", digits, (double)(bits >> 11) / (double)(1ull << 53) * 30);
    agrees(text);
    snprintf(text, sizeof text, "%llue%d", (unsigned long long)(bits >> (bits & 63)), power);
    agrees(text);
  }
}

/* Halfway between two doubles, and just beside: where rounding twice would go wrong. */
static void numbers_halfway_between_doubles_are_read(void **state) {
  (void)state;
  char text[64];
  for (int i = 0; i < 100000; i++) {
    uint64_t middle = (next_random() >> 11 | 1ull << 52) * 2 + 1; /* 54 bits */
    for (int beside = -1; beside <= 1; beside++) {
      snprintf(text, sizeof text, "%llu.%d", (unsigned long long)middle - (beside < 0),
               beside == 0 ? 0 : beside < 0 ? 9 : 1);
      agrees(text);
      snprintf(text, sizeof text, "%llu", ((unsigned long long)middle << 10) + (unsigned)beside);
      agrees(text);
    }
  }
}

static void what_is_no_number_is_refused(void **state) {
  (void)state;
  static const char *const texts[] = {"", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "01", "-01",
                                      "nan", "inf", "-Infinity", "0x10", " 1"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    double value;
    bool whole;
    const char *end = ath_decimal_read(texts[i], &value, &whole);
    if (strcmp(texts[i], "0x10") == 0) assert_string_equal(end, "x10"); /* as JSON has it */
    else assert_null(end);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(usual_and_odd_numbers_are_read),
    cmocka_unit_test(random_numbers_are_read),
    cmocka_unit_test(numbers_halfway_between_doubles_are_read),
    cmocka_unit_test(what_is_no_number_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
