/* word_cache.c: a table of lines that hold two words each, and encoding by it. */
#include "tokenizers/models/word_cache.h"

#include <string.h>

#include "base/mix.h"
#include "base/utf8.h"

ath_word_cache *ath_word_cache_of(ath_run *run, int scratch) {
  return ath_run_scratch(run, scratch, sizeof(ath_word_cache));
}

/* --- keys ----------------------------------------------------------------------------------- */

/* The first bytes of sixteen, as two words; the others are zero, though they can be read. */
static inline void load_some(const char *bytes, size_t count, uint64_t words[2]) {
  static const uint8_t ones[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                   255, 255, 255, 255, 255, 255, 255, 255};
  uint64_t masks[2];
  assert(count <= 16);
  memcpy(words, bytes, sizeof masks);
  memcpy(masks, ones + 16 - count, sizeof masks);
  words[0] &= masks[0];
  words[1] &= masks[1];
}

/* The last words of a text, which nothing follows that could be read. */
static void load_end(const char *bytes, size_t length, uint64_t words[4]) {
  char room[ATH_WORD_KEY_BYTES] = {0};
  memcpy(room, bytes, length);
  memcpy(words, room, sizeof room);
}

static inline void load_words(const char *bytes, size_t length, size_t readable,
                              uint64_t words[4]) {
  if (readable < ATH_WORD_KEY_BYTES) {
    load_end(bytes, length, words);
    return;
  }
  load_some(bytes, length < 16 ? length : 16, words);
  words[2] = words[3] = 0;
  if (length > 16) load_some(bytes + 16, length - 16, words + 2);
}

static inline bool make_key(const ath_text *text, size_t from, size_t to, ath_word_key *out) {
  uint64_t *w = out->words;
  size_t length = to - from;
  if (length > ATH_WORD_KEY_BYTES) return false;
  load_words(text->bytes + from, length, text->length - from, w);
  out->length = (uint32_t)length;
  uint64_t hash = ath_mix(w[0] ^ UINT64_C(0x9E3779B97F4A7C15) ^ length,
                      w[1] ^ UINT64_C(0xD6E8FEB86659FD93));
  if (length > 16) hash = ath_mix(hash ^ w[2], w[3] ^ UINT64_C(0xC2B2AE3D27D4EB4F));
  out->line = (uint32_t)(hash >> 32) & (ATH_WORD_LINES - 1);
  return true;
}

bool ath_word_key_make(const ath_text *text, size_t from, size_t to, ath_word_key *out) {
  return make_key(text, from, to, out);
}

/* --- the table ------------------------------------------------------------------------------ */

/* Of six pieces, the first two ends are in the first half, and three in the second. */
static uint8_t *end_of(ath_cached_half halves[2], size_t piece) {
  if (piece < 2) return &halves[0].ends[piece];
  return piece == 2 ? &halves[1].count : &halves[1].ends[piece - 3];
}

void ath_word_cache_put(ath_word_cache *self, const ath_word_key *key,
                        const ath_word_piece *pieces, size_t count) {
  assert(key->length > 0 && key->length <= ATH_WORD_KEY_BYTES);
  if (count == 0 || count > ATH_WORD_PIECES || pieces[count - 1].end != key->length) return;
  ath_cached_half *halves = self->lines[key->line].halves, made[2] = {{0}, {0}};
  made[0].length = (uint8_t)key->length;
  made[0].count = (uint8_t)count;
  memcpy(made[0].words, key->words, sizeof made[0].words);
  memcpy(made[1].words, key->words + 2, sizeof made[1].words);
  for (size_t i = 0; i < count; i++) made[i / 3].ids[i % 3] = pieces[i].id;
  for (size_t i = 0; i + 1 < count; i++) *end_of(made, i) = (uint8_t)pieces[i].end;
  if (key->length > 16 || count > 3) halves[1] = made[1];
  else if (halves[0].length <= 16 && halves[0].count <= 3) halves[1] = halves[0];
  halves[0] = made[0];
}

int ath_word_shown(const ath_text *word) {
  size_t shown = word->length;
  if (shown > 100) shown = 100;
  while (shown < word->length && ath_utf8_continues(word->bytes[shown])) shown--;
  return (int)shown;
}

/* --- encoding with it ----------------------------------------------------------------------- */

/* Emits a piece that may begin and end inside characters; with origins, each byte knows where its
 * whole character was. */
static void emit_characters(ath_run *run, int32_t id, const ath_text *word, size_t from,
                            size_t to) {
  while (word->origins == NULL && from > 0 && ath_utf8_continues(word->bytes[from])) from--;
  while (word->origins == NULL && to < word->length && ath_utf8_continues(word->bytes[to])) to++;
  ath_run_emit(run, id, word, from, to);
}

ath_status ath_word_emit(ath_run *run, const ath_text *word, size_t from,
                         const ath_word_piece *pieces, size_t count, int32_t shown) {
  ATH_TRY(ath_run_reserve(run, count));
  for (size_t i = 0, to = from; i < count; i++) {
    if (pieces[i].end != to) from = to;
    to = pieces[i].end;
    if (run->offsets) emit_characters(run, pieces[i].id, word, from, to);
    else ath_run_emit(run, pieces[i].id, word, from, to);
    if (pieces[i].id == shown) ATH_TRY(ath_run_surface(run, word->bytes + from, to - from));
  }
  return ATH_OK;
}

