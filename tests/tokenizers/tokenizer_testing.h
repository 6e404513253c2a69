/* tokenizer_testing.h: a tokenizer from a piece of JSON, and an encoding as one line of text. */
#ifndef ATHANOR_TOKENIZER_TESTING_H
#define ATHANOR_TOKENIZER_TESTING_H

#include "testing.h"

#include "athanor/tokenizer.h"
#include "base/buffer.h"
#include "storage/file.h"

/* Loads a tokenizer.json of these bytes. */
static inline ath_status load_bytes(const char *bytes, size_t length, ath_tokenizer **out) {
  char *folder = make_folder();
  const char *path = in_folder(folder, "tokenizer.json");
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, length, file), length);
  fclose(file);
  ath_status status = ath_tokenizer_load(path, out);
  remove(path);
  remove(folder);
  free(folder);
  return status;
}

static inline ath_status load_text(const char *json, ath_tokenizer **out) {
  return load_bytes(json, strlen(json), out);
}

static inline ath_tokenizer *tokenizer_of(const char *json) {
  ath_tokenizer *tokenizer = NULL;
  assert_ok(load_text(json, &tokenizer));
  return tokenizer;
}

/* "▁a(0,1) <unk>(1,2)": the tokens of a text with their offsets. */
static inline const char *shown_flags(const ath_tokenizer *tokenizer, const char *text,
                                      size_t length, unsigned flags) {
  static ath_buffer buffers[4];
  static unsigned turn;
  ath_buffer *out = &buffers[turn++ % 4];
  if (out->maximum == 0) *out = ath_buffer_make(1 << 20);
  ath_buffer_clear(out);
  ath_encoding encoding = {0};
  assert_ok(ath_tokenizer_encode(tokenizer, text, length,
                                 flags | ATH_ENCODE_OFFSETS | ATH_ENCODE_TOKENS, &encoding));
  for (size_t i = 0; i < encoding.length; i++) {
    size_t size;
    const char *token = ath_encoding_token(&encoding, tokenizer, i, &size);
    if (i > 0) assert_ok(ath_buffer_byte(out, ' '));
    assert_ok(ath_buffer_append(out, token, size));
    assert_ok(ath_buffer_format(out, "(%u,%u)", encoding.starts[i], encoding.ends[i]));
  }
  ath_encoding_free(&encoding);
  return out->bytes != NULL ? out->bytes : "";
}

static inline const char *shown(const ath_tokenizer *tokenizer, const char *text) {
  return shown_flags(tokenizer, text, strlen(text), 0);
}

/* "3 5": the ids of a text. */
static inline const char *ids_of(const ath_tokenizer *tokenizer, const char *text,
                                 unsigned flags) {
  static char line[4096];
  line[0] = '\0';
  ath_encoding encoding = {0};
  assert_ok(ath_tokenizer_encode(tokenizer, text, strlen(text), flags, &encoding));
  for (size_t i = 0; i < encoding.length; i++)
    snprintf(line + strlen(line), sizeof line - strlen(line), "%s%d", i > 0 ? " " : "",
             encoding.ids[i]);
  ath_encoding_free(&encoding);
  return line;
}

static inline const char *decoded(const ath_tokenizer *tokenizer, const int32_t *ids,
                                  size_t count, int skip_special) {
  static char line[4096];
  ath_buffer out = ath_buffer_make(sizeof line - 1);
  assert_ok(ath_tokenizer_decode(tokenizer, ids, count, skip_special, &out));
  snprintf(line, sizeof line, "%s", out.bytes != NULL ? out.bytes : "");
  ath_buffer_free(&out);
  return line;
}

#endif
