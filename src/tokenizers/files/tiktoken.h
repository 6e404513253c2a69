/* tiktoken.h: byte-level BPE out of a list of ranks. */
#ifndef ATHANOR_TOKENIZERS_FILES_TIKTOKEN_H
#define ATHANOR_TOKENIZERS_FILES_TIKTOKEN_H

#include <stdbool.h>

#include "tokenizers/tokenizer.h"

/* Whether a file begins as a list of ranks does. */
bool ath_tiktoken_is(const char *path);

/* Makes the parts of a tokenizer that gives tiktoken's ids. `pattern` names the encoding whose
 * expression cuts the text and whose special tokens it has, "cl100k"; NULL: the one whose number of
 * ranks the file has. */
ath_status ath_tiktoken_read(const char *path, const char *pattern, ath_tokenizer *self)
    ATH_MUST_CHECK;

#endif
