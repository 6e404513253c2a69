/* unigram.c: the Unigram model (Kudo 2018): of all ways to cut a word into pieces of the
 * vocabulary, the one with the greatest sum of log probabilities.
 *
 * {"type": "Unigram", "unk_id": 2, "vocab": [["▁the", -3.1], …], "byte_fallback": false}
 *
 * Sums are taken in double precision from left to right and a place's best path is replaced only
 * by a strictly better one, so ties fall as in the reference library. */
#include "tokenizers/models/unigram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizers/json_rows.h"
#include "tokenizers/models/kinds.h"
#include "tokenizers/models/vocabulary.h"
#include "tokenizers/models/word_cache.h"

static const double UNKNOWN_PENALTY = 10; /* below the least score of the vocabulary */
enum { WINDOW_MIN = 8 }; /* more than the bytes of a character */

/* --- the vocabulary ------------------------------------------------------------------------ */

static int32_t size(const void *data) { return ((const ath_unigram *)data)->count; }

static int32_t find_id(const void *data, const char *token, size_t length) {
  const ath_unigram *self = data;
  ath_trie_node node = ath_trie_root(&self->trie);
  for (size_t i = 0; i < length; i++)
    if (!ath_trie_step(&self->trie, &node, (uint8_t)token[i])) return -1;
  return ath_trie_value(&self->trie, node);
}

static const char *find_token(const void *data, int32_t id, size_t *length) {
  const ath_unigram *self = data;
  if (id < 0 || id >= self->count) return NULL;
  *length = self->pieces[id].length;
  return self->pieces[id].bytes;
}

/* --- making one ---------------------------------------------------------------------------- */

static ath_status out_of_memory(void) {
  return ath_fail(ATH_NO_MEMORY, "no memory for the vocabulary");
}

ath_status ath_unigram_create(ath_arena *arena, size_t count, ath_unigram **out) {
  ath_unigram *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  self->arena = arena;
  self->capacity = count;
  self->unknown = -1;
  self->pieces = ath_arena_alloc(arena, count * sizeof *self->pieces);
  self->scores = ath_arena_alloc(arena, count * sizeof *self->scores);
  if (self->pieces == NULL || self->scores == NULL) return ATH_NO_MEMORY;
  *out = self;
  return ATH_OK;
}

/* `bytes` must live as long as the model. */
void ath_unigram_add(ath_unigram *self, const char *bytes, size_t length, double score) {
  assert((size_t)self->count < self->capacity && isfinite(score));
  self->pieces[self->count] = (ath_unigram_entry){bytes, (uint32_t)length};
  self->scores[self->count++] = score;
}

/* The number of the first piece that is there twice, or −1. `keys` are sorted. */
static int32_t find_double(const ath_trie_key *keys, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (keys[i].length == keys[i - 1].length &&
        memcmp(keys[i].bytes, keys[i - 1].bytes, keys[i].length) == 0)
      return keys[i].value > keys[i - 1].value ? keys[i].value : keys[i - 1].value;
  return -1;
}

ath_status ath_unigram_finish(ath_unigram *self, int32_t *doubled) {
  assert(self->arena != NULL && self->trie.units == NULL);
  *doubled = -1;
  size_t count = (size_t)self->count, keyed = 0;
  ath_trie_key *keys = malloc((count + 1) * sizeof *keys);
  if (keys == NULL) return out_of_memory();
  self->least = INFINITY;
  self->window = WINDOW_MIN;
  for (size_t i = 0; i < count; i++) {
    if (self->scores[i] < self->least) self->least = self->scores[i];
    while (self->window <= self->pieces[i].length) self->window *= 2;
    if (self->pieces[i].length > 0) /* an empty piece never matches */
      keys[keyed++] = (ath_trie_key){self->pieces[i].bytes, self->pieces[i].length, (int32_t)i};
  }
  ath_status status = ath_trie_sort(keys, keyed);
  *doubled = status == ATH_OK ? find_double(keys, keyed) : -1;
  if (status == ATH_OK && *doubled < 0)
    status = ath_trie_build(keys, keyed, self->arena, &self->trie);
  free(keys);
  if (status == ATH_OK && *doubled < 0) ath_byte_tokens_find(find_id, self, self->byte_ids);
  return status;
}

