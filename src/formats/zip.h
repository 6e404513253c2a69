/* zip.h: one file out of a zip archive (a Python wheel is one). */
#ifndef ATHANOR_FORMATS_ZIP_H
#define ATHANOR_FORMATS_ZIP_H

#include "athanor/status.h"

/* Writes the entry to the file `target`, atomically. Stored and deflated entries below 4 GiB; no
 * encryption. ATH_NOT_FOUND when the archive has no such entry; ATH_CORRUPT when it is damaged: its
 * checksum is checked before the file gets its name. */
ath_status ath_zip_extract(const char *archive, const char *entry, const char *target)
    ATH_MUST_CHECK;

#endif
