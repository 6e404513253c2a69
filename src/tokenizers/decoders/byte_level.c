/* byte_level.c: letters that stand for bytes (byte_alphabet.h) made those bytes, all pieces one.
 *
 * {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}
 *
 * The members mean nothing to a decoder. A piece with any other letter is taken as it stands; what
 * is no UTF-8 in the end becomes U+FFFD. */
#include "base/utf8.h"
#include "tokenizers/byte_alphabet.h"
#include "tokenizers/byte_level.h"
#include "tokenizers/characters.h"
#include "tokenizers/decoders/kinds.h"
#include "tokenizers/decoders/pieces.h"

static ath_status put(ath_string piece, ath_buffer *out) {
  size_t before = out->length;
  for (size_t at = 0; at < piece.length; at += ath_character_length(piece.bytes[at])) {
    int byte = ath_letter_byte(ath_character_at(piece.bytes, at));
    if (byte >= 0) {
      ATH_TRY(ath_buffer_byte(out, (char)byte));
      continue;
    }
    out->length = before;
    return ath_buffer_append(out, piece.bytes, piece.length);
  }
  return ATH_OK;
}

static ath_status apply(const void *data, const ath_pieces *in, ath_pieces *out) {
  (void)data;
  ath_buffer bytes = ath_buffer_make(in->bytes.maximum);
  ath_status status = ATH_OK;
  for (size_t i = 0; i < in->count && status == ATH_OK; i++) status = put(ath_piece(in, i), &bytes);
  if (status == ATH_OK)
    status = ath_utf8_repair(bytes.length > 0 ? bytes.bytes : "", bytes.length, &out->bytes);
  ath_buffer_free(&bytes);
  return status == ATH_OK ? ath_pieces_end(out) : status;
}

const ath_decoder_kind ath_decoder_byte_level = {
    {"ByteLevel", ath_byte_level_read_strictly, ath_byte_level_write}, apply};
