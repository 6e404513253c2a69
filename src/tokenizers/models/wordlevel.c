/* wordlevel.c: the model whose tokens are whole words.
 *
 * {"type": "WordLevel", "vocab": {"<unk>": 0, "the": 1}, "unk_token": "<unk>"} */
#include <string.h>

#include "tokenizers/models/kinds.h"
#include "tokenizers/models/vocabulary.h"
#include "tokenizers/models/word_cache.h"

typedef struct wordlevel {
  ath_vocabulary vocabulary; /* the first member: the kind's functions look it up */
  const char *unknown;
  size_t unknown_length;
  int32_t unknown_id; /* −1: the vocabulary does not have it */
} wordlevel;

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "vocab", "unk_token", NULL};
  ath_json_check_keys(json, known);
  wordlevel *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json vocab = ath_json_member(json, "vocab");
  ATH_TRY(ath_vocabulary_read(&vocab, arena, &self->vocabulary));
  ath_json unknown = ath_json_member(json, "unk_token");
  ATH_TRY(ath_json_string(&unknown, &self->unknown, &self->unknown_length));
  self->unknown = ath_arena_string_n(arena, self->unknown, self->unknown_length);
  if (self->unknown == NULL) return ATH_NO_MEMORY;
  self->unknown_id = ath_vocabulary_id(&self->vocabulary, self->unknown, self->unknown_length);
  *data = self;
  return ATH_OK;
}

static void write(const void *data, ath_json_writer *out) {
  const wordlevel *self = data;
  ath_vocabulary_write(&self->vocabulary, out);
  ath_json_put_string(out, "unk_token", self->unknown, self->unknown_length);
}

static ath_status encode(const void *data, ath_run *run, const ath_text *word) {
  const wordlevel *self = data;
  assert(word->length > 0);
  int32_t id = ath_vocabulary_id(&self->vocabulary, word->bytes, word->length);
  if (id < 0) id = self->unknown_id;
  if (id < 0)
    return ath_fail(ATH_INVALID, "the word \"%.*s\" is not in the vocabulary, nor is the unknown "
                    "token \"%.100s\" (model.unk_token)",
                    ath_word_shown(word), word->bytes, self->unknown);
  ATH_TRY(ath_run_reserve(run, 1));
  ath_run_emit(run, id, word, 0, word->length);
  return ATH_OK;
}

const ath_model_kind ath_model_wordlevel = {
  .base = {"WordLevel", read, write},
  .encode = encode,
  .size = ath_vocabulary_kind_size,
  .id = ath_vocabulary_kind_id,
  .token = ath_vocabulary_kind_token,
};
