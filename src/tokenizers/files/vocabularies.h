/* vocabularies.h: the trees of a tokenizer.json out of files with words alone. */
#ifndef ATHANOR_TOKENIZERS_FILES_VOCABULARIES_H
#define ATHANOR_TOKENIZERS_FILES_VOCABULARIES_H

#include "tokenizers/files/convert.h"
#include "tokenizers/json.h"

/* BERT's vocab.txt, and what a tokenizer_config.json beside it says about case, accents and Chinese
 * characters; and vocab.json with merges.txt. The caller releases *tree. */
ath_status ath_bert_vocabulary_read(const char *path, ath_letter_case letters, json_t **tree)
    ATH_MUST_CHECK;
ath_status ath_byte_level_vocabulary_read(const char *vocab_path, const char *merges_path,
                                          json_t **tree) ATH_MUST_CHECK;

#endif
