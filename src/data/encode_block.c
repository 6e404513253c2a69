/* encode_block.c: the lines of a block to tokens. */
#include "data/encode_block.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/resize.h"

ath_status ath_encoder_create(const ath_tokenizer *tokenizer, int threads, ath_encoder *out) {
  if (threads == 0) threads = omp_get_max_threads();
  *out = (ath_encoder){.tokenizer = tokenizer, .threads = threads};
  if (threads < 1 || threads > ATH_THREADS_MAX)
    return ath_fail(ATH_INVALID, "%d threads: must be 1 … %d", threads, ATH_THREADS_MAX);
  out->encodings = calloc((size_t)threads, sizeof *out->encodings);
  return out->encodings != NULL ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory to encode text");
}

void ath_encoder_free(ath_encoder *self) {
  for (int i = 0; self->encodings != NULL && i < self->threads; i++)
    ath_encoding_free(&self->encodings[i]);
  free(self->encodings);
  self->encodings = NULL;
}

static ath_status add_ids(ath_encoded_block *block, const int32_t *ids, size_t count) {
  assert(block->count <= block->capacity);
  if (count > block->capacity - block->count) {
    size_t capacity = (block->count + count) * 2;
    if (!ath_resize(&block->ids, capacity * sizeof *ids))
      return ath_fail(ATH_NO_MEMORY, "no memory for %zu tokens", capacity);
    block->capacity = capacity;
  }
  if (count > 0) memcpy(block->ids + block->count, ids, count * sizeof *ids);
  block->count += count;
  return ATH_OK;
}

/* A blank line that is kept stands for an empty text, as in the reference's script. */
static ath_status encode_line(const ath_encoder *self, ath_encoding *encoding,
                              ath_encoded_block *block, ath_block_line *line) {
  const char *text = block->text.text.bytes != NULL ? block->text.text.bytes + line->offset : "";
  size_t length = ath_text_is_blank(text, line->length) ? 0 : line->length;
  ATH_TRY_CONTEXT(ath_tokenizer_encode(self->tokenizer, text, length, ATH_ENCODE_SPECIAL, encoding),
                  "%s: %s %llu", block->text.inputs[line->place.file], line->unit,
                  (unsigned long long)line->place.line);
  line->tokens = encoding->length;
  return add_ids(block, encoding->ids, encoding->length);
}

ath_status ath_encoder_run(const ath_encoder *self, ath_encoded_block *block, int thread) {
  assert(thread >= 0 && thread < self->threads && block->text.count <= ATH_BLOCK_LINES);
  block->count = 0;
  for (size_t i = 0; i < block->text.count; i++)
    ATH_TRY(encode_line(self, &self->encodings[thread], block, &block->text.lines[i]));
  return ATH_OK;
}

/* --- blocks -------------------------------------------------------------------------------- */

ath_status ath_encoded_blocks_create(size_t count, ath_encoded_block ***out) {
  ath_encoded_block **blocks = calloc(count, sizeof *blocks);
  if (blocks == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu blocks", count);
  ath_status status = ATH_OK;
  for (size_t i = 0; i < count && status == ATH_OK; i++) {
    blocks[i] = calloc(1, sizeof **blocks);
    status = blocks[i] != NULL ? ath_block_create(&blocks[i]->text)
                               : ath_fail(ATH_NO_MEMORY, "no memory for a block");
  }
  if (status == ATH_OK) *out = blocks;
  else ath_encoded_blocks_free(blocks, count);
  return status;
}

void ath_encoded_blocks_free(ath_encoded_block **blocks, size_t count) {
  for (size_t i = 0; blocks != NULL && i < count; i++) {
    if (blocks[i] == NULL) continue;
    ath_block_free(&blocks[i]->text);
    free(blocks[i]->ids);
    free(blocks[i]);
  }
  free(blocks);
}
