/* buffer.h: a growing run of bytes that cannot be made without a maximum. */
#ifndef ATHANOR_BASE_BUFFER_H
#define ATHANOR_BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "athanor/status.h"

typedef struct ath_buffer {
  char *bytes;     /* always followed by a NUL that is not counted, once something was added */
  size_t length;
  size_t capacity;
  size_t maximum;  /* growing past it fails with ATH_NO_MEMORY */
} ath_buffer;

/* An empty buffer that may grow to `maximum` bytes; allocates nothing. */
ath_buffer ath_buffer_make(size_t maximum);
void ath_buffer_free(ath_buffer *self); /* leaves an empty buffer with the same maximum */
void ath_buffer_clear(ath_buffer *self); /* keeps the memory */

/* Makes room for `extra` more bytes without changing the length. */
ath_status ath_buffer_reserve(ath_buffer *self, size_t extra) ATH_MUST_CHECK;
/* Inline, for who appends little and often. */
static inline ATH_MUST_CHECK ath_status ath_buffer_append(ath_buffer *self, const void *bytes,
                                                          size_t count) {
  if (count > self->maximum - self->length || count >= self->capacity - self->length)
    ATH_TRY(ath_buffer_reserve(self, count));
  if (count > 0) memcpy(self->bytes + self->length, bytes, count);
  self->length += count;
  self->bytes[self->length] = '\0';
  return ATH_OK;
}
ath_status ath_buffer_string(ath_buffer *self, const char *string) ATH_MUST_CHECK;
ath_status ath_buffer_byte(ath_buffer *self, char byte) ATH_MUST_CHECK;
ath_status ath_buffer_format(ath_buffer *self, const char *format, ...)
    ATH_PRINTF(2, 3) ATH_MUST_CHECK;

/* Appends a whole number in decimal digits: many times faster than ath_buffer_format. */
ath_status ath_buffer_integer(ath_buffer *self, int64_t value) ATH_MUST_CHECK;
/* Appends `bytes` as a JSON string with its quotes; UTF-8 is kept as it is, and what is none, as in
 * names of files, becomes U+FFFD. */
ath_status ath_buffer_json(ath_buffer *self, const char *bytes, size_t count) ATH_MUST_CHECK;
/* Appends the shortest decimal form that reads back as the same double ("-3.5", "0.0", "1e-7",
 * "1e+16": plain from 0.00001 to below 1e16, as tokenizer.json has its scores); a NaN or infinity
 * is written as null, which JSON has instead. */
ath_status ath_buffer_double(ath_buffer *self, double value) ATH_MUST_CHECK;

#endif
