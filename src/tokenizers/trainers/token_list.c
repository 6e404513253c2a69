/* token_list.c: the tokens of a vocabulary in the making. */
#include "tokenizers/trainers/token_list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/tokenizer.h"
#include "base/resize.h"

ath_status ath_token_list_init(ath_token_list *self) {
  *self = (ath_token_list){.text = ath_buffer_make((size_t)1 << 32)};
  return ath_hash_map_create(ATH_VOCAB_SIZE_MAX, &self->ids);
}

void ath_token_list_free(ath_token_list *self) {
  ath_hash_map_destroy(self->ids);
  ath_buffer_free(&self->text);
  free(self->starts);
  free(self->characters);
  *self = (ath_token_list){0};
}

const char *ath_token_list_text(const ath_token_list *self, int32_t id, size_t *length) {
  assert(id >= 0 && id < self->count);
  *length = self->starts[id + 1] - self->starts[id];
  return self->text.bytes + self->starts[id];
}

static ath_status grow(ath_token_list *self) {
  size_t capacity = self->capacity * 2 + 1024;
  if (!ath_resize(&self->starts, (capacity + 1) * sizeof *self->starts) ||
      !ath_resize(&self->characters, capacity * sizeof *self->characters))
    return ath_fail(ATH_NO_MEMORY, "no memory for %zu tokens", capacity);
  self->starts[0] = 0;
  self->capacity = capacity;
  return ATH_OK;
}

/* Makes the bytes behind the last token's one more, unless there is such a token. */
static ath_status take(ath_token_list *self, uint32_t characters, int32_t *id) {
  if ((size_t)self->count == self->capacity) ATH_TRY(grow(self));
  size_t from = self->starts[self->count], length = self->text.length - from;
  const char *bytes = self->text.bytes + from;
  if (ath_hash_map_get(self->ids, bytes, length, id)) {
    self->text.length = from;
    return ATH_OK;
  }
  *id = self->count;
  ATH_TRY(ath_hash_map_set(self->ids, bytes, length, *id));
  self->characters[self->count++] = characters;
  self->starts[self->count] = self->text.length;
  return ATH_OK;
}

ath_status ath_token_list_add(ath_token_list *self, const char *bytes, size_t length,
                              uint32_t characters, int32_t *id) {
  assert(length > 0);
  ATH_TRY(ath_buffer_append(&self->text, bytes, length));
  return take(self, characters, id);
}

ath_status ath_token_list_join(ath_token_list *self, int32_t left, int32_t right,
                               const char *prefix, int32_t *id) {
  size_t left_length, right_length, skipped = strlen(prefix);
  ath_token_list_text(self, left, &left_length);
  const char *tail = ath_token_list_text(self, right, &right_length);
  if (right_length < skipped || memcmp(tail, prefix, skipped) != 0) skipped = 0;
  ATH_TRY(ath_buffer_reserve(&self->text, left_length + right_length)); /* the texts stay put */
  ATH_TRY(ath_buffer_append(&self->text, self->text.bytes + self->starts[left], left_length));
  ATH_TRY(ath_buffer_append(&self->text, self->text.bytes + self->starts[right] + skipped,
                            right_length - skipped));
  return take(self, self->characters[left] + self->characters[right], id);
}
