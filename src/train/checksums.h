/* checksums.h: SHA256SUMS of a folder, in the format of the program sha256sum. */
#ifndef ATHANOR_TRAIN_CHECKSUMS_H
#define ATHANOR_TRAIN_CHECKSUMS_H

#include <stddef.h>

#include "athanor/status.h"

/* Writes <folder>/SHA256SUMS over every file in the folder and in its direct subfolders. */
ath_status ath_checksums_write(const char *folder) ATH_MUST_CHECK;

/* Checks every file listed; ATH_CORRUPT names the first that is missing or different. A list that
 * is itself cut short, or lacks one of `required`, is ATH_CORRUPT too. */
ath_status ath_checksums_verify(const char *folder, const char *const *required, size_t count)
    ATH_MUST_CHECK;

#endif
