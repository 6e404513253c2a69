/* decimal.h: decimal numbers to the nearest double. */
#ifndef ATHANOR_BASE_DECIMAL_H
#define ATHANOR_BASE_DECIMAL_H

#include <stdbool.h>

/* Reads the number, as JSON spells numbers, at the beginning of a NUL-terminated text: the double
 * that is nearest to it, as strtod gives it in the "C" locale, several times faster. *end is the
 * byte behind it. NULL for what is no number; one that is too large is infinite. *whole tells
 * whether it has neither a fraction nor an exponent. */
const char *ath_decimal_read(const char *text, double *out, bool *whole);

#endif
