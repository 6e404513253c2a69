/* journal.h: a file that grows by one entry at a time, so that a run can go on after a kill.
 *
 *     <CRC-32C of the JSON, 8 hex digits> <JSON object>\n        one line per entry
 *
 * An entry is flushed to disk before the call returns. A kill can only cut the last line, and the
 * checksum tells a line that was cut or damaged from a good one. */
#ifndef ATHANOR_DATA_JOURNAL_H
#define ATHANOR_DATA_JOURNAL_H

#include <jansson.h>

#include "athanor/status.h"

/* Starts a journal with its first entry, in place of whatever `path` holds. */
ath_status ath_journal_create(const char *path, const json_t *first) ATH_MUST_CHECK;
ath_status ath_journal_add(const char *path, const json_t *entry) ATH_MUST_CHECK;

/* Reads the entries, as an array the caller releases, up to the first line that is not as it was
 * written; that line and those after it are cut off, with a warning, so that adding can go on.
 * ATH_CORRUPT when not even the first is good; the file is left alone then. */
ath_status ath_journal_recover(const char *path, json_t **entries) ATH_MUST_CHECK;

#endif
