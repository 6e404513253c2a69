/* sentencepiece.c: a SentencePiece model (Kudo & Richardson 2018) as the parts of a tokenizer.json.
 * The file is a protocol-buffer message, described in sentencepiece.proto.
 *
 * BPE's merges are not in the file. Of all neighbours that together are a piece, those of the
 * greatest score become one, so each way to cut a piece into two pieces is a merge. */
#include "tokenizers/files/sentencepiece.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "storage/file.h"
#include "tokenizers/models/bpe.h"
#include "tokenizers/models/kinds.h"
#include "tokenizers/models/unigram.h"

#define FILE_LIMIT ((size_t)1 << 30)
#define MESSAGE_LIMIT ((size_t)8 << 30) /* an arena's pieces are several times a small field's */
#define PIPELINE_LIMIT ((size_t)1 << 30)
#define MARK ATH_SENTENCEPIECE_MARK

typedef Sentencepiece__Model message;
typedef Sentencepiece__Piece piece;
typedef ath_sentencepiece reading;

/* --- the message ---------------------------------------------------------------------------- */

typedef struct pool {
  ath_arena *arena;
  bool failed;
} pool;

static void *take_memory(void *context, size_t size) {
  pool *self = context;
  void *bytes = ath_arena_alloc(self->arena, size);
  self->failed |= bytes == NULL;
  return bytes;
}

static void leave_memory(void *context, void *bytes) { (void)context, (void)bytes; }

static ath_status unpack(const char *path, pool *memory, const message **out) {
  ath_buffer file = ath_buffer_make(FILE_LIMIT);
  ProtobufCAllocator allocator = {take_memory, leave_memory, memory};
  ath_status status = ath_file_read(path, &file);
  if (status == ATH_OK) {
    const uint8_t *bytes = (const uint8_t *)file.bytes;
    *out = sentencepiece__model__unpack(&allocator, file.length, bytes);
    if (memory->failed) status = ATH_NO_MEMORY;
    else if (*out == NULL)
      status = ath_fail(ATH_INVALID, "%s: no SentencePiece model, or one that is cut off: its %zu "
                        "bytes are no message of a protocol buffer", path, file.length);
  }
  ath_buffer_free(&file);
  return status;
}

static bool is_marked(const piece *p, size_t at) {
  return p->piece.len - at >= strlen(MARK) && memcmp(p->piece.data + at, MARK, strlen(MARK)) == 0;
}

/* Of BPE: the time for a piece's merges grows with the square of its bytes. */
enum { BPE_PIECE_MAX = 4096 };

static ath_status survey_piece(reading *self, size_t number, bool *has_mark) {
  const piece *p = self->message->pieces[number];
  const char *bytes = (const char *)p->piece.data;
  if (p->piece.len == 0 || ath_utf8_prefix(bytes, p->piece.len) != p->piece.len)
    return ath_fail(ATH_INVALID, "%s: pieces[%zu] is %s", self->path, number,
                    p->piece.len == 0 ? "empty" : "not UTF-8");
  if (self->bpe && p->piece.len > BPE_PIECE_MAX)
    return ath_fail(ATH_UNSUPPORTED, "%s: pieces[%zu] has %zu bytes; at most %d are supported",
                    self->path, number, p->piece.len, BPE_PIECE_MAX);
  if (!isfinite(p->score))
    return ath_fail(ATH_INVALID, "%s: pieces[%zu], \"%.*s\": the score is not finite", self->path,
                    number, (int)(p->piece.len < 100 ? p->piece.len : 100), bytes);
  if (p->type == ATH_PIECE_UNKNOWN && self->unknown != SIZE_MAX)
    return ath_fail(ATH_INVALID, "%s: pieces[%zu] and [%zu] both stand for what is unknown",
                    self->path, self->unknown, number);
  if (p->type == ATH_PIECE_UNKNOWN) self->unknown = number;
  self->user_defined |= p->type == ATH_PIECE_USER_DEFINED;
  *has_mark |= p->piece.len == strlen(MARK) && is_marked(p, 0);
  for (size_t at = 1; at < p->piece.len; at++) self->words_apart &= !is_marked(p, at);
  return ATH_OK;
}

