/* text_hash.h: 128 bits that stand for a text. */
#ifndef ATHANOR_DATA_TEXT_HASH_H
#define ATHANOR_DATA_TEXT_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ath_text_hash {
  uint64_t high, low; /* both 0: of a text without content */
} ath_text_hash;

/* Of the bytes without ASCII's white space at both ends. Equal texts have equal hashes, on every
 * machine; others differ, unless somebody makes them not to. */
ath_text_hash ath_text_hash_make(const char *text, size_t length);

static inline bool ath_text_hash_is_empty(const ath_text_hash *self) {
  return (self->high | self->low) == 0;
}

#endif
