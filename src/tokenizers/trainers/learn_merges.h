/* learn_merges.h: byte-pair encoding (Sennrich, Haddow, Birch, ACL 2016), whatever the symbols are:
 * the merges of `tokenizers`' trainer, in its order. */
#ifndef ATHANOR_TOKENIZERS_LEARN_MERGES_H
#define ATHANOR_TOKENIZERS_LEARN_MERGES_H

#include "tokenizers/models/merges.h"
#include "tokenizers/trainers/token_list.h"
#include "tokenizers/trainers/word_rows.h"

typedef struct ath_merge_wish {
  int32_t vocab_size;       /* tokens to stop at; at most ATH_MERGE_IDS_MAX */
  uint64_t min_frequency;   /* a pair seen less often is not merged; 0 is as 1 */
  uint32_t max_token_length; /* tokens of two symbols and more stay below so many; 0: no limit */
  const char *prefix;       /* of tokens inside a word, "" for none: "##" */
} ath_merge_wish;

typedef struct ath_merge_list {
  ath_merge *items; /* the caller frees it */
  size_t count, capacity;
} ath_merge_list;

/* Merges pairs in the rows, which hold symbols that are tokens already, and adds what they make to
 * the tokens, until there are enough or no pair is left. The same pair may be merged twice, when
 * its parts came about in two ways, as in the reference. Start with an empty list. */
ath_status ath_merges_learn(ath_word_rows *rows, ath_token_list *tokens,
                            const ath_merge_wish *wish, ath_merge_list *merges) ATH_MUST_CHECK;

#endif
