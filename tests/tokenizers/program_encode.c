/* program_encode.c: answers questions about encoding, a JSON object a line, for tests that run the
 * reference beside: program TOKENIZER < questions > answers.
 *
 * {"batch": [["first"], ["first", "second"]], "flags": 1,
 *  "truncation": null or {"max_length", "stride", "strategy", "side"},
 *  "padding": null or {"length", "multiple", "side", "id", "type_id", "token"}}
 * gives [[window, …], …] with a list of windows a text or pair, or {"error": text}.
 * {"decode": [ids, …], "skip_special": true} gives the texts. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/tokenizer.h"
#include "base/buffer.h"

enum { BATCH_MAX = 64, TEXT_MAX = 1 << 24 };

static json_int_t number(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

static ath_status set(ath_tokenizer *tokenizer, const json_t *question) {
  const json_t *t = json_object_get(question, "truncation");
  const json_t *p = json_object_get(question, "padding");
  ath_truncation truncation = {
    .max_length = (size_t)number(t, "max_length"), .stride = (size_t)number(t, "stride"),
    .strategy = (ath_truncation_strategy)number(t, "strategy"),
    .side = (ath_side)number(t, "side")};
  ath_padding padding = {
    .length = (size_t)number(p, "length"), .multiple = (size_t)number(p, "multiple"),
    .side = (ath_side)number(p, "side"), .id = (int32_t)number(p, "id"),
    .type_id = (int32_t)number(p, "type_id"),
    .token = json_string_value(json_object_get(p, "token"))};
  ATH_TRY(ath_tokenizer_set_truncation(tokenizer, json_is_object(t) ? &truncation : NULL));
  return ath_tokenizer_set_padding(tokenizer, json_is_object(p) ? &padding : NULL);
}

static ath_status encode(const ath_tokenizer *tokenizer, const json_t *texts, unsigned flags,
                         ath_encoding *out) {
  const json_t *a = json_array_get(texts, 0), *b = json_array_get(texts, 1);
  if (b == NULL)
    return ath_tokenizer_encode(tokenizer, json_string_value(a), json_string_length(a), flags,
                                out);
  return ath_tokenizer_encode_pair(tokenizer, json_string_value(a), json_string_length(a),
                                   json_string_value(b), json_string_length(b), flags, out);
}

/* −1 is what the reference calls None. */
static json_t *or_null(int value) { return value < 0 ? json_null() : json_integer(value); }

static json_t *window(const ath_tokenizer *tokenizer, const ath_encoding *e, size_t from,
                      size_t to) {
  json_t *ids = json_array(), *tokens = json_array(), *offsets = json_array();
  json_t *types = json_array(), *sequences = json_array(), *words = json_array();
  json_t *special = json_array(), *attention = json_array();
  for (size_t i = from; i < to; i++) {
    size_t length;
    const char *token = ath_encoding_token(e, tokenizer, i, &length);
    json_array_append_new(ids, json_integer(e->ids[i]));
    json_array_append_new(tokens, json_stringn_nocheck(token, length));
    json_array_append_new(offsets, json_pack("[ii]", (int)e->starts[i], (int)e->ends[i]));
    json_array_append_new(types, json_integer(e->types[i]));
    json_array_append_new(sequences, or_null(e->sequences[i]));
    json_array_append_new(words, or_null(e->words[i]));
    json_array_append_new(special, json_integer(e->special[i]));
    json_array_append_new(attention, json_integer(e->attention[i]));
  }
  return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "ids", ids, "tokens", tokens, "offsets",
                   offsets, "types", types, "sequences", sequences, "words", words, "special",
                   special, "attention", attention);
}

static json_t *answer(ath_tokenizer *tokenizer, const json_t *question,
                      ath_encoding encodings[BATCH_MAX]) {
  const json_t *batch = json_object_get(question, "batch");
  size_t count = json_array_size(batch);
  unsigned flags = (unsigned)number(question, "flags") | ATH_ENCODE_OFFSETS | ATH_ENCODE_TOKENS |
                   ATH_ENCODE_TYPES | ATH_ENCODE_SEQUENCES | ATH_ENCODE_WORDS | ATH_ENCODE_MASKS;
  ath_status status = set(tokenizer, question);
  for (size_t i = 0; i < count && status == ATH_OK; i++)
    status = encode(tokenizer, json_array_get(batch, i), flags, &encodings[i]);
  if (status == ATH_OK) status = ath_tokenizer_pad(tokenizer, encodings, count);
  if (status != ATH_OK) return json_pack("{s:s}", "error", ath_error_text());
  json_t *all = json_array();
  for (size_t i = 0; i < count; i++) {
    json_t *windows = json_array();
    for (size_t w = 0, from = 0; w < encodings[i].window_count; w++) {
      size_t to = encodings[i].window_ends[w];
      json_array_append_new(windows, window(tokenizer, &encodings[i], from, to));
      from = to;
    }
    json_array_append_new(all, windows);
  }
  return all;
}

static ath_status decode(const ath_tokenizer *tokenizer, const json_t *list, int skip_special,
                         ath_buffer *out) {
  size_t count = json_array_size(list);
  int32_t *ids = malloc((count + 1) * sizeof *ids);
  if (ids == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu ids", count);
  for (size_t i = 0; i < count; i++) ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
  ath_buffer_clear(out);
  ath_status status = ath_tokenizer_decode(tokenizer, ids, count, skip_special, out);
  free(ids);
  return status;
}

static json_t *decode_all(const ath_tokenizer *tokenizer, const json_t *lists, int skip_special) {
  json_t *texts = json_array();
  ath_buffer out = ath_buffer_make(TEXT_MAX);
  for (size_t i = 0; i < json_array_size(lists); i++) {
    bool good = decode(tokenizer, json_array_get(lists, i), skip_special, &out) == ATH_OK;
    json_array_append_new(texts, good ? json_stringn_nocheck(out.length > 0 ? out.bytes : "",
                                                             out.length)
                                      : json_pack("{s:s}", "error", ath_error_text()));
  }
  ath_buffer_free(&out);
  return texts;
}

int main(int argc, char **argv) {
  ath_tokenizer *tokenizer = NULL;
  if (argc != 2 || ath_tokenizer_load(argv[1], &tokenizer) != ATH_OK) {
    fprintf(stderr, "%s\n", argc == 2 ? ath_error_text() : "expected one tokenizer");
    return 1;
  }
  ath_encoding encodings[BATCH_MAX] = {0};
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, stdin) > 0) {
    json_t *question = json_loads(line, JSON_ALLOW_NUL, NULL);
    if (json_array_size(json_object_get(question, "batch")) > BATCH_MAX) return 1;
    const json_t *lists = json_object_get(question, "decode");
    json_t *reply = lists != NULL
        ? decode_all(tokenizer, lists, json_is_true(json_object_get(question, "skip_special")))
        : answer(tokenizer, question, encodings);
    json_dumpf(reply, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(reply);
    json_decref(question);
  }
  free(line);
  for (int i = 0; i < BATCH_MAX; i++) ath_encoding_free(&encodings[i]);
  ath_tokenizer_destroy(tokenizer);
  return 0;
}
