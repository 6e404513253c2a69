/* chunks.c: cutting at borders, and a cache of what becomes of the chunks. */
#include "tokenizers/chunks.h"

#include "tokenizers/characters.h"
#include "tokenizers/models/word_cache.h"
#include "tokenizers/normalizers/forms.h"

/* --- where a text may be cut ----------------------------------------------------------------- */

enum { /* signs of a byte */
  BORDER = 1 << 0,
  ALONE = 1 << 1, /* a border that is a chunk */
  FIRST = 1 << 2, /* a border that begins one */
  ODD = 1 << 3,   /* next to this byte a border counts only as a grapheme */
  WIDE = 1 << 4,  /* the first of three bytes that may be a chunk (`wide`) */
};

static ath_keeping keeping_of(const ath_normalizer *self, uint8_t c) {
  if (self->kind == NULL) return ATH_KEEPS_APART;
  return self->kind->keeps != NULL ? self->kind->keeps(self->data, c) : ATH_KEEPS_NOTHING;
}

static void mark_odd(ath_chunking *self) {
  for (unsigned byte = 0; byte < 256; byte++)
    if (byte == '\r' || byte == '\n' || byte >= 0x80) self->signs[byte] |= ODD;
}

/* Characters of three bytes around which the normaliser puts spaces, where words end at these: they
 * are looked for where Chinese ones are, which are the only ones. */
static void find_wide(ath_chunking *self, const ath_normalizer *normalizer) {
  enum { FIRST_WIDE = 0x3400, WIDE_END = 0xA000 };
  if (normalizer->kind == NULL || normalizer->kind->sets_apart == NULL) return;
  for (uint32_t row = FIRST_WIDE; row < WIDE_END; row += 64) {
    bool all = true;
    for (uint32_t c = row; c < row + 64; c++)
      all &= normalizer->kind->sets_apart(normalizer->data, c);
    if (!all) continue;
    self->wide[row >> 12] |= UINT64_C(1) << (row >> 6 & 63);
    self->signs[0xE0 | row >> 12] = BORDER | ALONE | WIDE;
  }
}

static bool is_wide(const ath_chunking *self, const char *bytes) {
  return (self->wide[bytes[0] & 15] >> (bytes[1] & 63) & 1) != 0;
}

void ath_chunking_find(ath_chunking *self, const ath_normalizer *normalizer,
                       const ath_pre_tokenizer *pre_tokenizer, const ath_model *model) {
  static const uint8_t signs[] = {
    [ATH_NO_BORDER] = 0, [ATH_BORDER_GOES] = BORDER, [ATH_BORDER_STANDS] = BORDER | ALONE,
    [ATH_BORDER_BEGINS] = BORDER | FIRST};
  *self = (ath_chunking){.possible = false};
  if (pre_tokenizer->kind == NULL || pre_tokenizer->kind->border == NULL) return;
  if (pre_tokenizer->kind->needs_origins(pre_tokenizer->data)) return;
  if (model->kind->varies != NULL && model->kind->varies(model->data)) return;
  bool graphemes = false;
  for (unsigned c = 0; c < 0x80; c++) {
    ath_keeping keeping = keeping_of(normalizer, (uint8_t)c);
    if (keeping == ATH_KEEPS_NOTHING) continue;
    self->signs[c] = signs[pre_tokenizer->kind->border(pre_tokenizer->data, (uint8_t)c)];
    if (self->signs[c] == 0) continue;
    self->possible = true;
    graphemes |= keeping == ATH_KEEPS_AS_GRAPHEME;
  }
  if (graphemes) mark_odd(self);
  else if (self->signs[' '] == BORDER) find_wide(self, normalizer);
}

/* --- cutting --------------------------------------------------------------------------------- */

/* How many bytes are cut at once, and how many chunks may wait before: there is room for one a
 * byte, one that began earlier, and two that are written and not counted. */
enum { BLOCK = 32, FULL = ATH_WORDS_MAX - BLOCK - 3 };

typedef struct cutting {
  const ath_chunking *how;
  ath_run *run;
  const ath_text *text;
  ath_sink encode; /* the pipeline */
  size_t start;    /* of the chunk that has no end yet */
  ath_words chunks;
} cutting;

/* A bit for each of the bytes that has the sign. */
static uint32_t find_sign(const ath_chunking *self, unsigned sign, const char *bytes,
                          size_t count) {
  uint32_t found = 0;
  for (size_t i = 0; i < count; i++)
    found |= (uint32_t)((self->signs[(uint8_t)bytes[i]] & sign) != 0) << i;
  return found;
}

