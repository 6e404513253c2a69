/* rewrite.c: changing a text in places. */
#include "tokenizers/normalizers/rewrite.h"

#include <string.h>

static ath_text_buffer *other_buffer(ath_run *run, const ath_text *text) {
  const ath_text_buffer *first = &run->normal[0];
  bool inside = first->bytes != NULL && (uintptr_t)text->bytes >= (uintptr_t)first->bytes &&
                (uintptr_t)text->bytes < (uintptr_t)first->bytes + first->capacity;
  return &run->normal[inside];
}

ath_rewrite ath_rewrite_begin(ath_run *run, const ath_text *text) {
  assert(text->bytes != NULL);
  ath_text_buffer *out = other_buffer(run, text);
  out->length = 0;
  return (ath_rewrite){run, text, out, 0, false};
}

ath_status ath_rewrite_copy(ath_rewrite *self, size_t from) {
  assert(from >= self->copied && from <= self->text->length);
  self->changed = true;
  ATH_TRY(ath_text_append(self->run, self->out, self->text, self->copied, from));
  self->copied = from;
  return ATH_OK;
}

ath_status ath_rewrite_put(ath_rewrite *self, size_t from, size_t to, const char *bytes,
                           size_t count, ath_origin origin) {
  assert(from <= to && to <= self->text->length);
  ATH_TRY(ath_rewrite_copy(self, from));
  self->copied = to;
  return ath_text_insert(self->run, self->out, bytes, count, origin);
}

ath_status ath_rewrite_character(ath_rewrite *self, size_t from, size_t to, const char *bytes,
                                 size_t count) {
  ath_origin origin = {0, 0};
  if (self->run->track && count > 0) origin = ath_text_origin(self->text, from);
  return ath_rewrite_put(self, from, to, bytes, count, origin);
}

ath_status ath_rewrite_end(ath_rewrite *self, ath_text *text) {
  if (!self->changed) return ATH_OK;
  ATH_TRY(ath_rewrite_copy(self, self->text->length));
  *text = ath_text_of(self->run, self->out);
  return ATH_OK;
}

size_t ath_ascii_prefix(const char *bytes, size_t length) {
  size_t at = 0;
  for (uint64_t words[2]; length - at >= sizeof words; at += sizeof words) {
    memcpy(words, bytes + at, sizeof words);
    if (((words[0] | words[1]) & UINT64_C(0x8080808080808080)) != 0) break;
  }
  while (at < length && (uint8_t)bytes[at] < 0x80) at++;
  return at;
}