/* --- tokenizer.json ------------------------------------------------------------------------ */

/* A piece as it was read; its bytes lie behind those of the one before, each ended by a NUL. */
typedef struct row {
  uint32_t length;
  double score;
} row;

typedef struct reading {
  ath_json_rows rows;
  ath_buffer bytes, list; /* of rows */
} reading;

/* ["▁the", -3.1]; whole numbers are scores as well. */
static ath_status read_row(reading *self) {
  static const char what[] = "[piece, score]";
  ath_json_slice piece;
  row r;
  ATH_TRY(ath_json_rows_mark(&self->rows, '[', what));
  ATH_TRY(ath_json_rows_string(&self->rows, &piece));
  ATH_TRY(ath_json_slice_keep(piece, &self->bytes));
  ATH_TRY(ath_json_rows_mark(&self->rows, ',', what));
  ATH_TRY(ath_json_rows_number(&self->rows, &r.score));
  ATH_TRY(ath_json_rows_mark(&self->rows, ']', what));
  r.length = (uint32_t)piece.length; /* files are smaller than 2^32 bytes */
  return ath_buffer_append(&self->list, &r, sizeof r);
}

static ath_status read_rows(reading *self) {
  for (bool more;;) {
    ATH_TRY(ath_json_rows_next(&self->rows, &more, NULL));
    if (!more) return ATH_OK;
    if (self->rows.count > ATH_VOCAB_SIZE_MAX)
      return ath_json_fail(self->rows.json, ATH_INVALID, "more than %d pieces",
                           ATH_VOCAB_SIZE_MAX);
    ATH_TRY(read_row(self));
  }
}

static ath_status make(const reading *self, ath_arena *arena, ath_unigram **out) {
  const row *rows = (const row *)(const void *)self->list.bytes;
  size_t count = self->list.length / sizeof *rows;
  ATH_TRY(ath_unigram_create(arena, count, out));
  const char *bytes = ath_arena_string_n(arena, self->bytes.bytes, self->bytes.length);
  if (bytes == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < count; i++) {
    ath_unigram_add(*out, bytes, rows[i].length, rows[i].score);
    bytes += rows[i].length + 1;
  }
  return ATH_OK;
}

static ath_status read_vocabulary(const ath_json *json, ath_arena *arena, ath_unigram **out) {
  reading self;
  ath_status status = ath_json_rows_open(json, '[', &self.rows);
  size_t most = ath_json_rows_left(&self.rows);
  self.bytes = ath_buffer_make(most);
  self.list = ath_buffer_make(most * sizeof(row));
  if (status == ATH_OK) status = ath_buffer_reserve(&self.bytes, most);
  if (status == ATH_OK) status = read_rows(&self);
  if (status == ATH_OK) status = make(&self, arena, out);
  ath_json_rows_close(&self.rows);
  ath_buffer_free(&self.bytes);
  ath_buffer_free(&self.list);
  return status;
}

