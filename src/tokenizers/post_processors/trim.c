/* trim.c: offsets without the white space that byte-level tokens begin and end with: "Ġa" of "b a"
 * at (1, 3) becomes (2, 3). What the rules are was found with the tokenizers library (0.23.3). */
#include "tokenizers/post_processors/trim.h"

#include "tokenizers/characters.h"

ath_status ath_layout_add_trim(ath_layout *layout, bool prefix) {
  for (size_t i = 0; i < layout->count; i++) {
    ath_layout_part *part = &layout->parts[i];
    if (part->sequence == ATH_SPECIAL) continue;
    if (part->trim_count == ATH_TRIMS_MAX)
      return ath_fail(ATH_UNSUPPORTED, "post_processor: offsets are trimmed more than %d times",
                      ATH_TRIMS_MAX);
    part->trims[part->trim_count++] = (ath_trim){prefix, !part->joined};
  }
  return ATH_OK;
}

/* White space, or the letter that stands for a space in the byte-level alphabet. */
static bool is_margin(uint32_t character) {
  enum { BYTE_LEVEL_SPACE = 0x120 };
  return character == BYTE_LEVEL_SPACE || ath_is_white_space(character);
}

ath_margins ath_token_margins(const char *bytes, size_t length) {
  ath_margins margins = {0, 0};
  for (size_t at = 0; at < length && is_margin(ath_character_at(bytes, at));
       at += ath_character_length(bytes[at]))
    margins.before++;
  for (size_t at = length; at > 0 && is_margin(ath_character_before(bytes, at));
       margins.after++) {
    do at--;
    while (((uint8_t)bytes[at] & 0xC0) == 0x80);
  }
  return margins;
}

/* More than one space in front are the text's own: what we put there is one. */
void ath_trim_offsets(const ath_trim *self, ath_margins margins, size_t index, uint32_t *start,
                      uint32_t *end) {
  bool first = (index == 0 && self->is_first) || *start == 0;
  uint32_t before = margins.before;
  if (first && self->prefix && before == 1) before = 0;
  assert(*start <= *end);
  if (before > 0) *start = before < *end - *start ? *start + before : *end;
  if (margins.after > 0 && *end >= margins.after)
    *end = *end - margins.after > *start ? *end - margins.after : *start;
}