/* All ids that there is room for are copied: cheaper than the right few. */
static inline void emit_ids(ath_run *run, const ath_cached_half *cached) {
  ath_encoding *out = run->out;
  assert(out->capacity - out->length >= ATH_WORD_PIECES);
  memcpy(out->ids + out->length, cached->ids, sizeof cached->ids);
  if (cached->count > 3) memcpy(out->ids + out->length + 3, cached[1].ids, sizeof cached->ids);
  out->length += cached->count;
}

static ath_status emit_cached(ath_run *run, const ath_text *word, const ath_cached_half *cached,
                              int32_t shown) {
  assert(cached->count <= ATH_WORD_PIECES && cached->length == word->length);
  ath_word_piece pieces[ATH_WORD_PIECES];
  ath_cached_half halves[2] = {cached[0], cached->count > 3 ? cached[1] : cached[0]};
  for (size_t i = 0; i < cached->count; i++)
    pieces[i] = (ath_word_piece){halves[i / 3].ids[i % 3], *end_of(halves, i)};
  pieces[cached->count - 1].end = cached->length;
  return ath_word_emit(run, word, 0, pieces, cached->count, shown);
}

ath_status ath_word_encode(const void *model, ath_word_cutter cut, int32_t shown, ath_run *run,
                           const ath_text *word) {
  assert(word->length > 0);
  ath_word_cache *cache = ath_word_cache_of(run, ATH_SCRATCH_CACHE);
  if (cache == NULL) return ATH_NO_MEMORY;
  ath_word_key key;
  bool kept = !run->kept && make_key(word, 0, word->length, &key);
  if (kept) {
    const ath_cached_half *cached = ath_word_cache_find(cache, &key);
    if (cached != NULL) return emit_cached(run, word, cached, shown);
  }
  ath_word_piece *pieces;
  size_t count;
  ATH_TRY(cut(model, run, word, &pieces, &count));
  if (kept) ath_word_cache_put(cache, &key, pieces, count);
  return ath_word_emit(run, word, 0, pieces, count, shown);
}

/* Words on their way through the cache, those of one call. */
typedef struct lookup {
  const ath_words *words;
  ath_word_key keys[ATH_WORDS_MAX]; /* length 0: the word is not kept */
  const ath_cached_half *found[ATH_WORDS_MAX];
  ath_word_cut cuts[ATH_WORDS_MAX]; /* of those that were not found, in order */
  size_t cut_count;
} lookup;

/* Makes all keys while the memory fetches the lines of the first ones. */
static void make_keys(lookup *self, const ath_word_cache *cache) {
  const ath_words *words = self->words;
  for (size_t i = 0; i < words->count; i++) {
    ath_origin place = words->places[i];
    bool kept = make_key(words->text, place.start, place.end, &self->keys[i]);
    if (kept) __builtin_prefetch(&cache->lines[self->keys[i].line]);
    else self->keys[i].length = 0;
  }
}

static const ath_cached_half *find(const lookup *self, const ath_word_cache *cache, size_t i) {
  return self->keys[i].length > 0 ? ath_word_cache_find(cache, &self->keys[i]) : NULL;
}

/* What is found so stays in the cache while words are put out that are cut together. */
static void find_words(lookup *self, const ath_word_cache *cache) {
  for (size_t i = 0; i < self->words->count; i++) {
    self->found[i] = find(self, cache, i);
    if (self->found[i] == NULL && self->keys[i].length > 0)
      self->cuts[self->cut_count++] = (ath_word_cut){.word = ath_words_at(self->words, i)};
  }
}

static void keep_cuts(const lookup *self, ath_word_cache *cache) {
  const ath_word_cut *cut = self->cuts;
  for (size_t i = 0; i < self->words->count; i++)
    if (self->found[i] == NULL && self->keys[i].length > 0) {
      ath_word_cache_put(cache, &self->keys[i], cut->pieces, cut->count);
      cut++;
    }
}

/* What `encode` puts into the cache may be found by the next word already. */
static ath_status emit_words(const lookup *self, const ath_word_cache *cache, const void *model,
                             const ath_words_encoder *how, ath_run *run) {
  const ath_words *words = self->words;
  const ath_word_cut *cut = self->cuts;
  bool ids_only = !run->offsets && !run->tokens;
  ATH_TRY(ath_run_reserve(run, words->count * ATH_WORD_PIECES));
  for (size_t i = 0; i < words->count; i++) {
    const ath_cached_half *found = how->cut != NULL ? self->found[i] : find(self, cache, i);
    if (found != NULL && ids_only) {
      emit_ids(run, found);
      continue;
    }
    ath_text word = ath_words_at(words, i);
    if (found != NULL) {
      ATH_TRY(emit_cached(run, &word, found, how->shown));
    } else if (how->cut != NULL && self->keys[i].length > 0) {
      ATH_TRY(ath_word_emit(run, &word, 0, cut->pieces, cut->count, how->shown));
      cut++;
    } else {
      ATH_TRY(how->encode(model, run, &word));
    }
    ATH_TRY(ath_run_reserve(run, (words->count - i) * ATH_WORD_PIECES));
  }
  return ATH_OK;
}

ath_status ath_words_encode(const void *model, const ath_words_encoder *how, ath_run *run,
                            const ath_words *words) {
  ath_word_cache *cache = ath_word_cache_of(run, how->scratch);
  if (cache == NULL) return ATH_NO_MEMORY;
  lookup l;
  l.words = words;
  l.cut_count = 0;
  make_keys(&l, cache);
  if (how->cut != NULL) find_words(&l, cache);
  if (l.cut_count > 0) ATH_TRY(how->cut(model, run, l.cuts, l.cut_count));
  ATH_TRY(emit_words(&l, cache, model, how, run));
  if (l.cut_count > 0) keep_cuts(&l, cache);
  return ATH_OK;
}
