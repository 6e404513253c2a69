/* tokenizer.c: a tokenizer as a whole: encoding, decoding, looking up tokens. */
#include "tokenizers/tokenizer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizers/byte_level.h"
#include "tokenizers/post_processors/trim.h"
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

/* What a token shows: of the text, or else of the vocabulary. */
static const char *token_text(const ath_tokenizer *self, const ath_run *run, size_t index,
                              size_t *length) {
  size_t at = ath_surface_find(run->surfaces, run->surface_count, index);
  if (at == run->surface_count || run->surfaces[at].token != index)
    return find_token(self, run->out->ids[index], length);
  *length = run->surfaces[at].length;
  return run->surface_text.bytes + run->surfaces[at].at;
}

/* How far a text goes: who takes its words, and whether added tokens in it count. */
typedef struct walk {
  const ath_tokenizer *tokenizer;
  ath_sink word;
  bool skip_added;
  bool gathers; /* words may be encoded many at once */
  bool in_chunks; /* only ids are wanted, which are those of the text's chunks */
} walk;

static ath_status take_word(void *context, ath_run *run, const ath_text *word) {
  const ath_tokenizer *self = context;
  return self->model.kind->encode(self->model.data, run, word);
}

/* The same where words are numbered. */
static ath_status take_numbered_word(void *context, ath_run *run, const ath_text *word) {
  size_t before = run->out->length;
  ATH_TRY(take_word(context, run, word));
  ath_run_number(run, before);
  return ATH_OK;
}

static ath_status encode_gathered(const ath_tokenizer *self, ath_run *run) {
  ath_words *words = &run->gathered;
  ath_status status = ATH_OK;
  if (words->count > 0) status = self->model.kind->encode_words(self->model.data, run, words);
  words->count = 0;
  return status;
}

static ath_status take_words(void *context, ath_run *run, const ath_words *words) {
  const ath_tokenizer *self = context;
  ATH_TRY(encode_gathered(self, run));
  return self->model.kind->encode_words(self->model.data, run, words);
}

/* Keeps a word that is a part of the text until there are many; one that was put together in a
 * buffer, which the next will be put into, is encoded at once. */
static ath_status gather_word(void *context, ath_run *run, const ath_text *word) {
  ath_words *words = &run->gathered;
  uintptr_t at = (uintptr_t)word->bytes - (uintptr_t)words->text->bytes;
  if (at >= words->text->length) {
    ATH_TRY(encode_gathered(context, run));
    return take_word(context, run, word);
  }
  assert(word->length <= words->text->length - at && words->count < ATH_WORDS_MAX);
  words->places[words->count++] = (ath_origin){(uint32_t)at, (uint32_t)(at + word->length)};
  return words->count == ATH_WORDS_MAX ? encode_gathered(context, run) : ATH_OK;
}

/* The steps of the walk, from the last to the first: each is the sink of the one after it. */
static ath_status take_normalized(void *context, ath_run *run, const ath_text *text) {
  const walk *w = context;
  assert(text->length > 0);
  const ath_pre_tokenizer *cutter = &w->tokenizer->pre_tokenizer;
  if (cutter->kind == NULL) return w->word.take(w->word.context, run, text);
  if (!w->gathers) return cutter->kind->split(cutter->data, run, text, w->word);
  run->gathered.text = text;
  run->gathered.count = 0;
  ath_sink gather = {gather_word, w->word.context, take_words};
  ATH_TRY(cutter->kind->split(cutter->data, run, text, gather));
  return encode_gathered(w->tokenizer, run);
}

/* The parts of the text as it was written that lie between added tokens. */
static ath_status take_written(void *context, ath_run *run, const ath_text *text) {
  const walk *w = context;
  const ath_tokenizer *self = w->tokenizer;
  ath_text normal = *text;
  if (self->normalizer.kind != NULL)
    ATH_TRY(self->normalizer.kind->apply(self->normalizer.data, run, &normal));
  return ath_added_tokens_split(&self->added, &self->added.normalized, run, &normal,
                                w->skip_added, (ath_sink){take_normalized, context, NULL});
}

static ath_status take_chunks(void *context, ath_run *run, const ath_text *text) {
  const walk *w = context;
  ath_sink pipeline = {take_written, context, NULL};
  return ath_chunks_encode(&w->tokenizer->chunking, run, text, pipeline);
}

