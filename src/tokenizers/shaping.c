/* shaping.c: what truncation and padding are set to: checked, read from tokenizer.json and written
 * back, and padding done. cut.c does the truncation.
 *
 * "truncation": {"direction": "Right", "max_length": 128, "strategy": "LongestFirst", "stride": 0}
 * "padding": {"strategy": "BatchLongest" or {"Fixed": 128}, "direction": "Right",
 *             "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"} */
#include <string.h>

#include "base/utf8.h"
#include "tokenizers/tokenizer.h"

enum { SIDES = 2, STRATEGIES = 3, LENGTH_MAX = 1 << 30 };
static const char *const side_names[SIDES] = {"Right", "Left"};
static const char *const strategy_names[STRATEGIES] = {"LongestFirst", "OnlyFirst", "OnlySecond"};

/* --- setting ------------------------------------------------------------------------------- */

/* Texts alone are checked here; those of pairs when one is encoded. */
static ath_status check_truncation(const ath_tokenizer *self, const ath_truncation *t) {
  size_t special = self->layouts[0][1].special_count;
  if (t->max_length < special)
    return ath_fail(ATH_INVALID, "max_length is %zu, but the post-processor adds %zu special tokens"
                    " to a text; make max_length larger", t->max_length, special);
  size_t room = t->max_length - special;
  if (t->stride > 0 && t->stride >= room)
    return ath_fail(ATH_INVALID, "stride is %zu, but max_length %zu leaves room for %zu tokens of a"
                    " text beside %zu special ones; make stride less than %zu or max_length larger",
                    t->stride, t->max_length, room, special, room);
  if (t->max_length > LENGTH_MAX)
    return ath_fail(ATH_INVALID, "max_length is %zu; at most %d is possible", t->max_length,
                    LENGTH_MAX);
  return ATH_OK;
}

ath_status ath_tokenizer_set_truncation(ath_tokenizer *self, const ath_truncation *truncation) {
  if (truncation != NULL) {
    assert((unsigned)truncation->strategy < STRATEGIES && (unsigned)truncation->side < SIDES);
    ATH_TRY(check_truncation(self, truncation));
    self->truncation = *truncation;
  }
  self->truncates = truncation != NULL;
  self->hash[0] = '\0'; /* it is part of the file */
  return ATH_OK;
}

ath_status ath_tokenizer_set_padding(ath_tokenizer *self, const ath_padding *padding) {
  if (padding != NULL) {
    assert(padding->token != NULL && (unsigned)padding->side < SIDES);
    size_t length = strlen(padding->token);
    if (padding->id < 0 || padding->type_id < 0)
      return ath_fail(ATH_INVALID, "padding: id %d, type_id %d; both must be 0 or more",
                      padding->id, padding->type_id);
    if (padding->length > LENGTH_MAX || padding->multiple > LENGTH_MAX)
      return ath_fail(ATH_INVALID, "padding: length %zu, multiple %zu; at most %d is possible",
                      padding->length, padding->multiple, LENGTH_MAX);
    if (ath_utf8_prefix(padding->token, length) != length)
      return ath_fail(ATH_INVALID, "padding: the token is not UTF-8");
    char *token = ath_arena_string_n(self->arena, padding->token, length);
    if (token == NULL) return ATH_NO_MEMORY;
    self->padding = *padding;
    self->padding.token = token;
  }
  self->pads = padding != NULL;
  self->hash[0] = '\0';
  return ATH_OK;
}

const ath_truncation *ath_tokenizer_truncation(const ath_tokenizer *self) {
  return self->truncates ? &self->truncation : NULL;
}

const ath_padding *ath_tokenizer_padding(const ath_tokenizer *self) {
  return self->pads ? &self->padding : NULL;
}

/* --- tokenizer.json ------------------------------------------------------------------------ */

/* Which of the names a member has; 0 when it is missing, as in old files. */
static ath_status read_name(const ath_json *json, const char *key, const char *const *names,
                            int count, int *out) {
  ath_json member = ath_json_member(json, key);
  *out = 0;
  if (ath_json_absent(&member)) return ATH_OK;
  const char *name;
  size_t length;
  ATH_TRY(ath_json_string(&member, &name, &length));
  for (int i = 0; i < count; i++) {
    if (strcmp(name, names[i]) != 0) continue;
    *out = i;
    return ATH_OK;
  }
  return ath_json_fail(&member, ATH_INVALID, "\"%.40s\" is not one of %s, %s%s%s", name, names[0],
                       names[1], count > 2 ? ", " : "", count > 2 ? names[2] : "");
}

