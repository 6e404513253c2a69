/* build.h: what the trainers need of the tokenizer: cutting text into the very words that the
 * model will see, and making a tokenizer of the pieces that training found. */
#ifndef ATHANOR_TOKENIZERS_BUILD_H
#define ATHANOR_TOKENIZERS_BUILD_H

#include "athanor/tokenizer.h"
#include "tokenizers/models/merges.h"

/* The special tokens of a tokenizer made here, in the order of their ids, and their count. */
enum { ATH_BUILD_SPECIALS = 5 };
/* [CLS] [SEP] <unk> <pad> [MASK] */
extern const char *const ath_build_specials[ATH_BUILD_SPECIALS];

/* A piece of a Unigram vocabulary: UTF-8 without NUL, and its log probability. */
typedef struct ath_unigram_piece {
  const char *text;
  double score;
} ath_unigram_piece;

/* Makes the masked-language-model tokenizer: two literal quote replacements, Metaspace, template
 * [CLS] $A [SEP], special tokens 0 … 4 with score 0, and `pieces` (copied) as ids from 5 on,
 * their scores rounded to 15 digits, which every JSON reader reads alike.
 * ATH_INVALID for an empty or doubled piece, one that is a special token, or a score that is not
 * finite. `count` may be 0: such a tokenizer cuts words, and knows no piece. */
ath_status ath_tokenizer_build_unigram(const ath_unigram_piece *pieces, size_t count,
                                       ath_tokenizer **out) ATH_MUST_CHECK;

/* Makes the byte-level BPE tokenizer for masked language models, with the pipeline of roberta-base:
 * special tokens 0 … 4, then the letters of the 256 bytes by code point, then what the merges make;
 * a merge may make a token that an earlier one made. `vocab_size` counts all of these. */
ath_status ath_tokenizer_build_bpe(const ath_merge *merges, size_t count, int32_t vocab_size,
                                   ath_tokenizer **out) ATH_MUST_CHECK;
/* The same without merges and special tokens, to cut text into words of letters. */
ath_status ath_tokenizer_build_byte_cutter(ath_tokenizer **out) ATH_MUST_CHECK;

/* Completes a tokenizer made here, whose model is set: reads the other parts from a text like
 * tokenizer.json, which is ours, and finishes it. */
ath_status ath_tokenizer_build_parts(ath_tokenizer *self, const char *text) ATH_MUST_CHECK;

/* Is given each word in turn; the bytes are valid during the call. Another status than ATH_OK
 * ends the walk and is passed on. */
typedef ath_status (*ath_word_visitor)(void *context, const char *word, size_t length);

enum { ATH_BUILD_LETTERS = 0x144 }; /* one past the last letter's code point */
/* The tokens that byte-level BPE begins with, ATH_BPE_VOCAB_MIN of them: <s> <pad> </s> <unk>
 * <mask>, with roberta-base's ids but the last, and the letters of the 256 bytes by code point. */
ath_status ath_build_bpe_first_tokens(ath_word_visitor visit, void *context) ATH_MUST_CHECK;

/* Calls `visit` for each word that encoding this text would hand to the model: normalised, with
 * its Metaspace mark. Special tokens typed in the text are left out. ATH_INVALID, with the byte's
 * offset, for text that is not UTF-8. `scratch` belongs to the calling thread; start with {0},
 * free with ath_encoding_free. */
ath_status ath_tokenizer_each_word(const ath_tokenizer *self, const char *text, size_t length,
                                   ath_encoding *scratch, ath_word_visitor visit, void *context)
    ATH_MUST_CHECK;

#endif
