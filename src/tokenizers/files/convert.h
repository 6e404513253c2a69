/* convert.h: tokenizers out of other files than tokenizer.json. */
#ifndef ATHANOR_TOKENIZERS_FILES_CONVERT_H
#define ATHANOR_TOKENIZERS_FILES_CONVERT_H

#include <stdbool.h>

#include "athanor/tokenizer.h"

/* Whether BERT's letters are lowered: as a tokenizer_config.json says, else yes; or never. */
typedef enum ath_letter_case { ATH_CASE_CONFIGURED, ATH_CASE_KEPT } ath_letter_case;

typedef struct ath_convert_options {
  ath_letter_case letters;
  const char *pattern; /* how text with ranks is cut (files/tiktoken.h); NULL: by their number */
} ath_convert_options;

/* Makes the tokenizer that the files' own programs are, which transformers makes of them as well:
 * - a vocab.txt: BERT's WordPiece, by the do_lower_case, strip_accents and tokenize_chinese_chars
 *   of a tokenizer_config.json beside it;
 * - a folder with vocab.json and merges.txt, or either file: byte-level BPE, as RoBERTa has it
 *   where <s> and </s> are tokens, else as GPT-2 has it;
 * - a SentencePiece model, *.model: Unigram or BPE;
 * - a file of tiktoken's with ranks, *.tiktoken or *.model;
 * - a folder with one of these.
 * `options` may be NULL. ATH_NOT_FOUND when there is none of them; ATH_INVALID, with the file and
 * line, for what does not make a tokenizer. */
ath_status ath_tokenizer_convert(const char *path, const ath_convert_options *options,
                                 ath_tokenizer **out) ATH_MUST_CHECK;

/* The model_max_length of a tokenizer_config.json in the folder, or beside the file; 0: none. */
ath_status ath_tokenizer_given_length(const char *path, int64_t *out) ATH_MUST_CHECK;

/* Whether what is at `path` is one of these, by its name, or a folder without tokenizer.json. */
bool ath_tokenizer_needs_conversion(const char *path);

#endif