static ath_status survey(reading *self) {
  const message *m = self->message;
  int type = m->trainer_spec != NULL ? m->trainer_spec->model_type : ATH_SENTENCEPIECE_UNIGRAM;
  if (type != ATH_SENTENCEPIECE_UNIGRAM && type != ATH_SENTENCEPIECE_BPE)
    return ath_fail(ATH_UNSUPPORTED, "%s: a model of %s; Unigram and BPE are supported", self->path,
                    type == 3 ? "words" : type == 4 ? "characters" : "an unknown type");
  if (m->trainer_spec != NULL && m->trainer_spec->treat_whitespace_as_suffix)
    return ath_fail(ATH_UNSUPPORTED, "%s: treat_whitespace_as_suffix is not supported",
                    self->path);
  self->bpe = type == ATH_SENTENCEPIECE_BPE;
  if (m->n_pieces > (self->bpe ? ATH_MERGE_IDS_MAX : ATH_VOCAB_SIZE_MAX))
    return ath_fail(ATH_UNSUPPORTED, "%s: %zu pieces are too many", self->path, m->n_pieces);
  bool has_mark = false;
  self->words_apart = true;
  self->unknown = SIZE_MAX;
  for (size_t i = 0; i < m->n_pieces; i++) ATH_TRY(survey_piece(self, i, &has_mark));
  self->words_apart &= has_mark && !self->bpe;
  if (self->unknown != SIZE_MAX) return ATH_OK;
  return ath_fail(ATH_INVALID, "%s: of %zu pieces none stands for what is unknown", self->path,
                  m->n_pieces);
}

/* --- the model ------------------------------------------------------------------------------ */

/* The pieces' bytes in the tokenizer's arena, one behind the other, each ended by a NUL. */
static char *keep_bytes(const reading *self) {
  size_t total = 0;
  for (size_t i = 0; i < self->message->n_pieces; i++)
    total += self->message->pieces[i]->piece.len + 1;
  char *bytes = ath_arena_alloc(self->tokenizer->arena, total), *at = bytes;
  for (size_t i = 0; bytes != NULL && i < self->message->n_pieces; i++) {
    const ProtobufCBinaryData *data = &self->message->pieces[i]->piece;
    memcpy(at, data->data, data->len);
    at += data->len + 1;
  }
  return bytes;
}

static ath_status twice(const reading *self, size_t number) {
  const piece *p = self->message->pieces[number];
  return ath_fail(ATH_INVALID, "%s: pieces[%zu], \"%.*s\", is there twice", self->path, number,
                  (int)(p->piece.len < 100 ? p->piece.len : 100), (const char *)p->piece.data);
}

/* SentencePiece adds scores up in single precision from the beginning of the text, so that of paths
 * of the same pieces in another order its roundings choose one, a different one in another place of
 * the text. Here words are cut apart, and such paths tie. */
static ath_status make_unigram(reading *self) {
  const message *m = self->message;
  ath_unigram *model;
  ATH_TRY(ath_unigram_create(self->tokenizer->arena, m->n_pieces, &model));
  const char *bytes = keep_bytes(self);
  if (bytes == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < m->n_pieces; i++) {
    ath_unigram_add(model, bytes, m->pieces[i]->piece.len, (double)m->pieces[i]->score);
    bytes += m->pieces[i]->piece.len + 1;
  }
  model->unknown = (int32_t)self->unknown;
  model->byte_fallback = ath_sentencepiece_falls_back(self);
  int32_t doubled;
  ATH_TRY(ath_unigram_finish(model, &doubled));
  if (doubled >= 0) return twice(self, (size_t)doubled);
  self->tokenizer->model = (ath_model){&ath_model_unigram, model};
  return ATH_OK;
}

/* A merge and its place among all. */
typedef struct ranked {
  float score;
  ath_merge merge;
} ranked;

static int compare(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  if (x->merge.id != y->merge.id) return x->merge.id < y->merge.id ? -1 : 1;
  if (x->merge.left != y->merge.left) return x->merge.left < y->merge.left ? -1 : 1;
  return (x->merge.right > y->merge.right) - (x->merge.right < y->merge.right);
}

