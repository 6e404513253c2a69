/* lowercase.c: each character's small letter, whatever stands around it: Σ is always σ.
 *
 * {"type": "Lowercase"} */
#include "tokenizers/character_tables.h"
#include "tokenizers/characters.h"
#include "tokenizers/normalizers/forms.h"
#include "tokenizers/normalizers/kinds.h"
#include "tokenizers/normalizers/rewrite.h"

/* The capital I with a dot above becomes two characters: i and the dot. */
enum { DOTTED_I = 0x130 };

static bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

static ath_status lower_ascii(ath_rewrite *self, size_t from, size_t to) {
  char small[64];
  const char *bytes = self->text->bytes;
  while (from < to) {
    while (from < to && !is_capital(bytes[from])) from++;
    size_t count = 0;
    if (self->run->track) { /* a byte at a time, each from a place of its own */
      if (from < to) small[count++] = (char)(bytes[from] | 0x20);
    } else {
      for (; count < sizeof small && from + count < to; count++)
        small[count] = (char)(bytes[from + count] | (is_capital(bytes[from + count]) ? 0x20 : 0));
    }
    if (count > 0) ATH_TRY(ath_rewrite_character(self, from, from + count, small, count));
    from += count;
  }
  return ATH_OK;
}

ath_status ath_lower_case(ath_run *run, ath_text *text) {
  ath_rewrite out = ath_rewrite_begin(run, text);
  for (size_t at = 0; at < text->length;) {
    size_t plain = ath_ascii_prefix(text->bytes + at, text->length - at);
    ATH_TRY(lower_ascii(&out, at, at + plain));
    at += plain;
    if (at == text->length) break;
    uint32_t c = ath_character_at(text->bytes, at);
    size_t end = at + ath_character_length(text->bytes[at]);
    int32_t distance = ath_character_look_up(c)->lower;
    char small[4];
    if (c == DOTTED_I)
      ATH_TRY(ath_rewrite_character(&out, at, end, "i\xCC\x87", 3));
    else if (distance != 0)
      ATH_TRY(ath_rewrite_character(&out, at, end, small,
                                    ath_character_write((uint32_t)((int32_t)c + distance), small)));
    at = end;
  }
  return ath_rewrite_end(&out, text);
}

static ath_status apply(const void *data, ath_run *run, ath_text *text) {
  (void)data;
  return ath_lower_case(run, text);
}

static ath_keeping keeps(const void *data, uint8_t character) {
  (void)data;
  return is_capital((char)character) ? ATH_KEEPS_NOTHING : ATH_KEEPS_APART;
}

const ath_normalizer_kind ath_normalizer_lowercase = {
    {"Lowercase", ath_read_nothing, ath_write_nothing}, apply, keeps, NULL};
