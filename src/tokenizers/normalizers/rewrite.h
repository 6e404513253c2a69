/* rewrite.h: a text changed in places, the rest of it copied: what most normalisers do.
 *
 * Nothing is written until the first change, so a text that needs none stays where it is. */
#ifndef ATHANOR_TOKENIZERS_NORMALIZERS_REWRITE_H
#define ATHANOR_TOKENIZERS_NORMALIZERS_REWRITE_H

#include "tokenizers/pipeline.h"

typedef struct ath_rewrite {
  ath_run *run;
  const ath_text *text;
  ath_text_buffer *out; /* the run's buffer in which the text does not lie */
  size_t copied;        /* bytes of the text that are dealt with */
  bool changed;
} ath_rewrite;

/* `text` must stay as it is until ath_rewrite_end. */
ath_rewrite ath_rewrite_begin(ath_run *run, const ath_text *text);

/* Copies the text up to byte `from`, so that what comes next is written after it. */
ath_status ath_rewrite_copy(ath_rewrite *self, size_t from) ATH_MUST_CHECK;

/* Puts bytes that came from `origin` in place of text[from, to). The places of several calls go
 * up and do not overlap. */
ath_status ath_rewrite_put(ath_rewrite *self, size_t from, size_t to, const char *bytes,
                           size_t count, ath_origin origin) ATH_MUST_CHECK;

/* The same, where the bytes came from the character at `from`. */
ath_status ath_rewrite_character(ath_rewrite *self, size_t from, size_t to, const char *bytes,
                                 size_t count) ATH_MUST_CHECK;

/* Copies what is left, and makes *text the result. */
ath_status ath_rewrite_end(ath_rewrite *self, ath_text *text) ATH_MUST_CHECK;

/* How many of the first bytes are ASCII. */
size_t ath_ascii_prefix(const char *bytes, size_t length);

#endif
