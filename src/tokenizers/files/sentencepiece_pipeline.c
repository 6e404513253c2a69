/* sentencepiece_pipeline.c: what SentencePiece's program does with a text before and after the
 * model, as the parts of a tokenizer.json: a table of characters, spaces made single and marks, a
 * mark in front. */
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizers/files/sentencepiece.h"
#include "tokenizers/files/written.h"

#define PATTERN_LIMIT ((size_t)1 << 30)
#define MARK ATH_SENTENCEPIECE_MARK

typedef Sentencepiece__Piece piece;

static void put_replace(ath_json_writer *out, const char *kind, const char *pattern,
                        const char *content) {
  ath_json_open(out, NULL, '{');
  ath_json_put_text(out, "type", "Replace");
  ath_json_open(out, "pattern", '{');
  ath_json_put_text(out, kind, pattern);
  ath_json_close(out, '}');
  ath_json_put_text(out, "content", content);
  ath_json_close(out, '}');
}

static ath_status put_table(const ProtobufCBinaryData *table, ath_json_writer *out) {
  size_t length = BASE64_ENCODE_RAW_LENGTH(table->len);
  char *text = malloc(length + 1);
  if (text == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the table of characters");
  base64_encode_raw(text, table->len, table->data);
  ath_json_open(out, NULL, '{');
  ath_json_put_text(out, "type", "Precompiled");
  ath_json_put_string(out, "precompiled_charsmap", text, length);
  ath_json_close(out, '}');
  free(text);
  return ATH_OK;
}

static ath_status put_normalizer(const Sentencepiece__NormalizerSpec *spec, ath_json_writer *out) {
  ath_open_sequence(out, "normalizer", "normalizers");
  if (spec->precompiled_charsmap.len > 0) ATH_TRY(put_table(&spec->precompiled_charsmap, out));
  if (spec->remove_extra_whitespaces) {
    put_replace(out, "Regex", "\\A +| +\\z", "");
    put_replace(out, "Regex", " {2,}", " ");
  }
  if (spec->add_dummy_prefix) {
    ath_json_open(out, NULL, '{');
    ath_json_put_text(out, "type", "Prepend");
    ath_json_put_text(out, "prepend", spec->escape_whitespaces ? MARK : " ");
    ath_json_close(out, '}');
  }
  if (spec->escape_whitespaces) put_replace(out, "String", " ", MARK);
  ath_close_sequence(out);
  return ATH_OK;
}

/* Appends a string so that a regular expression matches it and nothing else. */
static ath_status put_escaped(ath_buffer *out, const ProtobufCBinaryData *text) {
  for (size_t i = 0; i < text->len; i++) {
    char byte = (char)text->data[i];
    if (byte > 0 && strchr("\\^$.|?*+()[]{}-#&~ \t\n\r\v\f", byte) != NULL)
      ATH_TRY(ath_buffer_byte(out, '\\'));
    ATH_TRY(ath_buffer_byte(out, byte));
  }
  return ATH_OK;
}

static int compare_lengths(const void *a, const void *b) {
  const piece *const *x = a, *const *y = b;
  return ((*x)->piece.len < (*y)->piece.len) - ((*x)->piece.len > (*y)->piece.len);
}

/* The pieces that the user has defined stay whole wherever they are; the longest comes first. */
static ath_status put_user_defined(const ath_sentencepiece *self, ath_json_writer *out) {
  const Sentencepiece__Model *m = self->message;
  const piece **list = malloc((m->n_pieces + 1) * sizeof *list);
  if (list == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the pieces");
  size_t count = 0;
  for (size_t i = 0; i < m->n_pieces; i++)
    if (m->pieces[i]->type == ATH_PIECE_USER_DEFINED) list[count++] = m->pieces[i];
  qsort(list, count, sizeof *list, compare_lengths);
  ath_buffer pattern = ath_buffer_make(PATTERN_LIMIT);
  ath_status status = ATH_OK;
  for (size_t i = 0; i < count && status == ATH_OK; i++) {
    if (i > 0) status = ath_buffer_byte(&pattern, '|');
    if (status == ATH_OK) status = put_escaped(&pattern, &list[i]->piece);
  }
  if (status == ATH_OK) ath_put_split(out, pattern.bytes, pattern.length);
  ath_buffer_free(&pattern);
  free(list);
  return status;
}

/* Where no piece goes from one word into the next, words can be encoded one by one. */
static ath_status put_pre_tokenizer(const ath_sentencepiece *self, ath_json_writer *out) {
  ath_open_sequence(out, "pre_tokenizer", "pretokenizers");
  if (self->user_defined) ATH_TRY(put_user_defined(self, out));
  if (self->words_apart) {
    ath_json_open(out, NULL, '{');
    ath_json_put_text(out, "type", "Metaspace");
    ath_json_put_text(out, "replacement", MARK);
    ath_json_put_text(out, "prepend_scheme", "never");
    ath_json_put_flag(out, "split", true);
    ath_json_close(out, '}');
  }
  ath_close_sequence(out);
  return ATH_OK;
}

static void put_type(ath_json_writer *out, const char *type) {
  ath_json_open(out, NULL, '{');
  ath_json_put_text(out, "type", type);
  ath_json_close(out, '}');
}

static void put_decoder(const ath_sentencepiece *self, bool prefix, ath_json_writer *out) {
  ath_open_sequence(out, "decoder", "decoders");
  put_replace(out, "String", MARK, " ");
  if (ath_sentencepiece_falls_back(self)) put_type(out, "ByteFallback");
  put_type(out, "Fuse");
  if (prefix) {
    ath_json_open(out, NULL, '{');
    ath_json_put_text(out, "type", "Strip");
    ath_json_put_text(out, "content", " ");
    ath_json_put_integer(out, "start", 1);
    ath_json_put_integer(out, "stop", 0);
    ath_json_close(out, '}');
  }
  ath_close_sequence(out);
}

static void put_specials(const ath_sentencepiece *self, ath_json_writer *out) {
  const Sentencepiece__Model *m = self->message;
  ath_json_open(out, "added_tokens", '[');
  for (size_t i = 0; i < m->n_pieces; i++) {
    const piece *p = m->pieces[i];
    if (p->type == ATH_PIECE_CONTROL || p->type == ATH_PIECE_UNKNOWN)
      ath_put_special(out, (const char *)p->piece.data, p->piece.len, (int32_t)i);
  }
  ath_json_close(out, ']');
}

ath_status ath_sentencepiece_put_pipeline(const ath_sentencepiece *self, ath_json_writer *out) {
  Sentencepiece__NormalizerSpec usual = SENTENCEPIECE__NORMALIZER_SPEC__INIT;
  const Sentencepiece__NormalizerSpec *spec = self->message->normalizer_spec;
  if (spec == NULL) spec = &usual;
  ath_json_open(out, NULL, '{');
  put_specials(self, out);
  ATH_TRY(put_normalizer(spec, out));
  ATH_TRY(put_pre_tokenizer(self, out));
  put_decoder(self, spec->add_dummy_prefix, out);
  ath_json_close(out, '}');
  return out->status;
}
