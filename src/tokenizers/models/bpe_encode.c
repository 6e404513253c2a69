/* bpe_encode.c: words to tokens by a BPE model.
 *
 * A word's characters become symbols, which merge. Usual words come from the cache; new ones of
 * up to 64 bytes are merged by scanning. Longer ones go through windows that overlap:
 *
 *   first   |--a--|--b--|--c--|-d-|
 *   second        |--b--|--e--|--f--|-g-|       →  a b e f …
 *
 * Tokens that stay apart when a pair of neighbours is merged alone stay apart in any row of which
 * all neighbours do: a merge that crossed a boundary first of all would do so in the pair as well,
 * since until then nothing has reached into it. So a window that begins at a boundary of the one
 * before, and begins with the same token, goes on where that one may end. */
#include <stdlib.h>
#include <string.h>

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/models/bpe_symbols.h"

/* --- words of one piece --------------------------------------------------------------------- */

/* Whether the word is a token that is left whole. */
static bool find_whole(const ath_bpe *self, bool raw, const ath_text *word,
                       ath_word_piece *piece) {
  if (!self->ignore_merges || self->dropout > 0) return false;
  const char *name = word->bytes;
  size_t length = word->length;
  char letters[2 * ATH_BPE_WHOLE_MAX];
  if (raw) {
    if (length > ATH_BPE_WHOLE_MAX) return false;
    length = (size_t)(ath_write_byte_letters(letters, name, length) - letters);
    name = letters;
  }
  int32_t id = ath_vocabulary_id(&self->vocabulary, name, length);
  *piece = (ath_word_piece){id, (uint32_t)word->length};
  return id >= 0;
}

static ath_status merge(const ath_bpe *self, ath_run *run, ath_word_piece *symbols,
                        size_t *count) {
  if (self->dropout > 0)
    return ath_merges_apply_some(&self->merges, run, self->dropout, run->out->length, symbols,
                                 count);
  if (*count > ATH_MERGE_SHORT || !self->merges.growing)
    return ath_merges_apply(&self->merges, run, symbols, count);
  *count = ath_merges_apply_short(&self->merges, symbols, *count);
  return ATH_OK;
}

/* The tables by which the next words, so many of them, are cut without merging; NULL: there are
 * none. */
static ath_status find_merged(const ath_bpe *self, const ath_run *run, size_t words,
                              const ath_merged_tokens **out) {
  *out = NULL;
  if (!run->raw || self->dropout > 0 || self->prefix.length + self->suffix.length > 0)
    return ATH_OK;
  return ath_merged_lazy_get(self->merged, &self->merges, self->bytes[0], words, out);
}

/* All symbols of the word at once. */
static ath_status cut(const void *model, ath_run *run, const ath_text *word,
                      ath_word_piece **pieces, size_t *count) {
  const ath_bpe *self = model;
  size_t most = word->length + 2 * ath_bpe_symbols_per_character(self);
  *pieces = ath_run_scratch(run, ATH_SCRATCH_PIECES, most * sizeof **pieces);
  if (*pieces == NULL) return ATH_NO_MEMORY;
  *count = 1;
  if (find_whole(self, run->raw, word, *pieces)) return ATH_OK;
  const ath_merged_tokens *merged;
  ATH_TRY(find_merged(self, run, 1, &merged));
  if (merged != NULL && word->length <= ATH_MERGED_WORD_MAX) {
    *count = ath_merged_tokens_cut(merged, word->bytes, word->length, *pieces);
    return ATH_OK;
  }
  ath_bpe_reader r = {.model = self, .word = word, .out = *pieces, .raw = run->raw};
  ATH_TRY(ath_bpe_read_symbols(&r, SIZE_MAX));
  *count = r.count;
  return merge(self, run, *pieces, count);
}

/* --- words of many windows ------------------------------------------------------------------ */

