/* scripts.c: text cut where its script changes; kana are of the Chinese script, and what is of
 * none, such as a space, goes with what is before it.
 *
 * {"type": "UnicodeScripts"}
 *
 * As in the reference, what is of no script is dropped where a text begins with it. */
#include "tokenizers/character_tables.h"
#include "tokenizers/characters.h"
#include "tokenizers/pre_tokenizers/cutter.h"
#include "tokenizers/pre_tokenizers/kinds.h"

static ath_status split(const void *data, ath_run *run, const ath_text *text, ath_sink next) {
  (void)data;
  uint32_t last = 0; /* no word has begun yet */
  size_t from = 0;
  for (size_t at = 0; at < text->length;) {
    uint32_t script = ath_character_script(ath_character_at(text->bytes, at));
    if (script != 0 && script != last) {
      ath_text word = ath_text_slice(text, from, at);
      if (last != 0) ATH_TRY(next.take(next.context, run, &word));
      from = at;
      last = script;
    }
    at += ath_character_length(text->bytes[at]);
  }
  if (last == 0) return ATH_OK;
  ath_text word = ath_text_slice(text, from, text->length);
  return next.take(next.context, run, &word);
}

const ath_pre_tokenizer_kind ath_pre_tokenizer_scripts = {
    {"UnicodeScripts", ath_read_nothing, ath_write_nothing}, split, ath_needs_no_origins, NULL};
