/* convert.h: tokenizers out of the files that came before tokenizer.json. */
#ifndef ATHANOR_TOKENIZERS_FILES_CONVERT_H
#define ATHANOR_TOKENIZERS_FILES_CONVERT_H

#include "athanor/tokenizer.h"

typedef enum ath_letter_case { ATH_CASE_LOWERED, ATH_CASE_KEPT } ath_letter_case;

/* Makes the tokenizer that transformers makes of the same files:
 * - a vocab.txt, or a folder with one: BERT's WordPiece, whose text is lowered if so asked;
 * - a folder with vocab.json and merges.txt: byte-level BPE, as RoBERTa has it where <s> and </s>
 *   are tokens, else as GPT-2 has it. Its letters always stay as they are.
 * ATH_NOT_FOUND when there is none of them; ATH_INVALID, with the file and line, for what does not
 * make a tokenizer. */
ath_status ath_tokenizer_convert(const char *path, ath_letter_case letters,
                                 ath_tokenizer **out) ATH_MUST_CHECK;

#endif
