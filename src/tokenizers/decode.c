/* decode.c: ids back to text. */
#include <string.h>

#include "tokenizers/tokenizer.h"

#define DECODED_LIMIT ((size_t)1 << 30)

/* The reference leaves out a token when what the decoders see of it is a special token's text. So
 * one that the normaliser has changed stays. */
static bool is_left_out(const ath_tokenizer *self, const ath_added_token *token) {
  if (token->form_length != token->length ||
      memcmp(token->form, token->content, token->length) != 0)
    token = ath_added_tokens_by_content(&self->added, token->form, token->form_length);
  return token != NULL && token->special;
}

/* The texts of the ids, as decoders want them. */
static ath_status collect(const ath_tokenizer *self, const int32_t *ids, size_t count,
                          int skip_special, ath_pieces *pieces) {
  for (size_t i = 0; i < count; i++) {
    const ath_added_token *added = ath_added_tokens_by_id(&self->added, ids[i]);
    if (skip_special && added != NULL && is_left_out(self, added)) continue;
    size_t length;
    const char *bytes = added != NULL ? added->form : ath_tokenizer_find(self, ids[i], &length);
    if (bytes == NULL)
      return ath_fail(ATH_INVALID, "there is no token %d (number %zu of those to decode); the "
                      "tokenizer has %d ids", ids[i], i + 1, self->size);
    if (added != NULL) length = added->form_length;
    ATH_TRY(ath_pieces_add(pieces, bytes, length));
  }
  return ATH_OK;
}

/* All pieces one after another, with `between` between them. */
static ath_status join(const ath_pieces *pieces, const char *between, ath_buffer *out) {
  for (size_t i = 0, at = 0; i < pieces->count; at = pieces->ends[i++]) {
    assert(at <= pieces->ends[i]);
    if (i > 0) ATH_TRY(ath_buffer_string(out, between));
    ATH_TRY(ath_buffer_append(out, pieces->bytes.bytes + at, pieces->ends[i] - at));
  }
  return ATH_OK;
}

ath_status ath_tokenizer_decode(const ath_tokenizer *self, const int32_t *ids, size_t count,
                                int skip_special, ath_buffer *out) {
  ath_pieces pieces = {.bytes = ath_buffer_make(DECODED_LIMIT)}, decoded = pieces;
  ath_status status = collect(self, ids, count, skip_special, &pieces);
  const ath_decoder *decoder = &self->decoder;
  if (status == ATH_OK && decoder->kind == NULL) {
    status = join(&pieces, " ", out);
  } else if (status == ATH_OK) {
    status = decoder->kind->apply(decoder->data, &pieces, &decoded);
    if (status == ATH_OK) status = join(&decoded, "", out);
  }
  ath_pieces_free(&pieces);
  ath_pieces_free(&decoded);
  return status;
}
