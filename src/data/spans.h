/* spans.h: a text divided into pieces, which several workers can read independently. The division
 * depends on the text alone, so it does not matter how many there are. */
#ifndef ATHANOR_DATA_SPANS_H
#define ATHANOR_DATA_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/documents.h"

/* The documents of an input that begin at or after a byte and before another. */
typedef struct ath_text_span {
  uint64_t file, begin, end;
} ath_text_span;

/* An input whose documents are not its lines, or where faulty ones are to be left out and counted,
 * is one piece. The caller frees the list. */
ath_status ath_spans_make(const char *const *inputs, size_t count, const ath_reading *reading,
                          ath_text_span **out, size_t *spans) ATH_MUST_CHECK;

/* The first byte at or after `at` where a line begins; the file's size where none does. */
ath_status ath_spans_line_start(const char *path, uint64_t at, uint64_t *out) ATH_MUST_CHECK;

#endif
