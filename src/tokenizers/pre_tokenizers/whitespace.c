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

/* What the pre-tokeniser keeps: the sorts of ASCII, which most text is of. */
typedef struct table {
  uint8_t sorts[128];
} table;

typedef sort sorting(unsigned flags);

static ath_status fill(sorting *sort_of, ath_arena *arena, void **data) {
  table *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  for (uint32_t c = 0; c < 128; c++)
    self->sorts[c] = (uint8_t)sort_of(ath_character_look_up(c)->flags);
  *data = self;
  return ATH_OK;
}

static sort sort_at(const table *self, sorting *sort_of, const ath_text *text, size_t at) {
  uint8_t byte = (uint8_t)text->bytes[at];
  if (byte < 0x80) return (sort)self->sorts[byte];
  return sort_of(ath_character_look_up(ath_character_at(text->bytes, at))->flags);
}

/* Hands on each longest run of one sort, but of white space, and each character that is alone. */
static ath_status cut(const table *self, sorting *sort_of, ath_run *run, const ath_text *text,
                      ath_sink next) {
  for (size_t at = 0; at < text->length;) {
    size_t from = at;
    sort first = sort_at(self, sort_of, text, at);
    do at += ath_character_length(text->bytes[at]);
    while (first != ALONE && at < text->length && sort_at(self, sort_of, text, at) == first);
    if (first == SPACE) continue;
    ath_text word = ath_text_slice(text, from, at);
    ATH_TRY(next.take(next.context, run, &word));
  }
  return ATH_OK;
}

static ath_border border(const void *data, uint8_t character) {
  switch ((sort)((const table *)data)->sorts[character]) {
    case SPACE: return ATH_BORDER_GOES;
    case ALONE: return ATH_BORDER_STANDS;
    default: return ATH_NO_BORDER;
  }
}

#define KIND(name, type, sort_of)                                                             \
  static ath_status read_##name(const ath_json *json, ath_arena *arena, void **data) {        \
    ATH_TRY(ath_read_nothing(json, arena, data));                                             \
    return fill(sort_of, arena, data);                                                        \
  }                                                                                           \
  static ath_status split_##name(const void *data, ath_run *run, const ath_text *text,        \
                                 ath_sink next) {                                             \
    return cut(data, sort_of, run, text, next);                                               \
  }                                                                                           \
  const ath_pre_tokenizer_kind ath_pre_tokenizer_##name = {                                   \
      {type, read_##name, ath_write_nothing}, split_##name, ath_needs_no_origins, border}

KIND(whitespace_split, "WhitespaceSplit", sort_for_split);
KIND(whitespace, "Whitespace", sort_for_words);
KIND(bert, "BertPreTokenizer", sort_for_bert);