static int32_t normal_id(const reading *self, const ath_bpe *model, const uint8_t *bytes,
                         size_t length) {
  int32_t id = ath_vocabulary_id(&model->vocabulary, (const char *)bytes, length);
  return id >= 0 && self->message->pieces[id]->type == ATH_PIECE_NORMAL ? id : -1;
}

/* Appends all ways to cut a piece in two. */
static ath_status cut(const reading *self, const ath_bpe *model, size_t number, ath_buffer *out) {
  const piece *p = self->message->pieces[number];
  for (size_t at = 1; p->type == ATH_PIECE_NORMAL && at < p->piece.len; at++) {
    if (ath_utf8_continues((char)p->piece.data[at])) continue;
    int32_t left = normal_id(self, model, p->piece.data, at);
    if (left < 0) continue;
    int32_t right = normal_id(self, model, p->piece.data + at, p->piece.len - at);
    if (right < 0) continue;
    ranked r = {p->score, {left, right, (int32_t)number}};
    ATH_TRY(ath_buffer_append(out, &r, sizeof r));
  }
  return ATH_OK;
}

static ath_status fill_merges(const reading *self, ath_bpe *model, ath_buffer *list) {
  for (size_t i = 0; i < self->message->n_pieces; i++) ATH_TRY(cut(self, model, i, list));
  ranked *items = (ranked *)(void *)list->bytes;
  size_t count = list->length / sizeof *items;
  if (count > ATH_MERGES_MAX)
    return ath_fail(ATH_UNSUPPORTED, "%s: %zu merges are too many", self->path, count);
  if (count > 0) qsort(items, count, sizeof *items, compare);
  ATH_TRY(ath_merges_init(&model->merges, self->tokenizer->arena, count));
  for (size_t i = 0; i < count; i++) ath_merges_add(&model->merges, items[i].merge);
  return ATH_OK;
}

static ath_status make_bpe(reading *self) {
  const message *m = self->message;
  ath_bpe *model;
  ATH_TRY(ath_bpe_create(self->tokenizer->arena, &model));
  ATH_TRY(ath_vocabulary_init(&model->vocabulary, self->tokenizer->arena, m->n_pieces,
                              (int32_t)m->n_pieces));
  const char *bytes = keep_bytes(self);
  if (bytes == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < m->n_pieces; i++) {
    const ath_vocabulary_entry *other;
    size_t length = m->pieces[i]->piece.len;
    if (i == self->unknown) model->unknown = (ath_bpe_text){bytes, length};
    if (!ath_vocabulary_add(&model->vocabulary, bytes, length, (int32_t)i, &other))
      return twice(self, i);
    bytes += length + 1;
  }
  model->fuse_unknown = true;
  model->byte_fallback = ath_sentencepiece_falls_back(self);
  model->ignore_merges = self->user_defined; /* so that they stay whole */
  ath_buffer list = ath_buffer_make(MESSAGE_LIMIT);
  ath_status status = fill_merges(self, model, &list);
  ath_buffer_free(&list);
  ATH_TRY(status);
  self->tokenizer->model = (ath_model){&ath_model_bpe, model};
  return ath_bpe_finish(model);
}

/* --- reading -------------------------------------------------------------------------------- */

static ath_status make(reading *self) {
  ATH_TRY(survey(self));
  ATH_TRY(self->bpe ? make_bpe(self) : make_unigram(self));
  ath_buffer text = ath_buffer_make(PIPELINE_LIMIT);
  ath_json_writer out = ath_json_writer_make(&text);
  ath_status status = ath_sentencepiece_put_pipeline(self, &out);
  if (status == ATH_OK) status = ath_tokenizer_read_text(self->path, &text, self->tokenizer);
  ath_buffer_free(&text);
  return status;
}

ath_status ath_sentencepiece_read(const char *path, ath_tokenizer *self) {
  pool memory = {NULL, false};
  reading r = {.path = path, .tokenizer = self};
  ATH_TRY(ath_arena_create(MESSAGE_LIMIT, &memory.arena));
  ath_status status = unpack(path, &memory, &r.message);
  if (status == ATH_OK) status = make(&r);
  ath_arena_destroy(memory.arena);
  return status;
}
