/* merge_training.h: what the trainers of BPE and WordPiece have in common: all but the first
 * symbols and the way in which a word is spelled with them. */
#ifndef ATHANOR_TOKENIZERS_MERGE_TRAINING_H
#define ATHANOR_TOKENIZERS_MERGE_TRAINING_H

#include "tokenizers/trainers/build.h"
#include "tokenizers/trainers/learn_merges.h"

/* Start with {0}; whatever happens, end it. */
typedef struct ath_merge_training {
  ath_training_options options;
  ath_build build;
  ath_token_list tokens; /* special ones first */
  ath_word_list words;   /* until they are spelled */
  ath_word_rows rows;
  ath_merge_list merges;
  ath_training_report report;
} ath_merge_training;

/* Checks the options, and adds the special tokens. */
ath_status ath_merge_training_begin(ath_merge_training *self, const ath_recipe *recipe,
                                    const ath_training_options *options) ATH_MUST_CHECK;
ath_status ath_merge_training_count(ath_merge_training *self, const char *const *paths,
                                    size_t path_count) ATH_MUST_CHECK;
/* ATH_INVALID when there are more tokens before the first merge than asked for. */
ath_status ath_merge_training_check_size(const ath_merge_training *self,
                                         const char *first_tokens) ATH_MUST_CHECK;
/* Learns the merges of the rows, once the words are spelled, and makes the tokenizer, whose model
 * `write` describes from this object. The wish's vocab_size is set here; `report` may be NULL. */
ath_status ath_merge_training_finish(ath_merge_training *self, ath_merge_wish *wish,
                                     ath_model_writer write, ath_tokenizer **out,
                                     ath_training_report *report) ATH_MUST_CHECK;
/* Writes the member "vocab". */
void ath_merge_training_write_vocab(const ath_merge_training *self, ath_json_writer *out);
void ath_merge_training_end(ath_merge_training *self);

#endif
