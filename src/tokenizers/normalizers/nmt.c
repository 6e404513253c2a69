/* nmt.c: SentencePiece's cleaning for machine translation: control characters go, and what else
 * only keeps words apart becomes a plain space.
 *
 * {"type": "Nmt"} */
#include "tokenizers/characters.h"
#include "tokenizers/normalizers/kinds.h"
#include "tokenizers/normalizers/rewrite.h"

static bool is_dropped(uint32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
         c == 0x8F || c == 0x9F;
}

static bool is_space(uint32_t c) {
  return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
         (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
         c == 0xFEFF || c == 0xFFFD;
}

static ath_status apply(const void *data, ath_run *run, ath_text *text) {
  (void)data;
  ath_rewrite out = ath_rewrite_begin(run, text);
  for (size_t at = 0; at < text->length;) {
    uint32_t c = ath_character_at(text->bytes, at);
    size_t end = at + ath_character_length(text->bytes[at]);
    if (is_dropped(c)) ATH_TRY(ath_rewrite_character(&out, at, end, NULL, 0));
    else if (is_space(c)) ATH_TRY(ath_rewrite_character(&out, at, end, " ", 1));
    at = end;
  }
  return ath_rewrite_end(&out, text);
}

static ath_keeping keeps(const void *data, uint8_t character) {
  (void)data;
  return is_dropped(character) || is_space(character) ? ATH_KEEPS_NOTHING : ATH_KEEPS_APART;
}

const ath_normalizer_kind ath_normalizer_nmt = {
    {"Nmt", ath_read_nothing, ath_write_nothing}, apply, keeps, NULL};
