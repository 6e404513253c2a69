/* byte_level.c: each byte written as the visible letter that stands for it (byte_alphabet.h).
 *
 * {"type": "ByteLevel"} */
#include "tokenizers/byte_alphabet.h"
#include "tokenizers/normalizers/kinds.h"
#include "tokenizers/normalizers/rewrite.h"

static ath_status apply(const void *data, ath_run *run, ath_text *text) {
  (void)data;
  ath_rewrite out = ath_rewrite_begin(run, text);
  for (size_t at = 0; at < text->length;) {
    size_t end = at + ath_character_length(text->bytes[at]);
    if (text->bytes[at] > ' ' && text->bytes[at] < 0x7F) {
      at = end;
      continue;
    }
    ath_origin origin = ath_text_origin(text, at);
    for (; at < end; at++) {
      const ath_byte_letter *letter = &ath_byte_letters[(uint8_t)text->bytes[at]];
      ATH_TRY(ath_rewrite_put(&out, at, at + 1, letter->utf8, letter->length, origin));
    }
  }
  return ath_rewrite_end(&out, text);
}

const ath_normalizer_kind ath_normalizer_byte_level = {
    {"ByteLevel", ath_read_nothing, ath_write_nothing}, apply, NULL, NULL};
