/* pieces.c: replacing and cleaning up the pieces of a text. */
#include "tokenizers/decoders/pieces.h"

#include <string.h>

ath_string ath_piece(const ath_pieces *self, size_t index) {
  assert(index < self->count);
  size_t from = index > 0 ? self->ends[index - 1] : 0, to = self->ends[index];
  return (ath_string){to > from ? self->bytes.bytes + from : "", to - from};
}

ath_status ath_string_read(const ath_json *json, const char *key, ath_arena *arena,
                           ath_string *out) {
  ath_json member = ath_json_member(json, key);
  ATH_TRY(ath_json_string(&member, &out->bytes, &out->length));
  out->bytes = ath_arena_string_n(arena, out->bytes, out->length);
  return out->bytes != NULL ? ATH_OK : ATH_NO_MEMORY;
}

static ath_status append(ath_buffer *out, ath_string s) {
  return s.length > 0 ? ath_buffer_append(out, s.bytes, s.length) : ATH_OK;
}

static ath_status put_between(ath_string text, ath_string content, ath_buffer *out) {
  for (size_t at = 0; at < text.length;) {
    size_t length = ath_character_length(text.bytes[at]);
    ATH_TRY(append(out, content));
    ATH_TRY(ath_buffer_append(out, text.bytes + at, length));
    at += length;
  }
  return append(out, content);
}

ath_status ath_replace_all(ath_string text, ath_string pattern, ath_string content,
                           ath_buffer *out) {
  if (pattern.length == 0) return put_between(text, content, out);
  const char *from = text.bytes, *end = from + text.length;
  for (const char *match; (match = memmem(from, (size_t)(end - from), pattern.bytes,
                                          pattern.length)) != NULL;) {
    ATH_TRY(append(out, (ath_string){from, (size_t)(match - from)}));
    ATH_TRY(append(out, content));
    from = match + pattern.length;
  }
  return append(out, (ath_string){from, (size_t)(end - from)});
}

/* In this order, since a replacement may make a place for the next. */
static const struct { const char *pattern, *content; } clean_ups[] = {
  {" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"},
  {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
};

static ath_string string_of(const char *text) { return (ath_string){text, strlen(text)}; }

ath_status ath_clean_up(ath_string text, ath_buffer *out) {
  if (memchr(text.bytes, ' ', text.length) == NULL) return append(out, text);
  enum { COUNT = sizeof clean_ups / sizeof *clean_ups };
  ath_buffer stages[2] = {ath_buffer_make(out->maximum), ath_buffer_make(out->maximum)};
  ath_status status = ATH_OK;
  for (int i = 0; i < COUNT && status == ATH_OK; i++) {
    ath_buffer *stage = &stages[i % 2];
    ath_buffer_clear(stage);
    status = ath_replace_all(text, string_of(clean_ups[i].pattern),
                             string_of(clean_ups[i].content), stage);
    text = (ath_string){stage->length > 0 ? stage->bytes : "", stage->length};
  }
  if (status == ATH_OK) status = append(out, text);
  ath_buffer_free(&stages[0]);
  ath_buffer_free(&stages[1]);
  return status;
}

ath_status ath_pieces_end(ath_pieces *self) { return ath_pieces_add(self, "", 0); }
