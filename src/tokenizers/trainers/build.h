/* build.h: what the trainers need of the tokenizer: cutting text into the very words that the
 * model will see, and making a tokenizer of what training found. */
#ifndef ATHANOR_TOKENIZERS_BUILD_H
#define ATHANOR_TOKENIZERS_BUILD_H

#include <stdbool.h>

#include "athanor/tokenizer.h"
#include "tokenizers/json.h"
#include "tokenizers/trainers/word_count.h"

enum { ATH_OWN_SPECIALS = 5, ATH_WORD_LENGTH_MAX = 1 << 16 };
/* The memory of a training, unless the user says another. */
#define ATH_TRAINING_MEMORY ((uint64_t)4 << 30)

/* Everything about a tokenizer but its vocabulary, said as tokenizer.json says it. */
typedef struct ath_recipe {
  const char *specials[ATH_OWN_SPECIALS]; /* in the order of their ids, unless the user has one */
  const char *first, *last; /* of those, the tokens around a text */
  const char *mask;
  bool mask_strips; /* whether it takes the space before it */
  const char *normalizer, *pre_tokenizer, *decoder; /* NULL: none */
  const char *post_processor; /* a format: %1$d and %2$d are the ids of `first` and `last` */
  const char *word_cutter; /* the pre-tokeniser that gives the trainer its words; NULL: the same */
  bool reads_specials; /* whether special tokens that the text spells are text to the trainer */
} ath_recipe;

extern const ath_recipe ath_recipe_unigram; /* the "train from scratch" example of transformers */
extern const ath_recipe ath_recipe_bpe;     /* roberta-base */
extern const ath_recipe ath_recipe_bert;    /* bert-base-uncased */
extern const ath_recipe ath_recipe_bert_cased;

/* A tokenizer that is about to be made: the recipe and all its special tokens, by id. */
typedef struct ath_build {
  const ath_recipe *recipe;
  const char *specials[ATH_SPECIALS_MAX];
  size_t special_count;
} ath_build;

/* Checks what the user has said that concerns all trainers; the special tokens are not copied. */
ath_status ath_build_init(ath_build *self, const ath_recipe *recipe,
                          const ath_training_options *options) ATH_MUST_CHECK;
/* The id of a special token, or −1. */
int ath_build_special(const ath_build *self, const char *token, size_t length);

/* Writes the members of "model" in tokenizer.json. */
typedef void (*ath_model_writer)(const void *context, ath_json_writer *out);

/* Makes the tokenizer. A vocabulary that `write` cannot have meant is ATH_INVALID. */
ath_status ath_build_tokenizer(const ath_build *self, ath_model_writer write, const void *context,
                               ath_tokenizer **out) ATH_MUST_CHECK;

/* Counts the words that the model would see, in files with any text. `bytes_per_letter` is the
 * memory that the trainer needs for each byte of the distinct words. */
ath_status ath_build_count_words(const ath_build *self, const char *const *paths,
                                 size_t path_count, const ath_training_options *options,
                                 size_t bytes_per_letter, ath_word_list *out,
                                 ath_training_report *report) ATH_MUST_CHECK;
/* The tokenizer that cuts these words; it has no vocabulary. */
ath_status ath_build_cutter(const ath_build *self, ath_tokenizer **out) ATH_MUST_CHECK;
/* How many threads the options mean. */
int ath_training_threads(const ath_training_options *options);

/* A piece of a Unigram vocabulary: UTF-8 without NUL, and its log probability. */
typedef struct ath_unigram_piece {
  const char *text;
  double score;
} ath_unigram_piece;

/* Makes a Unigram tokenizer of the special tokens, with score 0, and behind them `pieces` (copied),
 * their scores rounded to 15 digits, which every JSON reader reads alike. ATH_INVALID for a doubled
 * piece, one that is a special token, or a score that is not finite. */
ath_status ath_build_unigram(const ath_build *self, const ath_unigram_piece *pieces, size_t count,
                             ath_tokenizer **out) ATH_MUST_CHECK;

#endif
