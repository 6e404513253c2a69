/* alphabet.h: the characters that a trainer makes tokens of. */
#ifndef ATHANOR_TOKENIZERS_ALPHABET_H
#define ATHANOR_TOKENIZERS_ALPHABET_H

#include <stdbool.h>

#include "tokenizers/trainers/word_count.h"

enum { ATH_CHARACTERS = 0x110000 };

/* By code point. */
typedef struct ath_alphabet {
  bool *kept;
  bool *inner; /* stands inside a word, not only first in one */
  size_t count; /* of the kept ones */
} ath_alphabet;

void ath_alphabet_free(ath_alphabet *self);

/* The characters of the words and of `initial`, which is UTF-8 or NULL. If there are more than
 * `limit`, which is not 0, the least frequent ones are left out, of equals those of the greatest
 * code points; those of `initial` count as the most frequent. */
ath_status ath_alphabet_find(const ath_word_list *words, const char *initial, size_t limit,
                             ath_alphabet *out) ATH_MUST_CHECK;

#endif
