/* strip_accents.c: combining marks taken away. Letters that have their accent in one character
 * keep it; NFD before this takes them apart.
 *
 * {"type": "StripAccents"} */
#include "tokenizers/character_tables.h"
#include "tokenizers/characters.h"
#include "tokenizers/normalizers/forms.h"
#include "tokenizers/normalizers/kinds.h"
#include "tokenizers/normalizers/rewrite.h"

ath_status ath_strip_characters(ath_run *run, ath_text *text, unsigned flags) {
  ath_rewrite out = ath_rewrite_begin(run, text);
  for (size_t at = 0; at < text->length;) {
    at += ath_ascii_prefix(text->bytes + at, text->length - at);
    if (at == text->length) break;
    size_t end = at + ath_character_length(text->bytes[at]);
    if ((ath_character_look_up(ath_character_at(text->bytes, at))->flags & flags) != 0)
      ATH_TRY(ath_rewrite_character(&out, at, end, NULL, 0));
    at = end;
  }
  return ath_rewrite_end(&out, text);
}

static ath_status apply(const void *data, ath_run *run, ath_text *text) {
  (void)data;
  return ath_strip_characters(run, text, ATH_IS_MARK);
}

static ath_keeping keeps(const void *data, uint8_t character) {
  (void)data;
  (void)character;
  return ATH_KEEPS_APART;
}

const ath_normalizer_kind ath_normalizer_strip_accents = {
    {"StripAccents", ath_read_nothing, ath_write_nothing}, apply, keeps, NULL};
