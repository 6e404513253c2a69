/* encoding.h: how `tokenizer encode` shows an encoding. */
#ifndef ATHANOR_CLI_ENCODING_H
#define ATHANOR_CLI_ENCODING_H

#include "athanor/tokenizer.h"
#include "cli/cli.h"

typedef struct ath_encoding_style {
  const ath_tokenizer *tokenizer;
  bool json;
  unsigned flags; /* those that the encodings are made with tell what there is to show */
} ath_encoding_style;

/* Appends an encoding that was made with ATH_ENCODE_TOKENS: as JSON one object in one line, which
 * has the windows after the first as "overflowing"; else a line for each window. */
ath_status ath_cli_put_encoding(const ath_encoding_style *style, const ath_encoding *encoding,
                                ath_buffer *out) ATH_MUST_CHECK;

/* --- the view (encoding_view.c) ------------------------------------------------------------ */

typedef struct ath_encoding_view {
  const ath_tokenizer *tokenizer;
  int32_t unknown; /* the id shown in red; −1: none */
  bool colour;
} ath_encoding_view;

/* Whether standard output is a terminal that may be sent colours. */
bool ath_cli_wants_colour(void);
/* Appends a line: a text cut as its encoding is, which has tokens and offsets and one window. */
ath_status ath_cli_put_view(const ath_encoding_view *style, const char *text, size_t length,
                            const ath_encoding *encoding, ath_buffer *out) ATH_MUST_CHECK;

#endif
