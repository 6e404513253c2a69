/* word_cache.c: a table of two places a word, each one line of the processor's cache. */
#include "tokenizers/models/word_cache.h"

#include <string.h>

ath_word_cache *ath_word_cache_of(ath_run *run) {
  return ath_run_scratch(run, ATH_SCRATCH_CACHE, sizeof(ath_word_cache));
}

static uint64_t load(const char *bytes) {
  uint64_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

/* Of fewer than eight bytes: two halves that overlap, which two lengths never give alike, as the
 * key holds the length as well. */
static uint64_t load_short(const char *bytes, size_t count) {
  uint32_t low = 0, high = 0;
  assert(count > 0 && count < 8);
  if (count >= 4) {
    memcpy(&low, bytes, 4);
    memcpy(&high, bytes + count - 4, 4);
  } else {
    low = (uint32_t)(uint8_t)bytes[0] | (uint32_t)(uint8_t)bytes[count / 2] << 8 |
          (uint32_t)(uint8_t)bytes[count - 1] << 16;
  }
  return (uint64_t)high << 32 | low;
}

/* The last `count` bytes of the eight that end at `end`, as if they had been loaded alone. */
static uint64_t load_tail(const char *end, size_t count) {
  assert(count <= 8);
  if (count == 0) return 0;
  uint64_t value = load(end - 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return value >> (8 * (8 - count));
#else
  return value << (8 * (8 - count));
#endif
}

bool ath_word_key_make(const ath_text *word, ath_word_key *out) {
  const char *bytes = word->bytes;
  size_t length = word->length;
  uint64_t *w = out->words;
  if (length > ATH_WORD_KEY_BYTES) return false;
  if (length < 8) {
    w[0] = load_short(bytes, length);
    w[1] = w[2] = 0;
  } else if (length < 16) {
    w[0] = load(bytes);
    w[1] = load_tail(bytes + length, length - 8);
    w[2] = 0;
  } else {
    w[0] = load(bytes);
    w[1] = load(bytes + 8);
    w[2] = load_tail(bytes + length, length - 16);
  }
  out->length = (uint32_t)length;
  uint64_t hash = (w[0] ^ length) * UINT64_C(0x9E3779B97F4A7C15);
  hash = (hash ^ hash >> 32 ^ w[1]) * UINT64_C(0xD6E8FEB86659FD93);
  hash = (hash ^ hash >> 32 ^ w[2]) * UINT64_C(0xC2B2AE3D27D4EB4F);
  out->place = (uint32_t)(hash >> 32) & (ATH_WORD_ENTRIES - 1);
  return true;
}

void ath_word_cache_put(ath_word_cache *self, const ath_word_key *key,
                        const ath_word_piece *pieces, size_t count) {
  assert(key->length <= ATH_WORD_KEY_BYTES);
  if (count == 0 || count > ATH_WORD_PIECES) return;
  ath_cached_word *word = &self->entries[key->place];
  if (word->count > 0) self->entries[key->place ^ 1] = *word;
  memcpy(word->words, key->words, sizeof word->words);
  word->length = (uint8_t)key->length;
  word->count = (uint8_t)count;
  for (size_t i = 0; i < count; i++) {
    word->ids[i] = pieces[i].id;
    word->ends[i] = (uint8_t)pieces[i].end;
  }
}

int ath_word_shown(const ath_text *word) {
  size_t shown = word->length;
  if (shown > 100) shown = 100;
  while (shown < word->length && (word->bytes[shown] & 0xC0) == 0x80) shown--;
  return (int)shown;
}

/* --- encoding with it ----------------------------------------------------------------------- */

/* Emits a piece that may begin and end inside characters; with origins, each byte knows where its
 * whole character was. */
static void emit_characters(ath_run *run, int32_t id, const ath_text *word, size_t from,
                            size_t to) {
  while (word->origins == NULL && from > 0 && (word->bytes[from] & 0xC0) == 0x80) from--;
  while (word->origins == NULL && to < word->length && (word->bytes[to] & 0xC0) == 0x80) to++;
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

/* All places of a word are copied: cheaper than the right few. */
static ath_status emit_cached(ath_run *run, const ath_text *word, const ath_cached_word *cached,
                              int32_t shown) {
  assert(cached->count <= ATH_WORD_PIECES && cached->length == word->length);
  ath_word_piece pieces[ATH_WORD_PIECES];
  ath_encoding *out = run->out;
  if (!run->offsets && !run->tokens) {
    ATH_TRY(ath_run_reserve(run, ATH_WORD_PIECES));
    memcpy(out->ids + out->length, cached->ids, sizeof cached->ids);
    out->length += cached->count;
    return ATH_OK;
  }
  for (size_t i = 0; i < cached->count; i++)
    pieces[i] = (ath_word_piece){cached->ids[i], cached->ends[i]};
  return ath_word_emit(run, word, 0, pieces, cached->count, shown);
}

ath_status ath_word_encode(const void *model, ath_word_cutter cut, int32_t shown, ath_run *run,
                           const ath_text *word) {
  assert(word->length > 0);
  ath_word_cache *cache = ath_word_cache_of(run);
  if (cache == NULL) return ATH_NO_MEMORY;
  ath_word_key key;
  bool kept = ath_word_key_make(word, &key);
  if (kept) {
    const ath_cached_word *cached = ath_word_cache_find(cache, &key);
    if (cached != NULL) return emit_cached(run, word, cached, shown);
  }
  ath_word_piece *pieces;
  size_t count;
  ATH_TRY(cut(model, run, word, &pieces, &count));
  if (kept) ath_word_cache_put(cache, &key, pieces, count);
  return ath_word_emit(run, word, 0, pieces, count, shown);
}