/* A number that may be missing or null, for 0. */
static ath_status read_number(const ath_json *json, const char *key, int64_t *out) {
  ath_json member = ath_json_member(json, key);
  *out = 0;
  if (ath_json_absent(&member)) return ATH_OK;
  return ath_json_integer(&member, 0, LENGTH_MAX, out);
}

/* Puts the place in the file before the text of a failure. */
static ath_status blame(const ath_json *json, ath_status status) {
  char text[512];
  if (status == ATH_OK) return ATH_OK;
  snprintf(text, sizeof text, "%s", ath_error_text());
  return ath_json_fail(json, status, "%s", text);
}

ath_status ath_truncation_read(const ath_json *json, ath_tokenizer *self) {
  static const char *const known[] = {"direction", "max_length", "strategy", "stride", NULL};
  if (ath_json_absent(json)) return ATH_OK;
  ATH_TRY(ath_json_object(json));
  ath_json_check_keys(json, known);
  int64_t max_length, stride;
  int side, strategy;
  ath_json member = ath_json_member(json, "max_length");
  ATH_TRY(ath_json_integer(&member, 0, LENGTH_MAX, &max_length));
  ATH_TRY(read_number(json, "stride", &stride));
  ATH_TRY(read_name(json, "direction", side_names, SIDES, &side));
  ATH_TRY(read_name(json, "strategy", strategy_names, STRATEGIES, &strategy));
  ath_truncation truncation = {(size_t)max_length, (size_t)stride,
                               (ath_truncation_strategy)strategy, (ath_side)side};
  return blame(json, ath_tokenizer_set_truncation(self, &truncation));
}

/* "BatchLongest" is a length of 0, which a fixed one cannot mean: filling up to 0 does nothing. */
static ath_status read_length(const ath_json *json, size_t *length) {
  *length = 0;
  if (!json_is_object(json->value)) {
    const char *name;
    size_t size;
    ATH_TRY(ath_json_string(json, &name, &size));
    if (strcmp(name, "BatchLongest") == 0) return ATH_OK;
    return ath_json_fail(json, ATH_INVALID, "expected BatchLongest or {\"Fixed\": length}, found"
                         " \"%.40s\"", name);
  }
  int64_t fixed;
  ath_json member = ath_json_member(json, "Fixed");
  ATH_TRY(ath_json_integer(&member, 1, LENGTH_MAX, &fixed));
  *length = (size_t)fixed;
  return ATH_OK;
}

ath_status ath_padding_read(const ath_json *json, ath_tokenizer *self) {
  static const char *const known[] = {"strategy", "direction", "pad_to_multiple_of", "pad_id",
                                      "pad_type_id", "pad_token", NULL};
  if (ath_json_absent(json)) return ATH_OK;
  ATH_TRY(ath_json_object(json));
  ath_json_check_keys(json, known);
  ath_padding padding = {0};
  int64_t multiple, id, type_id;
  int side;
  size_t length;
  ath_json strategy = ath_json_member(json, "strategy"), token = ath_json_member(json, "pad_token");
  ATH_TRY(read_length(&strategy, &padding.length));
  ATH_TRY(read_name(json, "direction", side_names, SIDES, &side));
  ATH_TRY(read_number(json, "pad_to_multiple_of", &multiple));
  ATH_TRY(read_number(json, "pad_id", &id));
  ATH_TRY(read_number(json, "pad_type_id", &type_id));
  ATH_TRY(ath_json_string(&token, &padding.token, &length));
  if (strlen(padding.token) != length)
    return ath_json_fail(&token, ATH_INVALID, "the token cannot hold a NUL");
  padding.side = (ath_side)side;
  padding.multiple = (size_t)multiple;
  padding.id = (int32_t)id;
  padding.type_id = (int32_t)type_id;
  return blame(json, ath_tokenizer_set_padding(self, &padding));
}

void ath_truncation_write(const ath_tokenizer *self, ath_json_writer *out) {
  const ath_truncation *t = &self->truncation;
  if (!self->truncates) {
    ath_json_put_null(out, "truncation");
    return;
  }
  ath_json_open(out, "truncation", '{');
  ath_json_put_text(out, "direction", side_names[t->side]);
  ath_json_put_integer(out, "max_length", (int64_t)t->max_length);
  ath_json_put_text(out, "strategy", strategy_names[t->strategy]);
  ath_json_put_integer(out, "stride", (int64_t)t->stride);
  ath_json_close(out, '}');
}

