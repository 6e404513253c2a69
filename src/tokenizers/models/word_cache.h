/* word_cache.h: the pieces of the words met lately. Text repeats its words, so most of them are
 * found here, at the price of one line of the processor's cache. Belongs to one run; has a fixed
 * size. */
#ifndef ATHANOR_TOKENIZERS_WORD_CACHE_H
#define ATHANOR_TOKENIZERS_WORD_CACHE_H

#include "tokenizers/pipeline.h"

enum {
  ATH_WORD_KEY_BYTES = 32, /* longer words are not kept */
  ATH_WORD_PIECES = 6,     /* nor those of more pieces */
  ATH_WORD_LINES = 1 << 16,
};

typedef struct ath_word_key {
  uint64_t words[ATH_WORD_KEY_BYTES / 8]; /* the word's bytes, and zeros */
  uint32_t length;
  uint32_t line; /* where in the table it belongs */
} ath_word_key;

/* A word of up to 16 bytes and three pieces; of a longer one or of more pieces, the first half. */
typedef struct ath_cached_half {
  uint8_t length; /* of the word; 0: free, or the second half of a word */
  uint8_t count;  /* of its pieces */
  uint8_t ends[2]; /* where in the word its pieces end; the last one ends with it */
  int32_t ids[3];
  uint64_t words[2];
} ath_cached_half;

/* Two words, or one: a line of the processor's cache. */
typedef struct ath_cached_line {
  _Alignas(64) ath_cached_half halves[2];
} ath_cached_line;

typedef struct ath_word_cache {
  ath_cached_line lines[ATH_WORD_LINES];
} ath_word_cache;

typedef struct ath_word_piece {
  int32_t id;
  uint32_t end;
} ath_word_piece;

/* The run's cache in that scratch, of words or of what else becomes pieces, made on first use;
 * NULL, with the failure text set, when memory is out. */
ath_word_cache *ath_word_cache_of(ath_run *run, int scratch);

/* The key of text[from, to). False when the word is too long to be kept. */
bool ath_word_key_make(const ath_text *text, size_t from, size_t to, ath_word_key *out);

static inline bool ath_cached_half_is(const ath_cached_half *self, const ath_word_key *key) {
  return self->words[0] == key->words[0] && self->words[1] == key->words[1] &&
         self->length == key->length;
}

/* The half that the word begins in, or NULL; valid until the next put. */
static inline const ath_cached_half *ath_word_cache_find(const ath_word_cache *self,
                                                         const ath_word_key *key) {
  const ath_cached_half *halves = self->lines[key->line].halves;
  if (ath_cached_half_is(&halves[0], key) &&
      (key->length <= 16 || (halves[1].words[0] == key->words[2] &&
                             halves[1].words[1] == key->words[3])))
    return &halves[0];
  return key->length <= 16 && ath_cached_half_is(&halves[1], key) ? &halves[1] : NULL;
}

/* Keeps a word's pieces, if they are few and reach to its end; the older of the two words in its
 * line goes. */
void ath_word_cache_put(ath_word_cache *self, const ath_word_key *key,
                        const ath_word_piece *pieces, size_t count);

/* How many bytes of a word a message shows: of whole characters, at most a hundred. */
int ath_word_shown(const ath_text *word);

/* Finds the pieces of a word, in memory of the run's that lasts until its next call. */
typedef ath_status (*ath_word_cutter)(const void *model, ath_run *run, const ath_text *word,
                                      ath_word_piece **pieces, size_t *count);

/* Encodes a word by the cache, or by `cut` when it is not there. Tokens of the id `shown`, which
 * may be none (−1), show the text that they stand for. */
ath_status ath_word_encode(const void *model, ath_word_cutter cut, int32_t shown, ath_run *run,
                           const ath_text *word) ATH_MUST_CHECK;

/* Encodes many words by the cache in that scratch, whose lines are asked for all together. Those
 * that are not there are encoded by `encode`, one by one; or, if they are short enough to be kept,
 * by `cut`, which finds the pieces of many, in memory of the run's ATH_SCRATCH_ROWS. It may be
 * NULL. */
typedef struct ath_word_cut {
  ath_text word;
  ath_word_piece *pieces;
  size_t count;
} ath_word_cut;
typedef struct ath_words_encoder {
  ath_status (*encode)(const void *model, ath_run *run, const ath_text *word);
  ath_status (*cut)(const void *model, ath_run *run, ath_word_cut *words, size_t count);
  int32_t shown;
  int scratch;
} ath_words_encoder;
ath_status ath_words_encode(const void *model, const ath_words_encoder *how, ath_run *run,
                            const ath_words *words) ATH_MUST_CHECK;

/* Appends pieces, the first of which begins at byte `from`, as tokens. One that ends where the
 * piece before it does stands for the same text, as the bytes of a character may do. Pieces may
 * end inside a character: offsets are those of whole ones. */
ath_status ath_word_emit(ath_run *run, const ath_text *word, size_t from,
                         const ath_word_piece *pieces, size_t count, int32_t shown)
    ATH_MUST_CHECK;

#endif
