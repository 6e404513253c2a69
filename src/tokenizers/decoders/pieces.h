/* pieces.h: what several decoders do to the pieces of a text on their way back. */
#ifndef ATHANOR_TOKENIZERS_DECODERS_PIECES_H
#define ATHANOR_TOKENIZERS_DECODERS_PIECES_H

#include "tokenizers/pipeline.h"

typedef struct ath_string { /* not NUL-terminated */
  const char *bytes;
  size_t length;
} ath_string;

ath_string ath_piece(const ath_pieces *self, size_t index);

/* A string member of a part, kept in the arena. */
ath_status ath_string_read(const ath_json *json, const char *key, ath_arena *arena,
                           ath_string *out) ATH_MUST_CHECK;

/* Appends `text` with each `pattern` replaced, from left to right. An empty pattern stands between
 * all characters, and at both ends. */
ath_status ath_replace_all(ath_string text, ath_string pattern, ath_string content,
                           ath_buffer *out) ATH_MUST_CHECK;

/* Appends `text` without the spaces that tokens of English have before punctuation and endings:
 * "do n't , he 's" becomes "don't, he's". */
ath_status ath_clean_up(ath_string text, ath_buffer *out) ATH_MUST_CHECK;

/* Ends a piece that was written straight to the end of `bytes`. */
ath_status ath_pieces_end(ath_pieces *self) ATH_MUST_CHECK;

#endif
