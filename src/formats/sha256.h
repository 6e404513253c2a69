/* sha256.h: SHA-256 as 64 hexadecimal digits, to tell whether files belong together. */
#ifndef ATHANOR_FORMATS_SHA256_H
#define ATHANOR_FORMATS_SHA256_H

#include <stddef.h>

#include "athanor/status.h"

enum { ATH_SHA256_TEXT = 65 }; /* digits and NUL */

void ath_sha256_bytes(const void *bytes, size_t count, char out[ATH_SHA256_TEXT]);
ath_status ath_sha256_file(const char *path, char out[ATH_SHA256_TEXT]) ATH_MUST_CHECK;

#endif