static ath_status take_sequence(void *context, ath_run *run, const ath_text *text) {
  const walk *w = context;
  return ath_added_tokens_split(&w->tokenizer->added, &w->tokenizer->added.written, run, text,
                                w->skip_added,
                                (ath_sink){w->in_chunks ? take_chunks : take_written, context,
                                           NULL});
}

/* Gets the run out of the encoding, where it lives from call to call, ready for this tokenizer. */
static ath_status open_run(const ath_tokenizer *self, unsigned flags, ath_encoding *out,
                           ath_run **run) {
  ath_run *r = out->workspace;
  out->length = 0;
  if (r != NULL && r->serial != self->serial) {
    ath_run_free(r);
  } else if (r == NULL) {
    r = calloc(1, sizeof *r);
    if (r == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for encoding");
    out->workspace = r;
  }
  assert(self->serial != 0);
  r->serial = self->serial;
  r->offsets = (flags & ATH_ENCODE_OFFSETS) != 0;
  /* Offsets are trimmed by what the tokens show. */
  r->tokens = (flags & ATH_ENCODE_TOKENS) != 0 || (r->offsets && self->trims);
  r->raw = self->raw;
  r->track = r->offsets;
  if (self->pre_tokenizer.kind != NULL &&
      self->pre_tokenizer.kind->needs_origins(self->pre_tokenizer.data))
    r->track = true;
  r->surface_count = 0;
  r->surface_text.maximum = DECODED_LIMIT;
  ath_buffer_clear(&r->surface_text);
  *run = r;
  return ath_run_begin(r, out, flags);
}

/* All parts rely on well-formed UTF-8, and on offsets that fit 32 bits. */
static ath_status check_text(ath_run *run, int which, ath_text *text) {
  size_t length = text->length;
  if (length > TEXT_LIMIT)
    return ath_fail(ATH_INVALID, "a text of %zu bytes; at most %d can be encoded at once", length,
                    TEXT_LIMIT);
  size_t valid = ath_utf8_prefix(text->bytes, length);
  if (valid == length) return ATH_OK;
  if ((run->flags & ATH_ENCODE_REPAIR) == 0)
    return ath_fail(ATH_INVALID, "invalid UTF-8 at byte %zu (0x%02X)", valid,
                    (uint8_t)text->bytes[valid]);
  ath_buffer *repaired = &run->repaired[which];
  repaired->maximum = TEXT_LIMIT;
  ath_buffer_clear(repaired);
  ATH_TRY(ath_utf8_repair(text->bytes, length, repaired));
  *text = (ath_text){.bytes = repaired->bytes, .length = repaired->length};
  return ATH_OK;
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

/* Turns the offsets of the tokens from `from` on, in bytes, into offsets in code points. */
static void count_characters(const char *text, ath_encoding *out, size_t from) {
  cursor start = {0, 0}, end = {0, 0};
  for (size_t i = from; i < out->length; i++) {
    assert(out->starts[i] <= out->ends[i]);
    out->starts[i] = move_to(&start, text, out->starts[i]);
    out->ends[i] = move_to(&end, text, out->ends[i]);
  }
}

void ath_tokenizer_trim(const ath_tokenizer *self, ath_run *run, size_t from,
                        const ath_layout_part *part) {
  if (!run->offsets || part->trim_count == 0) return;
  ath_encoding *out = run->out;
  for (size_t i = from; i < out->length; i++) {
    size_t length;
    const char *bytes = token_text(self, run, i, &length);
    ath_margins margins = ath_token_margins(bytes, length);
    for (int t = 0; t < part->trim_count; t++)
      ath_trim_offsets(&part->trims[t], margins, i - from, &out->starts[i], &out->ends[i]);
  }
}

/* The tokens of one text: the whole pipeline but the post-processor. */
static ath_status encode_text(const ath_tokenizer *self, const ath_text *text, ath_run *run) {
  bool numbered = (run->flags & ATH_ENCODE_WORDS) != 0;
  bool only_ids = !numbered && !run->offsets && !run->tokens;
  walk w = {.tokenizer = self,
            .word = {numbered ? take_numbered_word : take_word, (void *)(uintptr_t)self, NULL},
            .gathers = !numbered && self->model.kind->encode_words != NULL,
            .in_chunks = only_ids && self->chunking.possible};
  size_t from = run->out->length;
  run->word_number = 0;
  ATH_TRY(take_sequence(&w, run, text));
  if (run->offsets) count_characters(text->bytes, run->out, from);
  return ATH_OK;
}

enum {
  DESCRIBED = ATH_ENCODE_TYPES | ATH_ENCODE_SEQUENCES | ATH_ENCODE_WORDS | ATH_ENCODE_MASKS
};

static ath_status encode(const ath_tokenizer *self, ath_text *texts, int count, ath_run *run) {
  bool special = (run->flags & ATH_ENCODE_SPECIAL) != 0;
  bool cuts = (run->flags & ATH_ENCODE_TRUNCATE) != 0 && self->truncates;
  const ath_layout *layout = &self->layouts[count - 1][special];
  for (int t = 0; t < count; t++) ATH_TRY(check_text(run, t, &texts[t]));
  for (size_t i = 0; i < layout->count; i++) {
    const ath_layout_part *part = &layout->parts[i];
    size_t from = run->out->length;
    if (part->sequence == ATH_SPECIAL) {
      ATH_TRY(ath_run_emit_special(run, part->id, part->text, part->length));
    } else {
      ATH_TRY(encode_text(self, &texts[part->sequence], run));
      run->texts[part->sequence] = (ath_span){from, run->out->length};
    }
    if ((run->flags & DESCRIBED) != 0) ath_run_describe(run, from, part);
    if (!cuts) ath_tokenizer_trim(self, run, from, part);
  }
  if (cuts) return ath_tokenizer_cut(self, run, layout, count);
  return ath_run_end_window(run, run->out, run->out->length);
}

static ath_status encode_texts(const ath_tokenizer *self, ath_text *texts, int count,
                               unsigned flags, ath_encoding *out) {
  ath_run *run;
  ATH_TRY(open_run(self, flags, out, &run));
  for (int t = 0; t < count; t++)
    if (texts[t].length == 0) texts[t].bytes = "";
  run->texts[0] = run->texts[1] = (ath_span){0, 0};
  ath_status status = encode(self, texts, count, run);
  if (status != ATH_OK) out->length = out->window_count = 0;
  return status;
}

ath_status ath_tokenizer_encode(const ath_tokenizer *self, const char *text, size_t length,
                                unsigned flags, ath_encoding *out) {
  ath_text texts[1] = {{.bytes = text, .length = length}};
  return encode_texts(self, texts, 1, flags, out);
}

ath_status ath_tokenizer_encode_pair(const ath_tokenizer *self, const char *first,
                                     size_t first_length, const char *second,
                                     size_t second_length, unsigned flags, ath_encoding *out) {
  ath_text texts[2] = {{.bytes = first, .length = first_length},
                       {.bytes = second, .length = second_length}};
  return encode_texts(self, texts, 2, flags, out);
}

const char *ath_encoding_token(const ath_encoding *self, const ath_tokenizer *tokenizer,
                               size_t index, size_t *length) {
  assert(index < self->length && self->workspace != NULL);
  ath_run *run = self->workspace;
  run->out = (ath_encoding *)(uintptr_t)self; /* which may have moved */
  return token_text(tokenizer, run, index, length);
}

void ath_encoding_free(ath_encoding *self) {
  if (self->workspace != NULL) ath_run_free(self->workspace);
  free(self->workspace);
  free(self->ids);
  free(self->starts);
  free(self->ends);
  free(self->types);
  free(self->sequences);
  free(self->words);
  free(self->special);
  free(self->attention);
  free(self->window_ends);
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
  run->raw = false;
  ath_text whole = {.bytes = length > 0 ? text : "", .length = length};
  ATH_TRY(check_text(run, 0, &whole));
  visit v = {visitor, context};
  walk w = {.tokenizer = self, .word = {visit_word, &v, NULL}, .skip_added = true};
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
      return ath_fail(ATH_INVALID, "there is no token %d (number %zu of those to decode); the "
                      "tokenizer has %d ids", ids[i], i + 1, self->size);
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