void ath_padding_write(const ath_tokenizer *self, ath_json_writer *out) {
  const ath_padding *p = &self->padding;
  if (!self->pads) {
    ath_json_put_null(out, "padding");
    return;
  }
  ath_json_open(out, "padding", '{');
  if (p->length == 0) {
    ath_json_put_text(out, "strategy", "BatchLongest");
  } else {
    ath_json_open(out, "strategy", '{');
    ath_json_put_integer(out, "Fixed", (int64_t)p->length);
    ath_json_close(out, '}');
  }
  ath_json_put_text(out, "direction", side_names[p->side]);
  if (p->multiple == 0) ath_json_put_null(out, "pad_to_multiple_of");
  else ath_json_put_integer(out, "pad_to_multiple_of", (int64_t)p->multiple);
  ath_json_put_integer(out, "pad_id", p->id);
  ath_json_put_integer(out, "pad_type_id", p->type_id);
  ath_json_put_text(out, "pad_token", p->token);
  ath_json_close(out, '}');
}

/* --- padding ------------------------------------------------------------------------------- */

static size_t window_start(const ath_encoding *e, size_t window) {
  return window > 0 ? e->window_ends[window - 1] : 0;
}

/* What every window is to have. */
static size_t padded_length(const ath_padding *p, const ath_encoding *encodings, size_t count) {
  size_t length = p->length;
  for (size_t e = 0; e < count && p->length == 0; e++)
    for (size_t w = 0; w < encodings[e].window_count; w++) {
      size_t own = encodings[e].window_ends[w] - window_start(&encodings[e], w);
      if (own > length) length = own;
    }
  if (p->multiple > 0) length = (length + p->multiple - 1) / p->multiple * p->multiple;
  return length;
}

/* Appends `count` padding tokens. */
static ath_status fill(const ath_padding *p, ath_run *run, size_t count) {
  size_t from = run->out->length, length = strlen(p->token);
  const ath_layout_part part = {.sequence = ATH_SPECIAL, .type_id = p->type_id};
  if (count == 0) return ATH_OK; /* there may be no arrays */
  ATH_TRY(ath_run_reserve(run, count));
  for (size_t i = 0; i < count; i++)
    ATH_TRY(ath_run_emit_special(run, p->id, p->token, length));
  ath_run_describe(run, from, &part);
  if ((run->flags & ATH_ENCODE_MASKS) != 0) memset(run->out->attention + from, 0, count);
  return ATH_OK;
}

/* Puts the windows together anew, each with its padding. */
static ath_status pad_windows(const ath_padding *p, ath_run *run, const ath_recompose *old,
                              size_t length) {
  ath_encoding *e = old->source;
  for (size_t w = 0, start = 0; w < e->window_count; w++) {
    size_t end = e->window_ends[w], own = end - start, missing = length > own ? length - own : 0;
    if (p->side == ATH_LEFT) ATH_TRY(fill(p, run, missing));
    ATH_TRY(ath_recompose_copy(run, old, (ath_span){start, end}));
    if (p->side == ATH_RIGHT) ATH_TRY(fill(p, run, missing));
    start = end;
    e->window_ends[w] = run->out->length;
  }
  return ATH_OK;
}

static ath_status pad(const ath_padding *p, ath_encoding *e, size_t length) {
  ath_run *run = e->workspace;
  ath_recompose old;
  assert(run != NULL && e->window_count > 0);
  run->out = e;
  ATH_TRY(ath_recompose_begin(run, &old));
  ATH_TRY(pad_windows(p, run, &old, length));
  ath_recompose_end(run, &old);
  return ATH_OK;
}

ath_status ath_tokenizer_pad(const ath_tokenizer *self, ath_encoding *encodings, size_t count) {
  if (!self->pads) return ATH_OK;
  size_t length = padded_length(&self->padding, encodings, count);
  for (size_t e = 0; e < count; e++) {
    ath_status status = pad(&self->padding, &encodings[e], length);
    if (status == ATH_OK) continue;
    encodings[e].length = encodings[e].window_count = 0;
    return status;
  }
  return ATH_OK;
}
