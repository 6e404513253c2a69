/* whitespace.c: three ways to cut at white space.
 *
 * {"type": "WhitespaceSplit"}: what stands between white space
 * {"type": "Whitespace"}: runs of word characters and runs of others: \w+|[^\w\s]+
 * {"type": "BertPreTokenizer"}: what stands between white space, punctuation each for itself */
#include "tokenizers/character_tables.h"
#include "tokenizers/characters.h"
#include "tokenizers/pre_tokenizers/cutter.h"
#include "tokenizers/pre_tokenizers/kinds.h"

/* What kind of word a character may be in. */
typedef enum sort { SPACE, ALONE, WORD, OTHER } sort;

static sort sort_for_split(unsigned flags) {
  return (flags & ATH_IS_WHITE_SPACE) != 0 ? SPACE : WORD;
}

static sort sort_for_bert(unsigned flags) {
  if ((flags & ATH_IS_PUNCTUATION) != 0) return ALONE;
  return sort_for_split(flags);
}

static sort sort_for_words(unsigned flags) {
  if ((flags & ATH_IS_WORD) != 0) return WORD;
  return (flags & ATH_IS_WHITE_SPACE) != 0 ? SPACE : OTHER;
}

/* Hands on each longest run of one sort, but of white space, and each character that is alone.
 * Inlined into its three callers, so that the sorting is too. */
static inline __attribute__((always_inline)) ath_status cut(sort (*sort_of)(unsigned flags),
                                                            ath_run *run, const ath_text *text,
                                                            ath_sink next) {
  sort last = SPACE;
  size_t from = 0;
  for (size_t at = 0; at <= text->length;) {
    sort found = SPACE;
    if (at < text->length)
      found = sort_of(ath_character_look_up(ath_character_at(text->bytes, at))->flags);
    if ((found != last || found == ALONE) && last != SPACE) {
      ath_text word = ath_text_slice(text, from, at);
      ATH_TRY(next.take(next.context, run, &word));
    }
    if (found != last || found == ALONE) from = at;
    last = found;
    at += at < text->length ? ath_character_length(text->bytes[at]) : 1;
  }
  return ATH_OK;
}

static ath_status split_whitespace(const void *data, ath_run *run, const ath_text *text,
                                   ath_sink next) {
  (void)data;
  return cut(sort_for_split, run, text, next);
}

static ath_status split_words(const void *data, ath_run *run, const ath_text *text,
                              ath_sink next) {
  (void)data;
  return cut(sort_for_words, run, text, next);
}

static ath_status split_bert(const void *data, ath_run *run, const ath_text *text, ath_sink next) {
  (void)data;
  return cut(sort_for_bert, run, text, next);
}

const ath_pre_tokenizer_kind ath_pre_tokenizer_whitespace_split = {
    {"WhitespaceSplit", ath_read_nothing, ath_write_nothing}, split_whitespace,
    ath_needs_no_origins};
const ath_pre_tokenizer_kind ath_pre_tokenizer_whitespace = {
    {"Whitespace", ath_read_nothing, ath_write_nothing}, split_words, ath_needs_no_origins};
const ath_pre_tokenizer_kind ath_pre_tokenizer_bert = {
    {"BertPreTokenizer", ath_read_nothing, ath_write_nothing}, split_bert, ath_needs_no_origins};
