/* json_number.c: numbers read the quick way of serde_json, the JSON reader of the reference
 * library (without its feature `float_roundtrip`; f64_from_parts in its de.rs): as many digits as
 * a whole number of 64 bits holds become a double, which is multiplied or divided by a power of
 * ten. Each of these rounds, so a number of 17 digits may come out a last bit off. That decides
 * between the paths of a Unigram model: with scores read to the nearest double, paths of the same
 * pieces in another order tie which do not tie there. What is written is therefore tried. */
#include "tokenizers/json_number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { POWER_MAX = 308, EXPONENT_MAX = INT32_MAX, SPELLING_SIZE = 64 };

/* The digits of a number and where its point is: digits · 10^power. */
typedef struct decimal {
  uint64_t digits;
  int64_t power;
} decimal;

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/* `before` is 1 for digits before the point, which move it when they do not count; else 0. */
static const char *read_digits(const char *at, int before, decimal *out) {
  for (; is_digit(*at) && out->digits < UINT64_MAX / 10; at++) { /* cannot overflow */
    out->digits = out->digits * 10 + (uint64_t)(*at - '0');
    out->power += before - 1;
  }
  for (bool full = false; is_digit(*at); at++) {
    uint64_t digit = (uint64_t)(*at - '0');
    full |= out->digits >= UINT64_MAX / 10 &&
            (out->digits > UINT64_MAX / 10 || digit > UINT64_MAX % 10);
    if (!full) out->digits = out->digits * 10 + digit;
    out->power += before - !full;
  }
  return at;
}

/* NULL when no digit follows the letter and the sign. */
static const char *read_exponent(const char *at, decimal *out) {
  bool negative = at[1] == '-';
  at += at[1] == '-' || at[1] == '+' ? 2 : 1;
  if (!is_digit(*at)) return NULL;
  int64_t value = 0;
  for (; is_digit(*at); at++)
    if (value < EXPONENT_MAX) value = value * 10 + (*at - '0');
  out->power += negative ? -value : value;
  return at;
}

/* The powers of ten, each to the nearest double. */
#define TEN(n) 1e##n##0, 1e##n##1, 1e##n##2, 1e##n##3, 1e##n##4, 1e##n##5, 1e##n##6, 1e##n##7, \
               1e##n##8, 1e##n##9
static const double powers[POWER_MAX + 1] = {
    TEN(), TEN(1), TEN(2), TEN(3), TEN(4), TEN(5), TEN(6), TEN(7), TEN(8), TEN(9), TEN(10),
    TEN(11), TEN(12), TEN(13), TEN(14), TEN(15), TEN(16), TEN(17), TEN(18), TEN(19), TEN(20),
    TEN(21), TEN(22), TEN(23), TEN(24), TEN(25), TEN(26), TEN(27), TEN(28), TEN(29),
    1e300, 1e301, 1e302, 1e303, 1e304, 1e305, 1e306, 1e307, 1e308};

/* A division is not the product with the inverse: which of them it is decides the last bit. */
static double scale(const decimal *number) {
  double value = (double)number->digits;
  int64_t power = number->power;
  for (; power < -POWER_MAX && value != 0; power += POWER_MAX) value /= powers[POWER_MAX];
  if (value == 0) return 0;
  if (power > POWER_MAX) return INFINITY;
  return power < 0 ? value / powers[-power] : value * powers[power];
}

const char *ath_json_number_read(const char *text, double *out, bool *whole) {
  decimal number = {0};
  bool negative = *text == '-';
  const char *at = text + negative;
  if (!is_digit(*at) || (*at == '0' && is_digit(at[1]))) return NULL;
  at = read_digits(at, 1, &number);
  *whole = *at != '.' && *at != 'e' && *at != 'E';
  if (*at == '.') {
    if (!is_digit(at[1])) return NULL;
    at = read_digits(at + 1, 0, &number);
  }
  if (*at == 'e' || *at == 'E') at = read_exponent(at, &number);
  if (at == NULL) return NULL;
  *out = negative ? -scale(&number) : scale(&number);
  return at;
}

/* --- writing ------------------------------------------------------------------------------- */

static bool reads_as(const char *text, double value) {
  double found;
  bool whole;
  return ath_json_number_read(text, &found, &whole) != NULL && found == value;
}

/* A spelling of so many digits, some halves of a last bit off. */
static void spell(double value, int digits, int halves, char out[SPELLING_SIZE]) {
  char rounded[32], moved[24];
  uint64_t whole = 0;
  const char *at = rounded;
  snprintf(rounded, sizeof rounded, "%.*e", digits - 1, fabs(value));
  for (; *at != 'e'; at++)
    if (is_digit(*at)) whole = whole * 10 + (uint64_t)(*at - '0');
  int64_t half = (int64_t)(whole >> 53) + 1;
  snprintf(moved, sizeof moved, "%" PRIu64, whole + (uint64_t)(half * halves));
  snprintf(out, SPELLING_SIZE, "%s%c.%s%s", signbit(value) ? "-" : "", moved[0], moved + 1, at);
}

ath_status ath_json_number_write(ath_buffer *out, double value) {
  size_t before = out->length;
  ATH_TRY(ath_buffer_double(out, value));
  ATH_TRY(ath_buffer_byte(out, '\0'));
  out->length--;
  if (!isfinite(value) || reads_as(out->bytes + before, value)) return ATH_OK;
  for (int digits = 16; digits <= 20; digits++)
    for (int halves = -3; halves <= 3; halves++) {
      char text[SPELLING_SIZE];
      spell(value, digits, halves, text);
      if (!reads_as(text, value)) continue;
      out->length = before;
      return ath_buffer_string(out, text);
    }
  return ATH_OK;
}
