/* added_tokens.h: tokens that are found in the text before anything else looks at it. */
#ifndef ATHANOR_TOKENIZERS_ADDED_TOKENS_H
#define ATHANOR_TOKENIZERS_ADDED_TOKENS_H

#include "tokenizers/pipeline.h"
#include "tokenizers/models/trie.h"

typedef struct ath_added_token {
  int32_t id;
  const char *content;
  size_t length;
  const char *form;   /* what decoders see: the content as the normaliser leaves it, when */
  size_t form_length; /* `normalized`; else the content */
  bool single_word;   /* not inside a word */
  bool lstrip, rstrip; /* takes the white space on that side with it */
  bool normalized;    /* looked for in the normalised text, not in the text as written */
  bool special;
} ath_added_token;

/* Finds tokens of one sort: the longest of those that begin leftmost. */
typedef struct ath_matcher {
  ath_trie trie;
  bool begins[256]; /* whether a token begins with this byte */
  int only;         /* the one with which all begin; −1: there are several */
  size_t count;
} ath_matcher;

typedef struct ath_added_tokens {
  ath_added_token *items; /* by ascending id */
  const ath_added_token **by_content; /* the same, in the order of their contents */
  size_t count;
  ath_matcher written, normalized;
} ath_added_tokens;

/* Reads the list "added_tokens", which may be missing. The id of a token is the model's, or the
 * next free one, as in the reference; another id in the file is warned of. */
ath_status ath_added_tokens_read(const ath_json *json, const ath_model *model,
                                 const ath_normalizer *normalizer, ath_arena *arena,
                                 ath_added_tokens *out) ATH_MUST_CHECK;
void ath_added_tokens_write(const ath_added_tokens *self, ath_json_writer *out);

/* The token of that id or content, or NULL. */
const ath_added_token *ath_added_tokens_by_id(const ath_added_tokens *self, int32_t id);
const ath_added_token *ath_added_tokens_by_content(const ath_added_tokens *self, const char *bytes,
                                                   size_t length);

/* Cuts a text at the matcher's tokens: emits those (unless `skip`), gives the rest to `next`. */
ath_status ath_added_tokens_split(const ath_added_tokens *self, const ath_matcher *matcher,
                                  ath_run *run, const ath_text *text, bool skip, ath_sink next)
    ATH_MUST_CHECK;

#endif