/* "unk_id" may be null: then a text that needs it is refused when it is encoded. */
static ath_status read_unknown(const ath_json *json, ath_unigram *self) {
  ath_json member = ath_json_member(json, "unk_id");
  if (ath_json_absent(&member)) return ATH_OK;
  int64_t id;
  ATH_TRY(ath_json_integer(&member, 0, INT32_MAX, &id));
  if (id >= self->count)
    return ath_json_fail(&member, ATH_INVALID, "%lld is not in the vocabulary of %d pieces",
                         (long long)id, self->count);
  self->unknown = (int32_t)id;
  return ATH_OK;
}

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "unk_id", "vocab", "byte_fallback", NULL};
  ath_json_check_keys(json, known);
  ath_json vocab = ath_json_member(json, "vocab");
  ath_unigram *self;
  ATH_TRY(read_vocabulary(&vocab, arena, &self));
  ATH_TRY(read_unknown(json, self));
  ath_json fallback = ath_json_member(json, "byte_fallback");
  ATH_TRY(ath_json_flag(&fallback, &self->byte_fallback));
  int32_t doubled;
  ATH_TRY(ath_unigram_finish(self, &doubled));
  if (doubled >= 0) {
    ath_json entry = ath_json_item(&vocab, (size_t)doubled);
    return ath_json_fail(&entry, ATH_INVALID, "the piece \"%.100s\" is there twice",
                         self->pieces[doubled].bytes);
  }
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const ath_unigram *self = data;
  if (self->unknown < 0) ath_json_put_null(out, "unk_id");
  else ath_json_put_integer(out, "unk_id", self->unknown);
  ath_json_open(out, "vocab", '[');
  for (int32_t i = 0; i < self->count; i++) {
    ath_json_open(out, NULL, '[');
    ath_json_put_string(out, NULL, self->pieces[i].bytes, self->pieces[i].length);
    ath_json_put_number(out, NULL, self->scores[i]);
    ath_json_close(out, ']');
  }
  ath_json_close(out, ']');
  ath_json_put_flag(out, "byte_fallback", self->byte_fallback);
}

/* --- the best path ------------------------------------------------------------------------- */

#define UNREACHED UINT32_MAX
typedef struct place { /* a byte offset inside the word, which the best path there … */
  uint32_t start; /* … reaches from here */
  int32_t id;     /* … by this piece */
} place;

/* Scores are kept of as many places as a piece may reach over, and one: a long word, which has
 * places for each of its bytes, then takes half the memory. */
typedef struct lattice {
  place *places;
  double *scores; /* of the best path to place p, at p & mask */
  size_t mask;
} lattice;

/* Ends a path at the place `end`, unless one that is as good is there. */
static inline void reach(const lattice *l, size_t end, double score, uint32_t start, int32_t id) {
  double *best = &l->scores[end & l->mask];
  if (l->places[end].start != UNREACHED && !(score > *best)) return;
  l->places[end] = (place){start, id};
  *best = score;
}

/* Enters every piece that begins at `start` into the places where they end. */
static void extend(const ath_unigram *self, const ath_text *word, uint32_t start, const lattice *l,
                   bool *has_single) {
  const uint8_t *bytes = (const uint8_t *)word->bytes;
  size_t single = start + ath_character_length(word->bytes[start]);
  assert(l->places[start].start != UNREACHED);
  double before = l->scores[start & l->mask];
  ath_trie_node node = ath_trie_root(&self->trie);
  *has_single = false;
  for (size_t end = start; end < word->length;) {
    if (!ath_trie_step(&self->trie, &node, bytes[end++])) break;
    int32_t id = ath_trie_value(&self->trie, node);
    if (id < 0) continue;
    reach(l, end, self->scores[id] + before, start, id);
    if (end == single) *has_single = true;
  }
}

static ath_status no_unknown(const ath_text *word, size_t at) {
  size_t length = ath_character_length(word->bytes[at]);
  return ath_fail(ATH_INVALID, "\"%.*s\" is in no piece of the vocabulary, and the model has no "
                  "unknown token (model.unk_id is null)", (int)length, word->bytes + at);
}

