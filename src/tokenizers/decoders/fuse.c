/* fuse.c: all pieces made one.
 *
 * {"type": "Fuse"} */
#include "tokenizers/decoders/kinds.h"

static ath_status apply(const void *data, const ath_pieces *in, ath_pieces *out) {
  (void)data;
  return ath_pieces_add(out, in->bytes.length > 0 ? in->bytes.bytes : "", in->bytes.length);
}

const ath_decoder_kind ath_decoder_fuse = {{"Fuse", ath_read_nothing, ath_write_nothing}, apply};
