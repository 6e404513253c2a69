/* test_json_number.c: numbers become the doubles that the tokenizers library makes of them. Those
 * here are what its version 0.23.3 wrote for the scores of a Unigram model; test_random_models.py
 * asks it about thousands more. */
#include "testing.h"

#include <math.h>

#include "base/buffer.h"
#include "tokenizers/json_number.h"

static double value_of(const char *text) {
  double found = 0;
  bool whole;
  const char *after = ath_json_number_read(text, &found, &whole);
  assert_non_null(after);
  assert_string_equal(after, "");
  assert_int_equal(whole, strpbrk(text, ".eE") == NULL);
  return found;
}

static void long_numbers_are_read_as_the_reference_reads_them(void **state) {
  (void)state;
  static const struct { const char *text; double value; } cases[] = {
    {"0", 0x0.0p+0},
    {"-0", -0x0.0p+0},
    {"0.0", 0x0.0p+0},
    {"-0.0", -0x0.0p+0},
    {"7", 0x1.c000000000000p+2},
    {"-13", -0x1.a000000000000p+3},
    {"-1e-3", -0x1.0624dd2f1a9fcp-10},
    {"1E+5", 0x1.86a0000000000p+16},
    {"1.5E-07", 0x1.421f5f40d8376p-23},
    {"-2.0122928619384766", -0x1.0192d00000001p+1},
    {"-9.999999999999999", -0x1.4000000000000p+3},
    {"1e23", 0x1.52d02c7e14af6p+76},
    {"8.5e22", 0x1.1ffdbf6b2b2ebp+76},
    {"9007199254740993", 0x1.0000000000000p+53},
    {"9007199254740992.9999999999", 0x1.0000000000001p+53},
    {"18446744073709551615", 0x1.0000000000000p+64},
    {"18446744073709551616", 0x1.0000000000000p+64},
    {"18446744073709551617.3", 0x1.0000000000000p+64},
    {"18446744073709551617.7", 0x1.0000000000000p+64},
    {"123456789012345678901234567890", 0x1.8ee90ff6c373ep+96},
    {"123456789012345678901234567890e-12", 0x1.b69b4ba630f34p+56},
    {"0.1e-27", 0x1.fb0f6be50601ap-94},
    {"0.000000000000000000000000000000000001", 0x1.54484932d2e72p-120},
    {"2.2250738585072011e-308", 0x1.0000000000000p-1022},
    {"4.9e-324", 0x0.0000000000001p-1022},
    {"2.4e-324", 0x0.0p+0},
    {"1e-400", 0x0.0p+0},
    {"12345678901234567890e-330", 0x0.00245cbaec7bap-1022},
    {"0e99999999999", 0x0.0p+0},
    {"-1e-99999999999", -0x0.0p+0},
    {"1.7976931348623157e308", 0x1.fffffffffffffp+1023},
    {"0.12345678901234567890123", 0x1.f9add3746f65fp-4},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double found = value_of(cases[i].text);
    if (memcmp(&found, &cases[i].value, sizeof found) != 0)
      fail_msg("%s: %a, not %a", cases[i].text, found, cases[i].value);
  }
}

static uint64_t next_random(void) {
  static uint64_t state = 88172645463325252u; /* xorshift64, Marsaglia 2003 */
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/* What a model is saved with is what it is read with. */
static void numbers_of_fifteen_digits_and_those_that_were_read_keep_their_value(void **state) {
  (void)state;
  char text[64];
  for (int i = 0; i < 200000; i++) {
    double value = -(double)(next_random() >> 11) / (double)(1ull << 53) * 30;
    snprintf(text, sizeof text, "%.14e", value);
    assert_true(value_of(text) == strtod(text, NULL));
    snprintf(text, sizeof text, "%.*f", (int)(next_random() % 21), value);
    double read = value_of(text);
    ath_buffer written = ath_buffer_make(64);
    assert_ok(ath_json_number_write(&written, read));
    assert_ok(ath_buffer_byte(&written, '\0'));
    assert_true(value_of(written.bytes) == read);
    ath_buffer_free(&written);
  }
}

static void what_is_too_large_is_infinite(void **state) {
  (void)state;
  static const char *const texts[] = {"1e309", "1e400", "1e99999999999999999999", "18e308",
                                      "100000000000000000000e300"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    assert_true(isinf(value_of(texts[i])));
  assert_true(value_of("-1e400") == -INFINITY);
}

static void what_is_no_number_is_refused(void **state) {
  (void)state;
  static const char *const texts[] = {"", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "01", "-01",
                                      "nan", "inf", "-Infinity", " 1"};
  double value;
  bool whole;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    assert_null(ath_json_number_read(texts[i], &value, &whole));
  assert_string_equal(ath_json_number_read("0x10", &value, &whole), "x10");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(long_numbers_are_read_as_the_reference_reads_them),
    cmocka_unit_test(numbers_of_fifteen_digits_and_those_that_were_read_keep_their_value),
    cmocka_unit_test(what_is_too_large_is_infinite),
    cmocka_unit_test(what_is_no_number_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