typedef struct window {
  ath_bpe_reader symbols; /* from the window's beginning on, twice its width or all there are */
  size_t capacity; /* of each array */
  size_t width;    /* symbols that are merged at once */
  size_t start;    /* byte of the word where the window begins */
  ath_word_piece *tokens, *next; /* of this window, and of the one that follows */
  size_t count, next_count;
} window;

/* Makes room for windows of the width, and keeps the symbols. */
static ath_status grow(window *self, ath_run *run) {
  ath_bpe_reader *symbols = &self->symbols;
  size_t size = sizeof *symbols->out;
  size_t capacity = self->width * 2 + 2 * ath_bpe_symbols_per_character(symbols->model);
  ath_word_piece *kept = malloc((symbols->count + 1) * size);
  if (kept == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a long word");
  if (symbols->count > 0) memcpy(kept, symbols->out, symbols->count * size);
  symbols->out = ath_run_scratch(run, ATH_SCRATCH_PIECES, 3 * capacity * size);
  if (symbols->out != NULL && symbols->count > 0)
    memcpy(symbols->out, kept, symbols->count * size);
  free(kept);
  if (symbols->out == NULL) return ATH_NO_MEMORY;
  self->tokens = symbols->out + capacity;
  self->next = self->tokens + capacity;
  self->capacity = capacity;
  return ATH_OK;
}

/* Merges the symbols of a window that begins at symbol `from`. */
static ath_status merge_window(window *self, ath_run *run, size_t from, ath_word_piece *tokens,
                               size_t *count) {
  const ath_bpe_reader *symbols = &self->symbols;
  *count = symbols->count - from < self->width ? symbols->count - from : self->width;
  assert(*count > 0 && *count <= self->capacity);
  memcpy(tokens, symbols->out + from, *count * sizeof *tokens);
  return merge(symbols->model, run, tokens, count);
}

static bool reaches_the_end(const window *self) {
  return self->symbols.at == self->symbols.word->length && self->symbols.count <= self->width;
}

/* The first token that ends in the window's second half, if there is one after it. */
static bool find_split(const window *self, size_t *token) {
  uint32_t half = self->symbols.out[self->width / 2].end;
  for (*token = 0; *token + 1 < self->count; ++*token)
    if (self->tokens[*token].end >= half) return true;
  return false;
}

/* Whether the symbols from `from` on are those of this window, over again. */
static bool repeats(const window *self, size_t from) {
  const ath_word_piece *symbols = self->symbols.out;
  if (self->symbols.count - from < self->width) return false;
  uint32_t shift = symbols[from].end - symbols[0].end, different = 0;
  for (size_t i = 0; i < self->width; i++)
    different |= (uint32_t)(symbols[from + i].id ^ symbols[i].id) |
                 ((symbols[from + i].end - symbols[i].end) ^ shift);
  return different == 0;
}

/* Finds the tokens of the window that begins at symbol `from`. */
static ath_status find_next(window *self, ath_run *run, size_t from) {
  if (!repeats(self, from))
    return merge_window(self, run, from, self->next, &self->next_count);
  uint32_t shift = self->symbols.out[from].end - self->symbols.out[0].end;
  for (size_t i = 0; i < self->count; i++)
    self->next[i] = (ath_word_piece){self->tokens[i].id, self->tokens[i].end + shift};
  self->next_count = self->count;
  return ATH_OK;
}

/* Goes on to the next window, which begins at symbol `from`. */
static void advance(window *self, size_t from) {
  ath_bpe_reader *symbols = &self->symbols;
  self->start = symbols->out[from - 1].end;
  symbols->count -= from;
  memmove(symbols->out, symbols->out + from, symbols->count * sizeof *symbols->out);
  ath_word_piece *tokens = self->tokens;
  self->tokens = self->next;
  self->count = self->next_count;
  self->next = tokens;
}

/* Emits tokens up to a place where the next window may begin, and goes there; *joined tells whether
 * there is one. */
static ath_status join(window *self, ath_run *run, bool *joined) {
  size_t token, from;
  *joined = false;
  if (!find_split(self, &token)) return ATH_OK;
  uint32_t end = self->tokens[token].end;
  for (from = 1; self->symbols.out[from - 1].end != end; from++) assert(from < self->width);
  ATH_TRY(find_next(self, run, from));
  *joined = self->next[0].end == self->tokens[token + 1].end;
  if (!*joined) return ATH_OK;
  ATH_TRY(ath_word_emit(run, self->symbols.word, self->start, self->tokens, token + 1, -1));
  advance(self, from);
  return ATH_OK;
}

/* Encodes as long as windows can be joined: *whole tells whether all was. Where they cannot, they
 * become wider; but the first token must stay, for what is before it is emitted. */
static ath_status encode_windows(window *self, ath_run *run, bool *whole) {
  for (bool joined = false;;) {
    uint32_t first = self->start > 0 ? self->tokens[0].end : 0;
    if (!joined) ATH_TRY(grow(self, run));
    ATH_TRY(ath_bpe_read_symbols(&self->symbols, 2 * self->width));
    *whole = true;
    if (self->symbols.count == 0) return ATH_OK;
    if (!joined) {
      ATH_TRY(merge_window(self, run, 0, self->tokens, &self->count));
      *whole = first == 0 || self->tokens[0].end == first;
      if (!*whole) return ATH_OK;
    }
    if (reaches_the_end(self))
      return ath_word_emit(run, self->symbols.word, self->start, self->tokens, self->count, -1);
    ATH_TRY(join(self, run, &joined));
    if (!joined) self->width *= 2;
  }
}

static ath_status encode_whole(const ath_bpe *self, ath_run *run, const ath_text *word) {
  ath_word_piece *pieces;
  size_t count;
  ATH_TRY(cut(self, run, word, &pieces, &count));
  return ath_word_emit(run, word, 0, pieces, count, -1);
}

static ath_status encode_long(const ath_bpe *self, ath_run *run, const ath_text *word) {
  window w = {.symbols = {.model = self, .word = word, .raw = run->raw},
              .width = ATH_MERGE_SHORT};
  ath_word_piece piece;
  if (find_whole(self, run->raw, word, &piece)) return ath_word_emit(run, word, 0, &piece, 1, -1);
  size_t before = run->out->length;
  bool whole;
  ATH_TRY(encode_windows(&w, run, &whole));
  if (whole) return ATH_OK;
  run->out->length = before;
  return encode_whole(self, run, word);
}

/* --- words ---------------------------------------------------------------------------------- */

static ath_status encode_part(const void *data, ath_run *run, const ath_text *word) {
  const ath_bpe *self = data;
  bool joins = self->merges.growing && self->dropout == 0 &&
               !(self->byte_fallback && self->prefix.length + self->suffix.length > 0);
  if (self->dropout > 0) return encode_whole(self, run, word);
  if (word->length <= ATH_MERGE_SHORT || !joins)
    return ath_word_encode(self, cut, -1, run, word);
  const ath_merged_tokens *merged;
  ATH_TRY(find_merged(self, run, 1, &merged));
  if (merged != NULL && word->length <= ATH_MERGED_WORD_MAX) return encode_whole(self, run, word);
  return encode_long(self, run, word);
}

/* Where the first part of a text that begins at `from` may end: before a mark. */
static size_t part_end(const ath_bpe *self, const ath_text *text, size_t from) {
  const char *bytes = text->bytes, *end = bytes + text->length;
  for (const char *at = bytes + from + 1; at < end; at++) {
    at = memchr(at, '\xE2', (size_t)(end - at));
    if (at == NULL) break;
    if (at[1] == '\x96' && at[2] == '\x81' && !self->joins_mark[(uint8_t)at[-1]])
      return (size_t)(at - bytes);
  }
  return text->length;
}

/* The symbols of a short word, no more than it has bytes, as there are no affixes; or what becomes
 * of them, where there are tables for that. */
static ath_status read_row(const ath_bpe *self, const ath_run *run,
                           const ath_merged_tokens *merged, const ath_text *word,
                           ath_merge_row *row) {
  row->count = 1;
  if (find_whole(self, run->raw, word, row->symbols)) return ATH_OK;
  if (merged != NULL) {
    row->count = (uint32_t)ath_merged_tokens_cut(merged, word->bytes, word->length, row->symbols);
    return ATH_OK;
  }
  ath_bpe_reader r = {.model = self, .word = word, .out = row->symbols};
  if (!run->raw) ATH_TRY(ath_bpe_read_symbols(&r, SIZE_MAX));
  assert(word->length <= ATH_MERGE_ROW);
  for (; run->raw && r.count < word->length; r.count++) {
    int32_t id = self->bytes[0][(uint8_t)word->bytes[r.count]];
    r.out[r.count] = (ath_word_piece){id, (uint32_t)r.count + 1};
  }
  assert(r.count <= ATH_MERGE_ROW);
  row->count = (uint32_t)r.count;
  return ATH_OK;
}

static ath_status cut_words(const void *model, ath_run *run, ath_word_cut *words, size_t count) {
  const ath_bpe *self = model;
  static_assert((int)ATH_WORD_KEY_BYTES <= (int)ATH_MERGE_ROW, "a word that is kept fits a row");
  assert(count <= ATH_WORDS_MAX);
  ath_merge_row *rows = ath_run_scratch(run, ATH_SCRATCH_ROWS, ATH_WORDS_MAX * sizeof *rows);
  if (rows == NULL) return ATH_NO_MEMORY;
  const ath_merged_tokens *merged;
  ATH_TRY(find_merged(self, run, count, &merged));
  for (size_t i = 0; i < count; i++) ATH_TRY(read_row(self, run, merged, &words[i].word, &rows[i]));
  if (merged == NULL) ath_merges_apply_rows(&self->merges, rows, count);
  for (size_t i = 0; i < count; i++) {
    words[i].pieces = rows[i].symbols;
    words[i].count = rows[i].count;
  }
  return ATH_OK;
}

static ath_status encode_all(const ath_bpe *self, ath_run *run, const ath_words *words) {
  bool in_rows = self->merges.growing && self->prefix.length + self->suffix.length == 0;
  const ath_words_encoder how = {encode_part, in_rows ? cut_words : NULL, -1, ATH_SCRATCH_CACHE};
  return ath_words_encode(self, &how, run, words);
}

/* The parts of a text that is cut at marks. */
static ath_status encode_parts(const ath_bpe *self, ath_run *run, const ath_text *text) {
  ath_words parts;
  parts.text = text;
  parts.count = 0;
  for (size_t from = 0, to; from < text->length; from = to) {
    to = part_end(self, text, from);
    parts.places[parts.count++] = (ath_origin){(uint32_t)from, (uint32_t)to};
    if (parts.count < ATH_WORDS_MAX && to < text->length) continue;
    ATH_TRY(encode_all(self, run, &parts));
    parts.count = 0;
  }
  return ATH_OK;
}

static bool cuts(const ath_bpe *self, const ath_run *run) {
  return self->cuts_at_mark && !run->raw;
}

ath_status ath_bpe_encode(const void *data, ath_run *run, const ath_text *word) {
  const ath_bpe *self = data;
  assert(word->length > 0);
  return cuts(self, run) ? encode_parts(self, run, word) : encode_part(self, run, word);
}

ath_status ath_bpe_encode_words(const void *data, ath_run *run, const ath_words *words) {
  const ath_bpe *self = data;
  if (!cuts(self, run) && self->dropout == 0)
    return encode_all(self, run, words);
  for (size_t i = 0; i < words->count; i++) {
    ath_text word = ath_words_at(words, i);
    ATH_TRY(ath_bpe_encode(self, run, &word));
  }
  return ATH_OK;
}
