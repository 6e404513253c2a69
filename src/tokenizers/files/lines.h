/* lines.h: text files that are lists, one item a line. */
#ifndef ATHANOR_TOKENIZERS_FILES_LINES_H
#define ATHANOR_TOKENIZERS_FILES_LINES_H

#include <stddef.h>

#include "athanor/status.h"

/* Is given each line without its end; `number` counts from 0. */
typedef ath_status (*ath_line_taker)(void *context, const char *path, size_t number,
                                     const char *line, size_t length);

/* Reads a file of at most 1 GB, of UTF-8. */
ath_status ath_each_line(const char *path, ath_line_taker take, void *context) ATH_MUST_CHECK;

#endif