/* Whether the character at a border is a grapheme of its own. */
static bool stands_apart(const ath_text *text, size_t at) {
  const char *bytes = text->bytes;
  uint32_t c = (uint8_t)bytes[at];
  if (at > 0 && !ath_graphemes_part(ath_character_before(bytes, at), c)) return false;
  return at + 1 == text->length || ath_graphemes_part(c, ath_character_at(bytes, at + 1));
}

/* The borders in text[from, from + count) that count. */
static uint32_t find_borders(const ath_chunking *self, const ath_text *text, size_t from,
                             size_t count) {
  const char *bytes = text->bytes + from;
  uint32_t borders = find_sign(self, BORDER, bytes, count);
  if (self->signs[0xFF] == 0) return borders; /* no byte is odd */
  uint32_t odd = find_sign(self, ODD, bytes, count), beside = odd << 1 | odd >> 1;
  if (from > 0) beside |= find_sign(self, ODD, bytes - 1, 1);
  if (from + count < text->length)
    beside |= find_sign(self, ODD, bytes + count, 1) << (count - 1);
  for (uint32_t doubtful = borders & beside; doubtful != 0; doubtful &= doubtful - 1)
    if (!stands_apart(text, from + (size_t)__builtin_ctz(doubtful)))
      borders &= ~(doubtful & -doubtful);
  return borders;
}

/* Lists the chunks that end in a block, without a branch that depends on what the border is: text
 * is hard to predict. */
static void cut(cutting *self, size_t from, size_t count) {
  ath_words *chunks = &self->chunks;
  uint32_t borders = find_borders(self->how, self->text, from, count);
  for (; borders != 0; borders &= borders - 1) {
    size_t at = from + (size_t)__builtin_ctz(borders);
    unsigned signs = self->how->signs[(uint8_t)self->text->bytes[at]];
    if ((signs & WIDE) != 0 && !is_wide(self->how, self->text->bytes + at)) continue;
    size_t end = at + ((signs & WIDE) != 0 ? 3 : 1);
    chunks->places[chunks->count] = (ath_origin){(uint32_t)self->start, (uint32_t)at};
    chunks->count += at > self->start;
    chunks->places[chunks->count] = (ath_origin){(uint32_t)at, (uint32_t)end};
    chunks->count += (signs & ALONE) != 0;
    self->start = (signs & FIRST) == 0 ? end : at;
  }
}

/* --- encoding -------------------------------------------------------------------------------- */

/* Has the pipeline encode a chunk that is not in the cache, and keeps what becomes of it. */
static ath_status encode_new(const void *context, ath_run *run, const ath_text *chunk) {
  const cutting *self = context;
  size_t before = run->out->length;
  ath_word_key key;
  run->kept = ath_word_key_make(chunk, 0, chunk->length, &key);
  ath_status status = self->encode.take(self->encode.context, run, chunk);
  bool kept = run->kept;
  run->kept = false;
  if (status != ATH_OK || !kept) return status;
  size_t count = run->out->length - before;
  ath_word_piece pieces[ATH_WORD_PIECES];
  for (size_t i = 0; i < count && i < ATH_WORD_PIECES; i++)
    pieces[i] = (ath_word_piece){run->out->ids[before + i], (uint32_t)chunk->length};
  ath_word_cache *cache = ath_word_cache_of(run, ATH_SCRATCH_CHUNKS);
  if (cache == NULL) return ATH_NO_MEMORY;
  ath_word_cache_put(cache, &key, pieces, count);
  return ATH_OK;
}

static ath_status encode_chunks(cutting *self) {
  const ath_words_encoder how = {encode_new, NULL, -1, ATH_SCRATCH_CHUNKS};
  ath_status status = ath_words_encode(self, &how, self->run, &self->chunks);
  self->chunks.count = 0;
  return status;
}

ath_status ath_chunks_encode(const ath_chunking *self, ath_run *run, const ath_text *text,
                             ath_sink encode) {
  assert(self->possible && text->origins == NULL && text->length > 0);
  cutting c = {.how = self, .run = run, .text = text, .encode = encode, .chunks = {.text = text}};
  for (size_t at = 0; at < text->length; at += BLOCK) {
    cut(&c, at, text->length - at < BLOCK ? text->length - at : BLOCK);
    if (c.chunks.count > FULL) ATH_TRY(encode_chunks(&c));
  }
  if (c.start < text->length)
    c.chunks.places[c.chunks.count++] = (ath_origin){(uint32_t)c.start, (uint32_t)text->length};
  return encode_chunks(&c);
}
