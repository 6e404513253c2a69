/* buffer.c: doubling growth up to the buffer's maximum. */
#include "base/buffer.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

ath_buffer ath_buffer_make(size_t maximum) {
  assert(maximum < SIZE_MAX / 2); /* so that doubling, and a byte for the NUL, cannot overflow */
  return (ath_buffer){.maximum = maximum};
}

void ath_buffer_free(ath_buffer *self) {
  free(self->bytes);
  *self = ath_buffer_make(self->maximum);
}

void ath_buffer_clear(ath_buffer *self) {
  self->length = 0;
  if (self->bytes != NULL) self->bytes[0] = '\0';
}

ath_status ath_buffer_reserve(ath_buffer *self, size_t extra) {
  assert(self->length <= self->maximum);
  if (extra > self->maximum - self->length)
    return ath_fail(ATH_NO_MEMORY, "%zu more bytes would pass the limit of %zu bytes", extra,
                    self->maximum);
  size_t needed = self->length + extra + 1;
  if (needed <= self->capacity) return ATH_OK;
  size_t capacity = self->capacity < 64 ? 64 : self->capacity * 2;
  if (capacity < needed) capacity = needed;
  char *bytes = realloc(self->bytes, capacity);
  if (bytes == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu bytes", capacity);
  self->bytes = bytes;
  self->capacity = capacity;
  return ATH_OK;
}

ath_status ath_buffer_string(ath_buffer *self, const char *string) {
  return ath_buffer_append(self, string, strlen(string));
}

ath_status ath_buffer_byte(ath_buffer *self, char byte) {
  return ath_buffer_append(self, &byte, 1);
}

ath_status ath_buffer_format(ath_buffer *self, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0) return ath_fail(ATH_INTERNAL, "cannot format \"%s\"", format);
  ATH_TRY(ath_buffer_reserve(self, (size_t)length));
  va_start(arguments, format);
  vsnprintf(self->bytes + self->length, (size_t)length + 1, format, arguments);
  va_end(arguments);
  self->length += (size_t)length;
  return ATH_OK;
}

ath_status ath_buffer_integer(ath_buffer *self, int64_t value) {
  char digits[20]; /* of 2^63, and a sign */
  size_t at = sizeof digits;
  uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
  do digits[--at] = (char)('0' + left % 10);
  while ((left /= 10) > 0);
  assert(at >= 1);
  if (value < 0) digits[--at] = '-';
  return ath_buffer_append(self, digits + at, sizeof digits - at);
}

/* JSON has no other text than UTF-8; the names of files may be other. */
static ath_status put_repaired_json(ath_buffer *self, const char *bytes, size_t count) {
  ath_buffer repaired = ath_buffer_make(3 * count);
  ath_status status = ath_utf8_repair(bytes, count, &repaired);
  if (status == ATH_OK) status = ath_buffer_json(self, repaired.bytes, repaired.length);
  ath_buffer_free(&repaired);
  return status;
}

ath_status ath_buffer_json(ath_buffer *self, const char *bytes, size_t count) {
  if (ath_utf8_prefix(bytes, count) < count) return put_repaired_json(self, bytes, count);
  ATH_TRY(ath_buffer_byte(self, '"'));
  size_t plain = 0; /* start of the run that needs no escape */
  for (size_t i = 0; i < count; i++) {
    unsigned char c = (unsigned char)bytes[i];
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    ATH_TRY(ath_buffer_append(self, bytes + plain, i - plain));
    plain = i + 1;
    const char *name = "\"\"\\\\\bb\ff\nn\rr\tt"; /* pairs: the byte, its escape letter */
    const char *pair = NULL;
    for (const char *p = name; *p != '\0' && pair == NULL; p += 2)
      if ((unsigned char)*p == c) pair = p;
    if (pair != NULL) ATH_TRY(ath_buffer_format(self, "\\%c", pair[1]));
    else ATH_TRY(ath_buffer_format(self, "\\u%04x", c));
  }
  ATH_TRY(ath_buffer_append(self, bytes + plain, count - plain));
  return ath_buffer_byte(self, '"');
}

enum { EXACT_DIGITS = 15 }; /* a decimal of so many digits survives the way through a double */

/* As shortest_digits, for a value that fifteen digits give, and many times faster: the whole number
 * below is exact in a double and so is the power of ten, hence their quotient is rounded once, as
 * it is when the decimal is read. Returns false for any other value. */
static bool exact_digits(double value, char digits[24], int *count, int *exponent) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (!(value >= 1e-7 && value < 1e14)) return false;
  int whole = 0; /* digits before the point; 0 and less for fractions */
  while (value >= powers[whole]) whole++;
  while (whole <= 0 && value * powers[-whole] < 0.1) whole--;
  int scale = EXACT_DIGITS - whole;
  assert(scale >= 0 && scale <= 22);
  int64_t number = (int64_t)(value * powers[scale] + 0.5);
  if ((double)number / powers[scale] != value || number >= 1000000000000000) return false;
  *count = snprintf(digits, 24, "%lld", (long long)number);
  *exponent = *count - 1 - scale;
  return true;
}

/* The fewest significant digits that read back as the value, value = d₁.d₂d₃… · 10^exponent.
 * Fifteen always do for a normal number that has so short a form, so only longer and denormal ones
 * need a search. */
static void shortest_digits(double value, char digits[24], int *count, int *exponent) {
  char text[40];
  if (exact_digits(value, digits, count, exponent)) return;
  int least = value < DBL_MIN ? 1 : EXACT_DIGITS;
  for (int wanted = least; wanted <= 17; wanted++) {
    snprintf(text, sizeof text, "%.*e", wanted - 1, value);
    if (strtod(text, NULL) == value) break;
  }
  char *mark = strchr(text, 'e');
  assert(mark != NULL);
  *exponent = atoi(mark + 1);
  *count = 0;
  for (char *p = text; p < mark; p++)
    if (*p >= '0' && *p <= '9') digits[(*count)++] = *p;
}

ath_status ath_buffer_double(ath_buffer *self, double value) {
  if (!isfinite(value)) return ath_buffer_string(self, "null");
  char digits[24];
  int count, exponent;
  shortest_digits(fabs(value), digits, &count, &exponent);
  while (count > 1 && digits[count - 1] == '0') count--;
  if (signbit(value)) ATH_TRY(ath_buffer_byte(self, '-'));
  if (exponent < -5 || exponent > 15)
    return ath_buffer_format(self, "%c%s%.*se%+d", digits[0], count > 1 ? "." : "", count - 1,
                             digits + 1, exponent);
  if (exponent < 0)
    return ath_buffer_format(self, "0.%.*s%.*s", -exponent - 1, "00000", count, digits);
  int whole = exponent + 1;
  if (count <= whole)
    return ath_buffer_format(self, "%.*s%.*s.0", count, digits, whole - count,
                             "000000000000000");
  return ath_buffer_format(self, "%.*s.%.*s", whole, digits, count - whole, digits + whole);
}
