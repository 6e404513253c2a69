/* bpe_symbols.h: the characters of a word as symbols, which then merge. */
#ifndef ATHANOR_TOKENIZERS_BPE_SYMBOLS_H
#define ATHANOR_TOKENIZERS_BPE_SYMBOLS_H

#include "tokenizers/models/bpe.h"

/* What becomes symbols of a word, from left to right. */
typedef struct ath_bpe_reader {
  const ath_bpe *model;
  const ath_text *word;
  size_t at;         /* the next character */
  size_t end;        /* the sum of the lengths of the symbols so far */
  size_t unknown;    /* bytes of the unknown token that waits to be put; 0: none does */
  bool raw;          /* characters are bytes that stand for their letters */
  ath_word_piece *out;
  size_t count;
} ath_bpe_reader;

/* Symbols that one character may give at most, with the unknown token before it. */
size_t ath_bpe_symbols_per_character(const ath_bpe *self);

/* Reads until there are at least `wanted` symbols, or all. There is room for one character's more
 * and the last unknown token. */
ath_status ath_bpe_read_symbols(ath_bpe_reader *self, size_t wanted) ATH_MUST_CHECK;

#endif
