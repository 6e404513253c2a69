/* offsets.c: what tokens show, and where in the text they stand. */
#include "tokenizers/post_processors/trim.h"
#include "tokenizers/tokenizer.h"

/* What a token shows: of the text, or else of the vocabulary. */
static const char *token_text(const ath_tokenizer *self, const ath_run *run, size_t index,
                              size_t *length) {
  size_t at = ath_surface_find(run->surfaces, run->surface_count, index);
  if (at == run->surface_count || run->surfaces[at].token != index)
    return ath_tokenizer_find(self, run->out->ids[index], length);
  *length = run->surfaces[at].length;
  return run->surface_text.bytes + run->surfaces[at].at;
}

const char *ath_encoding_token(const ath_encoding *self, const ath_tokenizer *tokenizer,
                               size_t index, size_t *length) {
  assert(index < self->length && self->workspace != NULL);
  ath_run *run = self->workspace;
  run->out = (ath_encoding *)(uintptr_t)self; /* which may have moved */
  return token_text(tokenizer, run, index, length);
}

/* A place in the text, as bytes and as characters. */
typedef struct cursor {
  size_t byte;
  uint32_t character;
} cursor;

/* Tokens come nearly in order, so this is nearly one pass over the text. */
static uint32_t move_to(cursor *self, const char *text, size_t byte) {
  while (self->byte < byte)
    self->character += ((uint8_t)text[self->byte++] & 0xC0) != 0x80;
  while (self->byte > byte)
    self->character -= ((uint8_t)text[--self->byte] & 0xC0) != 0x80;
  return self->character;
}

void ath_encoding_count_characters(ath_encoding *out, size_t from, const char *text) {
  cursor start = {0, 0}, end = {0, 0};
  for (size_t i = from; i < out->length; i++) {
    assert(out->starts[i] <= out->ends[i]);
    out->starts[i] = move_to(&start, text, out->starts[i]);
    out->ends[i] = move_to(&end, text, out->ends[i]);
  }
}

void ath_tokenizer_trim(const ath_tokenizer *self, ath_run *run, size_t from,
                        const ath_layout_part *part) {
  if (!run->offsets || part->trim_count == 0) return;
  ath_encoding *out = run->out;
  for (size_t i = from; i < out->length; i++) {
    size_t length;
    const char *bytes = token_text(self, run, i, &length);
    ath_margins margins = ath_token_margins(bytes, length);
    for (int t = 0; t < part->trim_count; t++)
      ath_trim_offsets(&part->trims[t], margins, i - from, &out->starts[i], &out->ends[i]);
  }
}
