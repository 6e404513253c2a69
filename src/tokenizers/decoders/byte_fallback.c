/* byte_fallback.c: pieces that name a byte made that byte. A run of them that is no UTF-8 becomes a
 * piece U+FFFD for each.
 *
 * {"type": "ByteFallback"}    <0xE4><0xBD><0xA0> becomes 你 */
#include "base/utf8.h"
#include "tokenizers/decoders/kinds.h"
#include "tokenizers/decoders/pieces.h"

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that a piece names, or −1. A plus sign passes for a first digit of 0, as in the
 * reference. */
static int named_byte(ath_string piece) {
  const char *s = piece.bytes;
  if (piece.length != 6 || s[0] != '<' || s[1] != '0' || s[2] != 'x' || s[5] != '>') return -1;
  int high = s[3] == '+' ? 0 : digit(s[3]), low = digit(s[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Ends the run of bytes that begins at `from` of out->bytes. */
static ath_status end_run(ath_pieces *out, size_t from) {
  size_t count = out->bytes.length - from;
  if (count == 0) return ATH_OK;
  if (ath_utf8_prefix(out->bytes.bytes + from, count) == count) return ath_pieces_end(out);
  out->bytes.length = from;
  for (size_t i = 0; i < count; i++) ATH_TRY(ath_pieces_add(out, "\xEF\xBF\xBD", 3));
  return ATH_OK;
}

static ath_status apply(const void *data, const ath_pieces *in, ath_pieces *out) {
  (void)data;
  size_t run = 0; /* where in `out` the bytes of an open run begin */
  for (size_t i = 0; i < in->count; i++) {
    ath_string piece = ath_piece(in, i);
    int byte = named_byte(piece);
    if (byte >= 0) {
      ATH_TRY(ath_buffer_byte(&out->bytes, (char)byte));
      continue;
    }
    ATH_TRY(end_run(out, run));
    ATH_TRY(ath_pieces_add(out, piece.bytes, piece.length));
    run = out->bytes.length;
  }
  return end_run(out, run);
}

const ath_decoder_kind ath_decoder_byte_fallback = {
    {"ByteFallback", ath_read_nothing, ath_write_nothing}, apply};
