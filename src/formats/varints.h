/* varints.h: whole lists of 32-bit numbers as varints, in and out: the packed list of an Example's
 * feature, which every training sample goes through. A negative number takes ten bytes.
 *
 * Plain versions, and with AVX2 and BMI2 faster ones that give the same (varints_x86.c); the
 * functions without a suffix choose. */
#ifndef ATHANOR_FORMATS_VARINTS_H
#define ATHANOR_FORMATS_VARINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that the varints of `values` take. */
size_t ath_varints_size(const int32_t *values, size_t count);

/* Puts the varints, `size` bytes (from above), at `out` and returns the place behind the last. */
uint8_t *ath_varints_put(uint8_t *out, size_t size, const int32_t *values, size_t count);

/* Takes values from bytes[*at] on into values[*count], as long as all goes well: it stops, moving
 * *at and *count, at the end, where `capacity` values are there, and before a varint that is cut
 * off, longer than four bytes or not for a 32-bit number; what is left is for the caller to look
 * at. The fast version stops earlier: before a varint of four bytes, too, and where a block of 64
 * bytes might hold more values than there is room for. */
void ath_varints_take(const uint8_t *bytes, size_t length, size_t *at, int32_t *values,
                      size_t capacity, size_t *count);

/* --- the versions -------------------------------------------------------------------------- */

size_t ath_varints_size_plain(const int32_t *values, size_t count);
uint8_t *ath_varints_put_plain(uint8_t *out, size_t size, const int32_t *values, size_t count);
void ath_varints_take_plain(const uint8_t *bytes, size_t length, size_t *at, int32_t *values,
                            size_t capacity, size_t *count);

bool ath_varints_has_fast(void);
size_t ath_varints_size_fast(const int32_t *values, size_t count);
uint8_t *ath_varints_put_fast(uint8_t *out, size_t size, const int32_t *values, size_t count);
void ath_varints_take_fast(const uint8_t *bytes, size_t length, size_t *at, int32_t *values,
                           size_t capacity, size_t *count);

#endif
