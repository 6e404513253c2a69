/* text.h: small questions about strings. */
#ifndef ATHANOR_BASE_TEXT_H
#define ATHANOR_BASE_TEXT_H

#include <stdbool.h>
#include <string.h>

static inline bool ath_ends_with(const char *text, const char *end) {
  size_t length = strlen(text), wanted = strlen(end);
  return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

#endif
