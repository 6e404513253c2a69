/* program_encode.c: answers questions about encoding, a JSON object a line, for tests that run the
 * reference beside: program TOKENIZER < questions > answers.
 *
 * {"batch": [["first"], ["first", "second"]], "flags": 1,
 *  "truncation": null or {"max_length", "stride", "strategy", "side"},
 *  "padding": null or {"length", "multiple", "side", "id", "type_id", "token"}}
 * gives [[window, …], …] with a list of windows a text or pair, or {"error": text}. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/tokenizer.h"

enum { BATCH_MAX = 64 };

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
    json_t *reply = answer(tokenizer, question, encodings);
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
