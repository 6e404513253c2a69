/* http_lines.h: the lines in front of an answer's body: what they are called and what they say. */
#ifndef ATHANOR_STORAGE_HTTP_LINES_H
#define ATHANOR_STORAGE_HTTP_LINES_H

#include <stdbool.h>
#include <time.h>

#include "athanor/status.h"
#include "base/buffer.h"

enum { ATH_HTTP_LINES_BYTES_MAX = 1 << 18 };

/* Adds one line as it came, with its end. A status line ("HTTP/1.1 200 OK") empties `lines` first:
 * what was before belonged to an interim answer. Made with ATH_HTTP_LINES_BYTES_MAX. */
ath_status ath_http_lines_add(ath_buffer *lines, const char *bytes, size_t count) ATH_MUST_CHECK;

/* The value of the first header of that name, in any case; NULL if there is none. */
const char *ath_http_lines_find(const ath_buffer *lines, const char *name);

/* How long to wait, in seconds: Retry-After as a number or as a date, which `date` reads (−1 when
 * it cannot), else the RateLimit header's t where none remains (r=0; draft-ietf-httpapi-ratelimit-
 * headers); −1: not said. */
double ath_http_lines_wait(const ath_buffer *lines, time_t now, time_t (*date)(const char *text));

/* A Range or Content-Range, "bytes=0-41" or "bytes 10-41/100": its first byte and that behind its
 * last. False when it is neither, and for a range that goes backwards. */
bool ath_http_range(const char *value, uint64_t *first, uint64_t *end);

#endif