/* Fills in the best path to every place where a character begins, from left to right. */
static ath_status search(const ath_unigram *self, const ath_text *word, const lattice *l) {
  memset(l->places, 0xFF, (word->length + 1) * sizeof *l->places); /* UNREACHED */
  l->places[0] = (place){0, -1};
  l->scores[0] = 0;
  double unknown_score = self->least - UNKNOWN_PENALTY;
  for (uint32_t start = 0; start < word->length;) {
    uint32_t next = start + (uint32_t)ath_character_length(word->bytes[start]);
    bool has_single;
    extend(self, word, start, l, &has_single);
    if (!has_single) {
      if (self->unknown < 0 && l->places[next].start == UNREACHED) return no_unknown(word, start);
      if (self->unknown >= 0)
        reach(l, next, unknown_score + l->scores[start & l->mask], start, self->unknown);
    }
    start = next;
  }
  return ATH_OK;
}

/* Puts the bytes of word[start, end), the last first, as tokens that stand for all of it. Returns
 * how many there are; 0 when a byte has no token. */
static size_t put_bytes(const ath_unigram *self, const ath_text *word, size_t start, size_t end,
                        ath_word_piece *pieces) {
  size_t count = 0;
  for (size_t at = end; at > start; at--) {
    int32_t id = self->byte_ids[(uint8_t)word->bytes[at - 1]];
    if (id < 0) return 0;
    pieces[count++] = (ath_word_piece){id, (uint32_t)end};
  }
  return count;
}

/* Puts a run of unknown pieces, which becomes one; the reference looks that up again. */
static size_t put_unknown(const ath_unigram *self, const ath_text *word, size_t start, size_t end,
                          ath_word_piece *pieces) {
  int32_t whole = find_id(self, word->bytes + start, end - start);
  if (whole < 0 && self->byte_fallback) {
    size_t count = put_bytes(self, word, start, end, pieces);
    if (count > 0) return count;
  }
  *pieces = (ath_word_piece){whole >= 0 ? whole : self->unknown, (uint32_t)end};
  return 1;
}

/* Walks the best path back from the word's end; pieces come out last first. */
static size_t trace(const ath_unigram *self, const ath_text *word, const place *places,
                    ath_word_piece *pieces) {
  size_t count = 0, end = word->length;
  while (end > 0) {
    assert(places[end].start != UNREACHED);
    size_t start = places[end].start;
    int32_t id = places[end].id;
    if (id == self->unknown) {
      while (start > 0 && places[start].id == id) start = places[start].start;
      count += put_unknown(self, word, start, end, pieces + count);
    } else {
      pieces[count++] = (ath_word_piece){id, (uint32_t)end};
    }
    assert(start < end);
    end = start;
  }
  return count;
}

static void reverse(ath_word_piece *pieces, size_t count) {
  for (size_t i = 0; i < count / 2; i++) {
    ath_word_piece piece = pieces[i];
    pieces[i] = pieces[count - 1 - i];
    pieces[count - 1 - i] = piece;
  }
}

static ath_status cut(const void *model, ath_run *run, const ath_text *word,
                      ath_word_piece **pieces, size_t *count) {
  const ath_unigram *self = model;
  size_t places = word->length + 1;
  lattice l = {.mask = self->window - 1};
  l.scores = ath_run_scratch(run, ATH_SCRATCH_LATTICE,
                             self->window * sizeof *l.scores + places * sizeof *l.places);
  *pieces = ath_run_scratch(run, ATH_SCRATCH_PIECES, places * sizeof **pieces);
  if (l.scores == NULL || *pieces == NULL) return ATH_NO_MEMORY;
  l.places = (place *)(void *)(l.scores + self->window);
  ATH_TRY(search(self, word, &l));
  *count = trace(self, word, l.places, *pieces);
  reverse(*pieces, *count);
  return ATH_OK;
}

static ath_status encode(const void *data, ath_run *run, const ath_text *word) {
  return ath_word_encode(data, cut, ((const ath_unigram *)data)->unknown, run, word);
}

const ath_model_kind ath_model_unigram = {
  .base = {"Unigram", read, write},
  .encode = encode,
  .size = size,
  .id = find_id,
  .token = find_token,
};
