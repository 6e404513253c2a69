/* encoding.h: what bytes that are not UTF-8 may be, for the text of an error. */
#ifndef ATHANOR_STORAGE_ENCODING_H
#define ATHANOR_STORAGE_ENCODING_H

#include <stddef.h>

/* By a byte order mark at the start: "UTF-16LE", "UTF-16BE", or NULL. */
const char *ath_encoding_of_mark(const char *bytes, size_t length);

/* A name that iconv knows, or NULL for bytes that look like none of those told apart here: UTF-16
 * without a mark, Shift-JIS, KOI8-R, Windows-1251, Windows-1252, ISO 8859-1. It is a guess. */
const char *ath_encoding_guess(const char *bytes, size_t length);

#endif
