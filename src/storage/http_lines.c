/* http_lines.c: the lines in front of an answer's body. They are kept as "name\0value\0…". */
#include "storage/http_lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SECONDS_DIGITS_MAX = 9, SIZE_DIGITS_MAX = 18 };

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static void trim(const char **bytes, size_t *count) {
  while (*count > 0 && is_blank((*bytes)[*count - 1])) --*count;
  while (*count > 0 && is_blank(**bytes)) ++*bytes, --*count;
}

static ath_status add_word(ath_buffer *lines, const char *bytes, size_t count) {
  trim(&bytes, &count);
  ATH_TRY(ath_buffer_append(lines, bytes, count));
  return ath_buffer_byte(lines, '\0');
}

ath_status ath_http_lines_add(ath_buffer *lines, const char *bytes, size_t count) {
  if (count >= 5 && memcmp(bytes, "HTTP/", 5) == 0) {
    ath_buffer_clear(lines);
    return ATH_OK;
  }
  const char *colon = memchr(bytes, ':', count);
  if (colon == NULL || memchr(bytes, '\0', count) != NULL) return ATH_OK; /* no header */
  size_t name = (size_t)(colon - bytes);
  ATH_TRY(add_word(lines, bytes, name));
  return add_word(lines, colon + 1, count - name - 1);
}

const char *ath_http_lines_find(const ath_buffer *lines, const char *name) {
  const char *at = lines->bytes, *end = lines->bytes + lines->length;
  while (at < end) {
    const char *value = at + strlen(at) + 1;
    if (strcasecmp(at, name) == 0) return value;
    at = value + strlen(value) + 1;
  }
  return NULL;
}

/* Digits and nothing else, as many as fit. */
static bool read_whole(const char *text, size_t digits_max, const char **end, uint64_t *out) {
  uint64_t value = 0;
  size_t digits = 0;
  for (; isdigit((unsigned char)text[digits]); digits++) {
    if (digits == digits_max) return false;
    value = 10 * value + (uint64_t)(text[digits] - '0');
  }
  *end = text + digits;
  *out = value;
  return digits > 0;
}

static double read_seconds(const char *text, const char **end) {
  uint64_t value;
  return read_whole(text, SECONDS_DIGITS_MAX, end, &value) ? (double)value : -1;
}

/* "\"api\";r=0;t=55" → 55. */
static double read_limit(const char *text) {
  const char *end, *remaining = strstr(text, "r="), *seconds = strstr(text, "t=");
  if (remaining == NULL || seconds == NULL || read_seconds(remaining + 2, &end) != 0) return -1;
  return read_seconds(seconds + 2, &end);
}

double ath_http_lines_wait(const ath_buffer *lines, time_t now, time_t (*date)(const char *text)) {
  const char *end, *text = ath_http_lines_find(lines, "retry-after");
  if (text == NULL) {
    text = ath_http_lines_find(lines, "ratelimit");
    return text == NULL ? -1 : read_limit(text);
  }
  double seconds = read_seconds(text, &end);
  if (seconds >= 0 && *end == '\0') return seconds;
  time_t then = date(text);
  if (then == (time_t)-1) return -1;
  return then > now ? (double)(then - now) : 0;
}

bool ath_http_range(const char *value, uint64_t *first, uint64_t *end) {
  uint64_t last;
  if (value == NULL || strncasecmp(value, "bytes", 5) != 0) return false;
  value += 5;
  if (*value != '=' && *value != ' ') return false;
  if (!read_whole(value + 1, SIZE_DIGITS_MAX, &value, first) || *value != '-') return false;
  if (!read_whole(value + 1, SIZE_DIGITS_MAX, &value, &last)) return false;
  if ((*value != '\0' && *value != '/') || last < *first) return false;
  *end = last + 1;
  return true;
}
