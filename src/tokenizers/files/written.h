/* written.h: parts of a tokenizer.json that several converters write. */
#ifndef ATHANOR_TOKENIZERS_FILES_WRITTEN_H
#define ATHANOR_TOKENIZERS_FILES_WRITTEN_H

#include "tokenizers/json.h"

/* An item of "added_tokens"; and a pre-tokeniser that sets what a pattern matches apart. */
void ath_put_special(ath_json_writer *out, const char *text, size_t length, int32_t id);
void ath_put_split(ath_json_writer *out, const char *pattern, size_t length);

/* A part that is a Sequence, whose items, written in between, are the member `list`. */
void ath_open_sequence(ath_json_writer *out, const char *part, const char *list);
void ath_close_sequence(ath_json_writer *out);

#endif
