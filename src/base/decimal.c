/* decimal.c: a number of up to nineteen digits is the quotient or product of two whole numbers that
 * a long double of 64 bits holds exactly, the power of ten up to the 27th. One rounding to 64 bits
 * and one to 53 are all there is; where these could differ from the one rounding that is due, and
 * for all other numbers, strtod decides. */
#include "base/decimal.h"

#include <float.h>
#include <stdint.h>
#include <stdlib.h>

enum { DIGITS_MAX = 19, POWER_MAX = 27, EXPONENT_MAX = 100000 };

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/* The digits of a number and where its point is: digits · 10^power. */
typedef struct decimal {
  uint64_t digits;
  int count; /* of digits, without leading zeros */
  int power;
} decimal;

static const char *read_digits(const char *at, decimal *out) {
  for (; is_digit(*at); at++) {
    if (out->count > 0 || *at != '0') out->count += out->count <= DIGITS_MAX;
    if (out->count <= DIGITS_MAX) out->digits = out->digits * 10 + (uint64_t)(*at - '0');
  }
  return at;
}

/* NULL when no digit follows the letter and the sign. */
static const char *read_exponent(const char *at, decimal *out) {
  bool negative = at[1] == '-';
  at += at[1] == '-' || at[1] == '+' ? 2 : 1;
  if (!is_digit(*at)) return NULL;
  int value = 0;
  for (; is_digit(*at); at++)
    if (value < EXPONENT_MAX) value = value * 10 + (*at - '0');
  out->power += negative ? -value : value;
  return at;
}

/* The double nearest to the quotient or product; false when it is not certain. */
static bool scale(const decimal *number, double *out) {
#if LDBL_MANT_DIG >= 64
  static const long double powers[POWER_MAX + 1] = {
      1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
      1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
      1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
  if (number->count > DIGITS_MAX || number->power < -POWER_MAX || number->power > POWER_MAX)
    return false;
  long double value = (long double)number->digits;
  if (number->power < 0) value /= powers[-number->power];
  else value *= powers[number->power];
  double low = (double)(value - value * 0x1p-63L), high = (double)(value + value * 0x1p-63L);
  *out = high;
  return low == high;
#else
  (void)number;
  (void)out;
  return false;
#endif
}

const char *ath_decimal_read(const char *text, double *out, bool *whole) {
  decimal number = {0};
  bool negative = *text == '-';
  const char *at = text + negative, *digits = at;
  if (!is_digit(*at) || (*at == '0' && is_digit(at[1]))) return NULL;
  at = read_digits(at, &number);
  *whole = *at != '.' && *at != 'e' && *at != 'E';
  if (*at == '.') {
    const char *point = at;
    if (!is_digit(at[1])) return NULL;
    at = read_digits(at + 1, &number);
    if (at - point - 1 > EXPONENT_MAX) number.count = DIGITS_MAX + 1;
    else number.power = -(int)(at - point - 1);
  }
  if (*at == 'e' || *at == 'E') at = read_exponent(at, &number);
  if (at == NULL) return NULL;
  if (!scale(&number, out)) *out = strtod(digits, NULL);
  if (negative) *out = -*out;
  return at;
}
