/* encoding.c: an encoding as a line for a person, or as an object whose members are named as the
 * attributes of the tokenizers library's Encoding:
 *
 *     tokens TAB ids [TAB offsets]
 *     {"ids":[…],"tokens":[…],"offsets":[[0,3],…], …, "overflowing":[{…}]} */
#include "cli/encoding.h"

#include <assert.h>

typedef struct window { /* tokens [start, end) of an encoding */
  const ath_encoding_style *style;
  const ath_encoding *encoding;
  size_t start, end;
} window;

static ath_status put_token(const window *w, size_t i, ath_buffer *out) {
  size_t length;
  const char *token = ath_encoding_token(w->encoding, w->style->tokenizer, i, &length);
  return w->style->json ? ath_buffer_json(out, token, length)
                        : ath_cli_put_visible(out, token, length);
}

static ath_status put_id(const window *w, size_t i, ath_buffer *out) {
  return ath_buffer_integer(out, w->encoding->ids[i]);
}

static ath_status put_offsets(const window *w, size_t i, ath_buffer *out) {
  bool json = w->style->json;
  if (json) ATH_TRY(ath_buffer_byte(out, '['));
  ATH_TRY(ath_buffer_integer(out, w->encoding->starts[i]));
  ATH_TRY(ath_buffer_byte(out, json ? ',' : '-'));
  ATH_TRY(ath_buffer_integer(out, w->encoding->ends[i]));
  return json ? ath_buffer_byte(out, ']') : ATH_OK;
}

static ath_status put_type(const window *w, size_t i, ath_buffer *out) {
  return ath_buffer_integer(out, w->encoding->types[i]);
}

/* A number that some tokens do not have. */
static ath_status put_number(int32_t number, ath_buffer *out) {
  return number >= 0 ? ath_buffer_integer(out, number) : ath_buffer_string(out, "null");
}

static ath_status put_word(const window *w, size_t i, ath_buffer *out) {
  return put_number(w->encoding->words[i], out);
}

static ath_status put_sequence(const window *w, size_t i, ath_buffer *out) {
  return put_number(w->encoding->sequences[i], out);
}

static ath_status put_special(const window *w, size_t i, ath_buffer *out) {
  return ath_buffer_integer(out, w->encoding->special[i]);
}

static ath_status put_attention(const window *w, size_t i, ath_buffer *out) {
  return ath_buffer_integer(out, w->encoding->attention[i]);
}

/* What there is to show of each token, in this order, where the encoding has it. */
static const struct column {
  const char *name;
  unsigned flag;
  ath_status (*put)(const window *w, size_t i, ath_buffer *out);
} columns[] = {
  {"ids", ATH_ENCODE_TOKENS, put_id}, /* always there, as the tokens are */
  {"tokens", ATH_ENCODE_TOKENS, put_token},
  {"offsets", ATH_ENCODE_OFFSETS, put_offsets},
  {"type_ids", ATH_ENCODE_TYPES, put_type},
  {"word_ids", ATH_ENCODE_WORDS, put_word},
  {"sequence_ids", ATH_ENCODE_SEQUENCES, put_sequence},
  {"special_tokens_mask", ATH_ENCODE_MASKS, put_special},
  {"attention_mask", ATH_ENCODE_MASKS, put_attention},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static ath_status put_column(const struct column *column, const window *w, char between,
                             ath_buffer *out) {
  for (size_t i = w->start; i < w->end; i++) {
    if (i > w->start) ATH_TRY(ath_buffer_byte(out, between));
    ATH_TRY(column->put(w, i, out));
  }
  return ATH_OK;
}

/* The members of an object, without its braces. */
static ath_status put_members(const window *w, ath_buffer *out) {
  for (int c = 0; c < COLUMN_COUNT; c++) {
    if ((w->style->flags & columns[c].flag) == 0) continue;
    ATH_TRY(ath_buffer_format(out, "%s\"%s\":[", c > 0 ? "," : "", columns[c].name));
    ATH_TRY(put_column(&columns[c], w, ',', out));
    ATH_TRY(ath_buffer_byte(out, ']'));
  }
  return ATH_OK;
}

static ath_status put_line(const window *w, ath_buffer *out) {
  static const struct column shown[] = {
    {"tokens", ATH_ENCODE_TOKENS, put_token},
    {"ids", ATH_ENCODE_TOKENS, put_id},
    {"offsets", ATH_ENCODE_OFFSETS, put_offsets},
  };
  if (w->start == w->end) return ath_buffer_byte(out, '\n');
  for (size_t c = 0; c < sizeof shown / sizeof *shown; c++) {
    if ((w->style->flags & shown[c].flag) == 0) continue;
    if (c > 0) ATH_TRY(ath_buffer_byte(out, '\t'));
    ATH_TRY(put_column(&shown[c], w, ' ', out));
  }
  return ath_buffer_byte(out, '\n');
}

static window window_of(const ath_encoding_style *style, const ath_encoding *e, size_t number) {
  size_t start = number > 0 ? e->window_ends[number - 1] : 0;
  assert(number < e->window_count && start <= e->window_ends[number]);
  return (window){style, e, start, e->window_ends[number]};
}

static ath_status put_object(const ath_encoding_style *style, const ath_encoding *e,
                             ath_buffer *out) {
  for (size_t n = 0; n < e->window_count; n++) {
    window w = window_of(style, e, n);
    if (n == 1) ATH_TRY(ath_buffer_string(out, ",\"overflowing\":["));
    ATH_TRY(ath_buffer_string(out, n > 1 ? ",{" : "{"));
    ATH_TRY(put_members(&w, out));
    if (n > 0) ATH_TRY(ath_buffer_byte(out, '}'));
  }
  return ath_buffer_string(out, e->window_count > 1 ? "]}\n" : "}\n");
}

ath_status ath_cli_put_encoding(const ath_encoding_style *style, const ath_encoding *encoding,
                                ath_buffer *out) {
  assert((style->flags & ATH_ENCODE_TOKENS) != 0 && encoding->window_count > 0);
  if (style->json) return put_object(style, encoding, out);
  for (size_t n = 0; n < encoding->window_count; n++) {
    window w = window_of(style, encoding, n);
    ATH_TRY(put_line(&w, out));
  }
  return ATH_OK;
}
