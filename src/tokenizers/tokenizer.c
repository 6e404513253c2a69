/* tokenizer.c: a tokenizer as a whole: encoding, decoding, looking up tokens. */
#include "tokenizers/tokenizer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizers/trainers/build.h"

#define ARENA_LIMIT ((size_t)4 << 30)
#define JSON_LIMIT ((size_t)1 << 30)
#define DECODED_LIMIT ((size_t)1 << 30)
enum { TEXT_LIMIT = 1 << 30 };

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

ath_status ath_tokenizer_finish(ath_tokenizer *self) {
  assert(self->model.kind != NULL && self->arena != NULL);
  self->size = self->model.kind->size(self->model.data);
  if (self->added.count > 0) {
    int32_t last = self->added.items[self->added.count - 1].id;
    if (last >= self->size) self->size = last + 1;
  }
  if (self->post_processor.kind != NULL) {
    int32_t id = self->post_processor.kind->largest_id(self->post_processor.data);
    if (id >= self->size)
      return ath_fail(ATH_INVALID, "post_processor.special_tokens: the id %d is in no vocabulary;"
                      " the tokenizer has %d ids", id, self->size);
  }
  ath_tokenizer_guess_roles(self);
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

static const char *find_token(const ath_tokenizer *self, int32_t id, size_t *length) {
  const ath_added_token *added = ath_added_tokens_by_id(&self->added, id);
  if (added == NULL) return self->model.kind->token(self->model.data, id, length);
  assert(added->content != NULL);
  *length = added->length;
  return added->content;
}

const char *ath_tokenizer_token(const ath_tokenizer *self, int32_t id) {
  size_t length;
  return find_token(self, id, &length);
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

/* --- encoding ------------------------------------------------------------------------------ */

/* How far a text goes: who takes its words, and whether added tokens in it count. */
typedef struct walk {
  const ath_tokenizer *tokenizer;
  ath_sink word;
  bool skip_added;
} walk;

/* The steps of the walk, from the last to the first: each is the sink of the one after it. */
static ath_status take_normalized(void *context, ath_run *run, const ath_text *text) {
  const walk *w = context;
  assert(text->length > 0);
  const ath_pre_tokenizer *cutter = &w->tokenizer->pre_tokenizer;
  if (cutter->kind == NULL) return w->word.take(w->word.context, run, text);
  return cutter->kind->split(cutter->data, run, text, w->word);
}

/* The parts of the text as it was written that lie between added tokens. */
static ath_status take_written(void *context, ath_run *run, const ath_text *text) {
  const walk *w = context;
  const ath_tokenizer *self = w->tokenizer;
  ath_text normal = *text;
  if (self->normalizer.kind != NULL)
    ATH_TRY(self->normalizer.kind->apply(self->normalizer.data, run, &normal));
  return ath_added_tokens_split(&self->added, &self->added.normalized, run, &normal,
                                w->skip_added, (ath_sink){take_normalized, context});
}

static ath_status take_sequence(void *context, ath_run *run, const ath_text *text) {
  const walk *w = context;
  return ath_added_tokens_split(&w->tokenizer->added, &w->tokenizer->added.written, run, text,
                                w->skip_added, (ath_sink){take_written, context});
}

static ath_status take_word(void *context, ath_run *run, const ath_text *word) {
  const ath_tokenizer *self = context;
  return self->model.kind->encode(self->model.data, run, word);
}

/* Gets the run out of the encoding, where it lives from call to call, ready for this tokenizer. */
static ath_status open_run(const ath_tokenizer *self, unsigned flags, ath_encoding *out,
                           ath_run **run) {
  ath_run *r = out->workspace;
  if (r != NULL && r->serial != self->serial) {
    ath_run_free(r);
  } else if (r == NULL) {
    r = calloc(1, sizeof *r);
    if (r == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for encoding");
    out->workspace = r;
  }
  assert(self->serial != 0);
  r->serial = self->serial;
  r->out = out;
  r->offsets = (flags & ATH_ENCODE_OFFSETS) != 0;
  r->tokens = (flags & ATH_ENCODE_TOKENS) != 0;
  r->track = r->offsets;
  if (self->pre_tokenizer.kind != NULL &&
      self->pre_tokenizer.kind->needs_origins(self->pre_tokenizer.data))
    r->track = true;
  r->surface_count = 0;
  r->surface_text.maximum = DECODED_LIMIT;
  ath_buffer_clear(&r->surface_text);
  out->length = 0;
  *run = r;
  return ATH_OK;
}

/* All parts rely on well-formed UTF-8, and on offsets that fit 32 bits. */
static ath_status check_text(const char *text, size_t length) {
  if (length > TEXT_LIMIT)
    return ath_fail(ATH_INVALID, "a text of %zu bytes; at most %d can be encoded at once", length,
                    TEXT_LIMIT);
  size_t valid = ath_utf8_prefix(text, length);
  if (valid == length) return ATH_OK;
  return ath_fail(ATH_INVALID, "invalid UTF-8 at byte %zu (0x%02X)", valid, (uint8_t)text[valid]);
}

/* A place in the text, as bytes and as characters. */
typedef struct cursor {
  size_t byte;
  uint32_t character;
} cursor;

/* Tokens come nearly in order, so this is nearly one pass over the text. */
static uint32_t move_to(cursor *self, const char *text, size_t byte) {
  while (self->byte < byte)
    self->character += ((uint8_t)text[self->byte++] & 0xC0) != 0x80;
  while (self->byte > byte)
    self->character -= ((uint8_t)text[--self->byte] & 0xC0) != 0x80;
  return self->character;
}

/* Turns offsets in bytes into offsets in code points. */
static void count_characters(const char *text, ath_encoding *out) {
  cursor start = {0, 0}, end = {0, 0};
  for (size_t i = 0; i < out->length; i++) {
    if (out->ends[i] == 0) { /* a special token, which is nowhere in the text */
      out->starts[i] = 0;
      continue;
    }
    assert(out->starts[i] < out->ends[i]);
    out->starts[i] = move_to(&start, text, out->starts[i]);
    out->ends[i] = move_to(&end, text, out->ends[i]);
  }
}

static ath_status encode(const ath_tokenizer *self, const ath_text *text, unsigned flags,
                         ath_run *run) {
  walk w = {self, {take_word, (void *)(uintptr_t)self}, false};
  const ath_post_processor *post = &self->post_processor;
  if ((flags & ATH_ENCODE_SPECIAL) == 0 || post->kind == NULL) return take_sequence(&w, run, text);
  return post->kind->single(post->data, run, (ath_sink){take_sequence, &w}, text);
}

ath_status ath_tokenizer_encode(const ath_tokenizer *self, const char *text, size_t length,
                                unsigned flags, ath_encoding *out) {
  ath_run *run;
  ATH_TRY(open_run(self, flags, out, &run));
  ATH_TRY(check_text(text, length));
  ath_text whole = {.bytes = length > 0 ? text : "", .length = length};
  ath_status status = encode(self, &whole, flags, run);
  if (status != ATH_OK) out->length = 0;
  else if (run->offsets) count_characters(text, out);
  return status;
}

const char *ath_encoding_token(const ath_encoding *self, const ath_tokenizer *tokenizer,
                               size_t index, size_t *length) {
  assert(index < self->length && self->workspace != NULL);
  const ath_run *run = self->workspace;
  size_t low = 0, high = run->surface_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (run->surfaces[middle].token < index) low = middle + 1;
    else high = middle;
  }
  if (low < run->surface_count && run->surfaces[low].token == index) {
    *length = run->surfaces[low].length;
    return run->surface_text.bytes + run->surfaces[low].at;
  }
  return find_token(tokenizer, self->ids[index], length);
}

void ath_encoding_free(ath_encoding *self) {
  if (self->workspace != NULL) ath_run_free(self->workspace);
  free(self->workspace);
  free(self->ids);
  free(self->starts);
  free(self->ends);
  *self = (ath_encoding){0};
}

/* --- words, for the trainers ---------------------------------------------------------------- */

typedef struct visit {
  ath_word_visitor visitor;
  void *context;
} visit;

static ath_status visit_word(void *context, ath_run *run, const ath_text *word) {
  (void)run;
  const visit *v = context;
  return v->visitor(v->context, word->bytes, word->length);
}

ath_status ath_tokenizer_each_word(const ath_tokenizer *self, const char *text, size_t length,
                                   ath_encoding *scratch, ath_word_visitor visitor,
                                   void *context) {
  ath_run *run;
  ATH_TRY(open_run(self, 0, scratch, &run));
  ATH_TRY(check_text(text, length));
  visit v = {visitor, context};
  walk w = {self, {visit_word, &v}, true};
  ath_text whole = {.bytes = length > 0 ? text : "", .length = length};
  return take_sequence(&w, run, &whole);
}

/* --- decoding ------------------------------------------------------------------------------ */

/* The reference leaves out a token when what the decoders see of it is a special token's text. So
 * one that the normaliser has changed stays. */
static bool is_left_out(const ath_tokenizer *self, const ath_added_token *token) {
  if (token->form_length != token->length ||
      memcmp(token->form, token->content, token->length) != 0)
    token = ath_added_tokens_by_content(&self->added, token->form, token->form_length);
  return token != NULL && token->special;
}

/* The texts of the ids, as decoders want them. */
static ath_status collect(const ath_tokenizer *self, const int32_t *ids, size_t count,
                          int skip_special, ath_pieces *pieces) {
  for (size_t i = 0; i < count; i++) {
    const ath_added_token *added = ath_added_tokens_by_id(&self->added, ids[i]);
    if (skip_special && added != NULL && is_left_out(self, added)) continue;
    size_t length;
    const char *bytes = added != NULL ? added->form : find_token(self, ids[i], &length);
    if (bytes == NULL)
      return ath_fail(ATH_INVALID, "id %zu is %d, which is no token; the tokenizer has %d ids",
                      i, ids[i], self->size);
    if (added != NULL) length = added->form_length;
    ATH_TRY(ath_pieces_add(pieces, bytes, length));
  }
  return ATH_OK;
}

/* All pieces one after another, with `between` between them. */
static ath_status join(const ath_pieces *pieces, const char *between, ath_buffer *out) {
  for (size_t i = 0, at = 0; i < pieces->count; at = pieces->ends[i++]) {
    assert(at <= pieces->ends[i]);
    if (i > 0) ATH_TRY(ath_buffer_string(out, between));
    ATH_TRY(ath_buffer_append(out, pieces->bytes.bytes + at, pieces->ends[i] - at));
  }
  return ATH_OK;
}

ath_status ath_tokenizer_decode(const ath_tokenizer *self, const int32_t *ids, size_t count,
                                int skip_special, ath_buffer *out) {
  ath_pieces pieces = {.bytes = ath_buffer_make(DECODED_LIMIT)}, decoded = pieces;
  ath_status status = collect(self, ids, count, skip_special, &pieces);
  const ath_decoder *decoder = &self->decoder;
  if (status == ATH_OK && decoder->kind == NULL) {
    status = join(&pieces, " ", out);
  } else if (status == ATH_OK) {
    status = decoder->kind->apply(decoder->data, &pieces, &decoded);
    if (status == ATH_OK) status = join(&decoded, "", out);
  }
  ath_pieces_free(&pieces);
  ath_pieces_free(&decoded);
  return status;
}
