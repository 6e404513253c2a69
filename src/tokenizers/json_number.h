/* json_number.h: JSON's numbers as the reference library reads them, which is not always to the
 * nearest double. */
#ifndef ATHANOR_TOKENIZERS_JSON_NUMBER_H
#define ATHANOR_TOKENIZERS_JSON_NUMBER_H

#include <stdbool.h>

#include "base/buffer.h"

/* Reads the number at the beginning of a NUL-terminated text and gives the byte behind it; NULL
 * for what is no number. One that is too large is infinite. *whole tells whether it has neither a
 * fraction nor an exponent. Of up to 15 digits it is the nearest double. */
const char *ath_json_number_read(const char *text, double *out, bool *whole);

/* Appends the shortest spelling, or, where that would be read as another number, a longer one that
 * is read as this. (A few have none, which are never read.) */
ath_status ath_json_number_write(ath_buffer *out, double value) ATH_MUST_CHECK;

#endif
