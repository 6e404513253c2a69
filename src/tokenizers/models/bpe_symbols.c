/* bpe_symbols.c: a character is a symbol if the vocabulary has it, with the affixes that belong to
 * its place; else its bytes are, or the unknown token stands for it. */
#include "tokenizers/models/bpe_symbols.h"

#include <string.h>

size_t ath_bpe_symbols_per_character(const ath_bpe *self) {
  return 5 + self->prefix.length + self->suffix.length;
}

/* Affixes that became bytes would reach past the word's end. */
static void put_symbol(ath_bpe_reader *self, int32_t id, size_t length) {
  self->end += length;
  size_t end = self->end < self->word->length ? self->end : self->word->length;
  self->out[self->count++] = (ath_word_piece){id, (uint32_t)end};
}

static void put_unknown(ath_bpe_reader *self) {
  if (self->unknown > 0) put_symbol(self, self->model->unknown_id, self->unknown);
  self->unknown = 0;
}

static bool put_bytes(ath_bpe_reader *self, const char *name, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (self->model->byte_ids[(uint8_t)name[i]] < 0) return false;
  for (size_t i = 0; i < length; i++)
    put_symbol(self, self->model->byte_ids[(uint8_t)name[i]], 1);
  return true;
}

/* A character that is not in the vocabulary. The reference keeps unknown ones back until a known
 * one comes, so that bytes overtake them; without an unknown token they vanish. */
static ath_status read_unknown(ath_bpe_reader *self, const char *name, size_t name_length,
                               size_t length) {
  const ath_bpe *model = self->model;
  if (model->byte_fallback && put_bytes(self, name, name_length)) return ATH_OK;
  if (model->unknown.bytes == NULL) return ATH_OK;
  if (model->unknown_id < 0)
    return ath_fail(ATH_INVALID, "\"%.*s\" is not in the vocabulary, nor is the unknown token "
                    "\"%.100s\" (model.unk_token)", (int)length, self->word->bytes + self->at,
                    model->unknown.bytes);
  if (!model->fuse_unknown) put_unknown(self);
  self->unknown += length;
  return ATH_OK;
}

/* A character with its prefix and suffix, looked up by its bytes. */
static ath_status read_named(ath_bpe_reader *self, size_t length, int variant) {
  const ath_bpe *model = self->model;
  const char *name = self->word->bytes + self->at;
  char room[2 * ATH_BPE_AFFIX_MAX + 4];
  size_t name_length = length;
  if (variant != 0) {
    size_t start = variant & 1 ? model->prefix.length : 0;
    if (start > 0) memcpy(room, model->prefix.bytes, start);
    memcpy(room + start, name, length);
    name_length = start + length;
    if (variant & 2) memcpy(room + name_length, model->suffix.bytes, model->suffix.length);
    if (variant & 2) name_length += model->suffix.length;
    name = room;
  }
  int32_t id = ath_vocabulary_id(&model->vocabulary, name, name_length);
  if (id < 0) return read_unknown(self, name, name_length, length);
  put_unknown(self);
  put_symbol(self, id, length);
  return ATH_OK;
}

static ath_status read_character(ath_bpe_reader *self) {
  const ath_bpe *model = self->model;
  const uint8_t *bytes = (const uint8_t *)self->word->bytes + self->at;
  size_t length = self->raw ? 1 : ath_character_length((char)*bytes);
  int variant = (self->at > 0 && model->prefix.length > 0) |
                (self->at + length == self->word->length && model->suffix.length > 0) << 1;
  int32_t id = -1;
  if (self->raw) id = model->bytes[variant][*bytes];
  else if (length == 1) id = model->letters[variant][*bytes];
  else if (length == 2) id = model->letters[variant][(*bytes & 0x1F) << 6 | (bytes[1] & 0x3F)];
  if (id >= 0) {
    put_unknown(self);
    put_symbol(self, id, length);
  } else {
    ATH_TRY(read_named(self, length, variant));
  }
  self->at += length;
  return ATH_OK;
}

ath_status ath_bpe_read_symbols(ath_bpe_reader *self, size_t wanted) {
  while (self->count < wanted && self->at < self->word->length) ATH_TRY(read_character(self));
  if (self->at == self->word->length) put_unknown(self);
  return ATH_OK;
}
