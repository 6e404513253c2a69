/* encode_block.c: chunks of a block's lines are encoded by whichever thread is free; each chunk
 * has an array of its own, so the order of the lines is kept. */
#include "data/encode_block.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"

enum { CHUNK_LINES = 64, CHUNKS = ATH_BLOCK_LINES / CHUNK_LINES };

typedef struct chunk {
  int32_t *ids;
  size_t count, capacity;
  ath_outcome outcome;
} chunk;

struct ath_block_encoder {
  const ath_tokenizer *tokenizer;
  int threads;
  ath_encoding *encodings; /* one for each thread */
  size_t read_line, read_at; /* where ath_block_encoder_ids is */
  chunk chunks[CHUNKS];
};

ath_status ath_block_encoder_create(const ath_tokenizer *tokenizer, int threads,
                                    ath_block_encoder **out) {
  if (threads == 0) threads = omp_get_max_threads();
  if (threads < 1 || threads > ATH_THREADS_MAX)
    return ath_fail(ATH_INVALID, "%d threads: must be 1 … %d", threads, ATH_THREADS_MAX);
  ath_block_encoder *self = calloc(1, sizeof *self);
  ath_encoding *encodings = calloc((size_t)threads, sizeof *encodings);
  if (self == NULL || encodings == NULL) {
    free(self);
    free(encodings);
    return ath_fail(ATH_NO_MEMORY, "no memory to encode text");
  }
  self->tokenizer = tokenizer;
  self->threads = threads;
  self->encodings = encodings;
  *out = self;
  return ATH_OK;
}

void ath_block_encoder_destroy(ath_block_encoder *self) {
  if (self == NULL) return;
  for (int i = 0; i < self->threads; i++) ath_encoding_free(&self->encodings[i]);
  for (int i = 0; i < CHUNKS; i++) free(self->chunks[i].ids);
  free(self->encodings);
  free(self);
}

static ath_status add_ids(chunk *c, const int32_t *ids, size_t count) {
  assert(c->count <= c->capacity);
  if (count > c->capacity - c->count) {
    size_t capacity = (c->count + count) * 2;
    int32_t *more = realloc(c->ids, capacity * sizeof *more);
    if (more == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu tokens", capacity);
    c->ids = more;
    c->capacity = capacity;
  }
  if (count > 0) memcpy(c->ids + c->count, ids, count * sizeof *ids);
  c->count += count;
  return ATH_OK;
}

/* A blank line that is kept stands for an empty text, as in the reference's script. */
static ath_status encode_line(const ath_block_encoder *self, ath_encoding *encoding,
                              const ath_block *block, ath_block_line *line, chunk *c) {
  const char *text = block->text.bytes + line->offset;
  size_t length = ath_text_is_blank(text, line->length) ? 0 : line->length;
  ATH_TRY_CONTEXT(ath_tokenizer_encode(self->tokenizer, text, length, ATH_ENCODE_SPECIAL, encoding),
                  "%s: line %llu", block->inputs[line->place.file],
                  (unsigned long long)line->place.line);
  line->tokens = encoding->length;
  return add_ids(c, encoding->ids, encoding->length);
}

/* The rest of a chunk is left alone after a line that fails; the block is of no use then. */
static void encode_chunk(const ath_block_encoder *self, ath_encoding *encoding, ath_block *block,
                         size_t number, chunk *c) {
  assert(number < CHUNKS);
  size_t first = number * CHUNK_LINES, end = first + CHUNK_LINES;
  if (end > block->count) end = block->count;
  c->count = 0;
  ath_status status = ATH_OK;
  for (size_t i = first; i < end && status == ATH_OK; i++)
    status = encode_line(self, encoding, block, &block->lines[i], c);
  ath_outcome_keep(&c->outcome, status);
}

ath_status ath_block_encoder_run(ath_block_encoder *self, ath_block *block) {
  assert(block->count <= ATH_BLOCK_LINES);
  size_t chunks = (block->count + CHUNK_LINES - 1) / CHUNK_LINES;
  if (block->count > 0 && block->text.bytes == NULL) /* nothing but empty lines */
    ATH_TRY(ath_buffer_reserve(&block->text, 1));
  /* Chunks are handed out as threads get free, since lines differ in length by far. */
#pragma omp parallel for schedule(dynamic) num_threads(self->threads)
  for (size_t i = 0; i < chunks; i++)
    encode_chunk(self, &self->encodings[omp_get_thread_num()], block, i, &self->chunks[i]);
  self->read_line = self->read_at = 0;
  for (size_t i = 0; i < chunks; i++) ATH_TRY(ath_outcome_return(&self->chunks[i].outcome));
  return ATH_OK;
}

const int32_t *ath_block_encoder_ids(ath_block_encoder *self, const ath_block *block,
                                     size_t index) {
  assert(index < block->count && index >= self->read_line);
  for (; self->read_line < index; self->read_line++) {
    self->read_at += block->lines[self->read_line].tokens;
    if ((self->read_line + 1) % CHUNK_LINES == 0) self->read_at = 0; /* the next chunk's array */
  }
  const chunk *c = &self->chunks[index / CHUNK_LINES];
  assert(self->read_at + block->lines[index].tokens <= c->count);
  return c->ids + self->read_at;
}
