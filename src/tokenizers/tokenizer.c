/* tokenizer.c: a tokenizer as a whole, and looking up its tokens. */
#include "tokenizers/tokenizer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizers/byte_level.h"

#define ARENA_LIMIT ((size_t)4 << 30)
#define JSON_LIMIT ((size_t)1 << 30)

/* --- life ---------------------------------------------------------------------------------- */

ath_status ath_tokenizer_create(ath_tokenizer **out) {
  static atomic_uint_fast64_t serials;
  ath_tokenizer *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a tokenizer");
  ath_status status = ath_arena_create(ARENA_LIMIT, &self->arena);
  if (status != ATH_OK) {
    free(self);
    return status;
  }
  pthread_mutex_init(&self->hash_lock, NULL);
  self->serial = atomic_fetch_add(&serials, 1) + 1;
  for (int r = 0; r < ATH_TOKEN_ROLE_COUNT; r++) self->roles[r] = -1;
  *out = self;
  return ATH_OK;
}

void ath_tokenizer_destroy(ath_tokenizer *self) {
  if (self == NULL) return;
  pthread_mutex_destroy(&self->hash_lock);
  ath_arena_destroy(self->arena);
  free(self);
}

/* The layout without a post-processor: the texts alone, of the types 0 and 1. */
static ath_status lay_out(ath_tokenizer *self, int texts, bool special, ath_layout *out) {
  *out = (ath_layout){ath_arena_alloc(self->arena, 2 * sizeof *out->parts), (size_t)texts, 0};
  if (out->parts == NULL) return ATH_NO_MEMORY;
  for (int t = 0; t < texts; t++)
    out->parts[t] = (ath_layout_part){.sequence = t, .type_id = t};
  const ath_post_processor *post = &self->post_processor;
  if (post->kind != NULL) ATH_TRY(post->kind->lay_out(post->data, self->arena, special, out));
  for (size_t i = 0; i < out->count; i++) {
    out->special_count += out->parts[i].sequence == ATH_SPECIAL;
    if (out->parts[i].trim_count > 0) self->trims = true;
  }
  return ATH_OK;
}

ath_status ath_tokenizer_lay_out(ath_tokenizer *self) {
  for (int texts = 1; texts <= 2; texts++)
    for (int special = 0; special < 2; special++)
      ATH_TRY(lay_out(self, texts, special, &self->layouts[texts - 1][special]));
  return ATH_OK;
}

/* The special tokens of the layouts must be in a vocabulary. */
static ath_status check_layout(const ath_tokenizer *self, const ath_layout *layout) {
  for (size_t i = 0; i < layout->count; i++) {
    const ath_layout_part *part = &layout->parts[i];
    if (part->sequence == ATH_SPECIAL && part->id >= self->size)
      return ath_fail(ATH_INVALID, "post_processor: \"%.100s\": the id %d is in no vocabulary;"
                      " the tokenizer has %d ids", part->text, part->id, self->size);
  }
  return ATH_OK;
}

ath_status ath_tokenizer_finish(ath_tokenizer *self) {
  assert(self->model.kind != NULL && self->arena != NULL);
  self->size = self->model.kind->size(self->model.data);
  if (self->added.count > 0) {
    int32_t last = self->added.items[self->added.count - 1].id;
    if (last >= self->size) self->size = last + 1;
  }
  if (self->layouts[0][0].parts == NULL) ATH_TRY(ath_tokenizer_lay_out(self));
  for (int texts = 0; texts < 2; texts++) ATH_TRY(check_layout(self, &self->layouts[texts][1]));
  ath_tokenizer_guess_roles(self);
  self->raw = self->model.kind->takes_bytes != NULL &&
              self->model.kind->takes_bytes(self->model.data) &&
              ath_byte_level_comes_last(&self->pre_tokenizer);
  ath_chunking_find(&self->chunking, &self->normalizer, &self->pre_tokenizer, &self->model);
  /* Added tokens that are looked for in what the normaliser made may hold borders. */
  self->chunking.possible &= self->added.normalized.count == 0;
  return ATH_OK;
}

/* --- looking up ---------------------------------------------------------------------------- */

/* Always of the bytes as they would be written, whatever the file looked like that was read. */
static ath_status compute_hash(const ath_tokenizer *self, char out[ATH_SHA256_TEXT]) {
  ath_buffer json = ath_buffer_make(JSON_LIMIT);
  ath_status status = ath_tokenizer_write(self, &json);
  if (status == ATH_OK) ath_sha256_bytes(json.bytes, json.length, out);
  ath_buffer_free(&json);
  return status;
}

/* Composing the file takes longer than all the rest of loading it, and who only encodes never asks
 * for its hash. */
const char *ath_tokenizer_hash(const ath_tokenizer *self) {
  ath_tokenizer *own = (ath_tokenizer *)(uintptr_t)self; /* as good as constant: always the same */
  ath_status status = ATH_OK;
  pthread_mutex_lock(&own->hash_lock);
  if (own->hash[0] == '\0') status = compute_hash(self, own->hash);
  pthread_mutex_unlock(&own->hash_lock);
  return status == ATH_OK ? self->hash : NULL;
}

int32_t ath_tokenizer_size(const ath_tokenizer *self) { return self->size; }

const char *ath_tokenizer_find(const ath_tokenizer *self, int32_t id, size_t *length) {
  const ath_added_token *added = ath_added_tokens_by_id(&self->added, id);
  if (added == NULL) return self->model.kind->token(self->model.data, id, length);
  assert(added->content != NULL);
  *length = added->length;
  return added->content;
}

const char *ath_tokenizer_token(const ath_tokenizer *self, int32_t id) {
  size_t length;
  return ath_tokenizer_find(self, id, &length);
}

int32_t ath_tokenizer_id(const ath_tokenizer *self, const char *token) {
  size_t length = strlen(token);
  int32_t id = self->model.kind->id(self->model.data, token, length);
  if (id >= 0) return id;
  const ath_added_token *added = ath_added_tokens_by_content(&self->added, token, length);
  return added != NULL ? added->id : -1;
}

int32_t ath_tokenizer_special(const ath_tokenizer *self, ath_token_role role) {
  assert(role >= 0 && role < ATH_TOKEN_ROLE_COUNT);
  return self->roles[role];
}

int ath_tokenizer_is_special(const ath_tokenizer *self, int32_t id) {
  for (int r = 0; r < ATH_TOKEN_ROLE_COUNT; r++)
    if (id >= 0 && self->roles[r] == id) return 1;
  const ath_added_token *added = ath_added_tokens_by_id(&self->added, id);
  return added != NULL && added->special;
}
