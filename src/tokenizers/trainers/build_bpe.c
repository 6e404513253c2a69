/* build_bpe.c: the byte-level masked-language-model tokenizer around trained merges: the pipeline
 * of roberta-base, said as tokenizer.json says it. */
#include <stdlib.h>
#include <string.h>

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/models/bpe.h"
#include "tokenizers/models/kinds.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/trainers/build.h"

static const char *const specials[ATH_BUILD_SPECIALS] = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};

#define ADDED(id, content, lstrip) \
  "{\"id\":" #id ",\"content\":\"" content "\",\"lstrip\":" #lstrip \
  ",\"normalized\":false,\"special\":true}"
#define BYTE_LEVEL(prefix_space) \
  "{\"type\":\"ByteLevel\",\"add_prefix_space\":" #prefix_space \
  ",\"trim_offsets\":true,\"use_regex\":true}"

/* <mask> takes the space before it, for the token that it stands for has one of its own. */
static const char pipeline[] =
    "{\"version\":\"1.0\",\"added_tokens\":["
    ADDED(0, "<s>", false) "," ADDED(1, "<pad>", false) "," ADDED(2, "</s>", false) ","
    ADDED(3, "<unk>", false) "," ADDED(4, "<mask>", true) "],"
    "\"pre_tokenizer\":" BYTE_LEVEL(false) ","
    "\"post_processor\":{\"type\":\"RobertaProcessing\",\"sep\":[\"</s>\",2],\"cls\":[\"<s>\",0],"
    "\"trim_offsets\":true,\"add_prefix_space\":false},"
    "\"decoder\":" BYTE_LEVEL(true) "}";

/* Without added tokens: one that the text spells is text to the trainer, as in the reference. */
static const char cutter[] = "{\"version\":\"1.0\",\"pre_tokenizer\":" BYTE_LEVEL(false) "}";

ath_status ath_build_bpe_first_tokens(ath_word_visitor visit, void *context) {
  for (size_t i = 0; i < ATH_BUILD_SPECIALS; i++)
    ATH_TRY(visit(context, specials[i], strlen(specials[i])));
  for (uint32_t c = 0; c < ATH_BUILD_LETTERS; c++) {
    int byte = ath_letter_byte(c);
    if (byte < 0) continue;
    ATH_TRY(visit(context, ath_byte_letters[byte].utf8, ath_byte_letters[byte].length));
  }
  return ATH_OK;
}

/* An ath_word_visitor. */
static ath_status add_token(void *vocabulary, const char *bytes, size_t length) {
  ath_vocabulary *self = vocabulary;
  const char *copy = ath_arena_string_n(self->arena, bytes, length);
  if (copy == NULL) return ATH_NO_MEMORY;
  const ath_vocabulary_entry *other;
  bool added = ath_vocabulary_add(self, copy, length, (int32_t)self->count, &other);
  return added ? ATH_OK : ath_fail(ATH_INVALID, "the token \"%.100s\" is there twice", copy);
}

/* Adds what a merge makes, if it is the next token. */
static ath_status add_made(ath_vocabulary *self, const ath_merge *merge) {
  assert(merge->id <= (int32_t)self->count && merge->left < (int32_t)self->count);
  assert(merge->right < (int32_t)self->count);
  if (merge->id < (int32_t)self->count) return ATH_OK;
  const ath_vocabulary_entry *left = ath_vocabulary_entry_of(self, merge->left);
  const ath_vocabulary_entry *right = ath_vocabulary_entry_of(self, merge->right);
  size_t length = (size_t)left->length + right->length;
  char *joined = malloc(length);
  if (joined == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a token");
  memcpy(joined, left->bytes, left->length);
  memcpy(joined + left->length, right->bytes, right->length);
  ath_status status = add_token(self, joined, length);
  free(joined);
  return status;
}

static ath_status build_model(const ath_merge *merges, size_t count, int32_t vocab_size,
                              ath_arena *arena, ath_bpe **out) {
  ath_bpe *model;
  ATH_TRY(ath_bpe_create(arena, &model));
  ATH_TRY(ath_vocabulary_init(&model->vocabulary, arena, (size_t)vocab_size, vocab_size));
  ATH_TRY(ath_merges_init(&model->merges, arena, count));
  ATH_TRY(ath_build_bpe_first_tokens(add_token, &model->vocabulary));
  assert(model->vocabulary.count == ATH_BPE_VOCAB_MIN);
  for (size_t i = 0; i < count; i++) {
    ATH_TRY(add_made(&model->vocabulary, &merges[i]));
    ath_merges_add(&model->merges, merges[i]);
  }
  *out = model;
  return ath_bpe_finish(model);
}

static ath_status build(ath_tokenizer *self, const ath_merge *merges, size_t count,
                        int32_t vocab_size, const char *parts) {
  ath_bpe *model;
  ATH_TRY(build_model(merges, count, vocab_size, self->arena, &model));
  self->model = (ath_model){&ath_model_bpe, model};
  return ath_tokenizer_build_parts(self, parts);
}

static ath_status build_with(const ath_merge *merges, size_t count, int32_t vocab_size,
                             const char *parts, ath_tokenizer **out) {
  ath_tokenizer *self;
  ATH_TRY(ath_tokenizer_create(&self));
  ath_status status = build(self, merges, count, vocab_size, parts);
  if (status == ATH_OK) *out = self;
  else ath_tokenizer_destroy(self);
  return status;
}

ath_status ath_tokenizer_build_bpe(const ath_merge *merges, size_t count, int32_t vocab_size,
                                   ath_tokenizer **out) {
  return build_with(merges, count, vocab_size, pipeline, out);
}

ath_status ath_tokenizer_build_byte_cutter(ath_tokenizer **out) {
  return build_with(NULL, 0, ATH_BPE_VOCAB_MIN, cutter, out);
}
