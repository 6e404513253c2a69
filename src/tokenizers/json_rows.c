/* json_rows.c: JSON's values (RFC 8259) read strictly, one after another. The text is followed by a
 * NUL, which ends every run of bytes that is legal, so that the loops look at nothing else. */
#include "tokenizers/json_rows.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizers/characters.h"
#include "tokenizers/json_bytes.h"
#include "tokenizers/json_document.h"
#include "tokenizers/json_number.h"
#include "tokenizers/pipeline.h"

enum { KEY_SHOWN = 100, INTEGER_DIGITS = 18 };

/* --- failures ------------------------------------------------------------------------------ */

static ath_status wrong(const ath_json_rows *self, const char *at, const char *what) {
  const ath_json *root = self->json;
  while (root->parent != NULL) root = root->parent;
  return ath_json_syntax(root->key, &self->file, (size_t)(at - self->file.bytes), "%s", what);
}

/* The way to the present value: the row, and in a pair the item. */
typedef struct place {
  char key[KEY_SHOWN + 1];
  ath_json row, item, *json;
} place;

static void find_place(ath_json_rows *self, place *out) {
  out->row = (ath_json){.parent = self->json};
  out->item = (ath_json){.parent = &out->row, .index = self->item > 0};
  out->json = self->item >= 0 ? &out->item : &out->row;
  if (self->bracket == '[') {
    out->row.index = self->count > 0 ? self->count - 1 : 0;
    return;
  }
  ath_json_slice key = {"", 0};
  self->at = self->row;
  if (ath_json_rows_string(self, &key) != ATH_OK) key.length = 0; /* it was read before */
  int shown = (int)(key.length < KEY_SHOWN ? key.length : KEY_SHOWN);
  snprintf(out->key, sizeof out->key, "%.*s", shown, key.bytes);
  out->row.key = out->key;
}

ath_status ath_json_rows_fail(ath_json_rows *self, ath_status status, const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  place p;
  find_place(self, &p);
  return ath_json_fail(p.json, status, "%s", message);
}

static const char *type_at(const char *at) {
  double value;
  bool whole = true;
  switch (*at) {
    case '"': return "a string";
    case '{': return "an object";
    case '[': return "an array";
    case 't': return "true";
    case 'f': return "false";
    case 'n': return "null";
    default: return ath_json_number_read(at, &value, &whole) == NULL ? NULL
                    : whole ? "an integer" : "a number";
  }
}

static ath_status wrong_type(ath_json_rows *self, const char *expected) {
  const char *found = type_at(self->at);
  if (found == NULL) return wrong(self, self->at, "a value should be here");
  return ath_json_rows_fail(self, ATH_INVALID, "expected %s, found %s", expected, found);
}

/* --- strings ------------------------------------------------------------------------------- */

/* Bytes that stand for themselves and are a character of their own. */
static inline bool is_plain(char byte) {
  return (uint8_t)byte - 0x20u < 0x60u && byte != '"' && byte != '\\';
}

/* Four hexadecimal digits; −1 if there are others. */
static int32_t hex_digits(const char *at) {
  int32_t value = 0;
  for (int i = 0; i < 4; i++) {
    char c = at[i], lower = (char)(c | 0x20);
    if (c >= '0' && c <= '9') value = value << 4 | (c - '0');
    else if (lower >= 'a' && lower <= 'f') value = value << 4 | (lower - 'a' + 10);
    else return -1;
  }
  return value;
}

/* \uXXXX, or two of them that are one character; its backslash is at *at, which goes behind it. */
static ath_status read_code(const ath_json_rows *self, const char **at, uint32_t *character) {
  enum { HIGH = 0xD800, LOW = 0xDC00, SURROGATES_END = 0xE000 };
  int32_t first = hex_digits(*at + 2), second;
  if (first < 0) return wrong(self, *at, "\\u wants four hexadecimal digits");
  *character = (uint32_t)first;
  const char *begin = *at;
  *at += 6;
  if (first < HIGH || first >= SURROGATES_END) return ATH_OK;
  second = first < LOW && (*at)[0] == '\\' && (*at)[1] == 'u' ? hex_digits(*at + 2) : -1;
  if (second < LOW || second >= SURROGATES_END)
    return wrong(self, begin, "one half of a surrogate pair without the other");
  *character = 0x10000u + ((uint32_t)(first - HIGH) << 10) + (uint32_t)(second - LOW);
  *at += 6;
  return ATH_OK;
}

static ath_status unescape(const ath_json_rows *self, const char **at, ath_buffer *out) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  char name = (*at)[1];
  if (name == 'u') {
    uint32_t character = 0;
    char bytes[4];
    ATH_TRY(read_code(self, at, &character));
    return ath_buffer_append(out, bytes, ath_character_write(character, bytes));
  }
  const char *found = name != '\0' ? strchr(names, name) : NULL;
  if (found == NULL) return wrong(self, *at, "no such escape");
  *at += 2;
  return ath_buffer_byte(out, values[found - names]);
}

/* Behind the character at `at`, which is not ASCII; `at` itself where it is malformed. */
static inline const char *skip_character(const ath_json_rows *self, const char *at) {
  uint8_t first = (uint8_t)*at;
  if (first >= 0xC2 && first < 0xE0 && ath_utf8_continues(at[1])) return at + 2;
  size_t length = ath_character_length(*at), left = (size_t)(self->end - at);
  return length > left || ath_utf8_prefix(at, length) < length ? at : at + length;
}

/* Behind the characters from `at` on that stand for themselves. */
static const char *skip_characters(const ath_json_rows *self, const char *at) {
  for (;;) {
    uint64_t found = 0;
    while (self->end - at >= 8 && (found = ath_string_stops(ath_eight_bytes(at))) == 0) at += 8;
    if (found != 0) at += ath_first_byte(found);
    else while (is_plain(*at)) at++;
    if ((uint8_t)*at < 0x80) return at;
    const char *after = skip_character(self, at);
    if (after == at) return at;
    at = after;
  }
}

static ath_status bad_character(const ath_json_rows *self, const char *at) {
  if (at >= self->end) return wrong(self, at, "the text ends inside a string");
  return wrong(self, at, (uint8_t)*at < 0x20 ? "a control character inside a string"
                                             : "invalid UTF-8");
}

/* A string with escapes, of which the first is at `at`. */
static ath_status read_escaped(ath_json_rows *self, const char *at, ath_json_slice *out) {
  ath_buffer *buffer = &self->unescaped[self->turn ^= 1];
  ath_buffer_clear(buffer);
  ATH_TRY(ath_buffer_append(buffer, self->at + 1, (size_t)(at - self->at - 1)));
  while (*at == '\\') {
    ATH_TRY(unescape(self, &at, buffer));
    const char *from = at;
    at = skip_characters(self, at);
    ATH_TRY(ath_buffer_append(buffer, from, (size_t)(at - from)));
  }
  if (*at != '"') return bad_character(self, at);
  *out = (ath_json_slice){buffer->bytes, buffer->length};
  self->at = at + 1;
  return ATH_OK;
}

ath_status ath_json_rows_string(ath_json_rows *self, ath_json_slice *out) {
  if (*self->at != '"') return wrong_type(self, "a string");
  const char *from = self->at + 1, *at = skip_characters(self, from);
  if (*at == '\\') return read_escaped(self, at, out);
  if (*at != '"') return bad_character(self, at);
  *out = (ath_json_slice){from, (size_t)(at - from)};
  self->at = at + 1;
  return ATH_OK;
}

/* What follows the string, a quote or a NUL, makes room for the NUL. */
ath_status ath_json_slice_keep(ath_json_slice string, ath_buffer *out) {
  ATH_TRY(ath_buffer_append(out, string.bytes, string.length + 1));
  out->bytes[out->length - 1] = '\0';
  return ATH_OK;
}

/* --- numbers ------------------------------------------------------------------------------- */

static ath_status read_number(ath_json_rows *self, const char *expected, double *out,
                              bool *whole) {
  const char *after = ath_json_number_read(self->at, out, whole);
  if (after == NULL) return wrong_type(self, expected);
  if (!isfinite(*out)) return wrong(self, self->at, "the number is too large");
  self->at = after;
  return ATH_OK;
}

/* An integer of few digits is the usual one. Any other is read as a double, which holds all that
 * are in a range; what is outside may be told inexactly. */
ath_status ath_json_rows_integer(ath_json_rows *self, int64_t least, int64_t most, int64_t *out) {
  const char *begin = self->at, *at = begin, *last = at + INTEGER_DIGITS;
  int64_t value = 0;
  assert(least <= most && least > INT32_MIN && most <= INT32_MAX);
  for (unsigned digit; at < last && (digit = (unsigned)*at - '0') < 10; at++)
    value = value * 10 + digit;
  bool plain = at > begin && at < last && *at != '.' && *at != 'e' && *at != 'E' &&
               (*begin != '0' || at == begin + 1);
  if (plain && value >= least && value <= most) {
    self->at = at;
    *out = value;
    return ATH_OK;
  }
  double number;
  bool whole;
  ATH_TRY(read_number(self, "an integer", &number, &whole));
  if (whole && number >= (double)least && number <= (double)most) {
    *out = (int64_t)number;
    return ATH_OK;
  }
  self->at = begin;
  if (!whole) return wrong_type(self, "an integer");
  return ath_json_rows_fail(self, ATH_INVALID, "%.0f is not between %lld and %lld", number,
                            (long long)least, (long long)most);
}

ath_status ath_json_rows_number(ath_json_rows *self, double *out) {
  bool whole;
  return read_number(self, "a number", out, &whole);
}

/* --- rows ---------------------------------------------------------------------------------- */

static void skip_space(ath_json_rows *self) {
  while (self->at < self->end && (*self->at == ' ' || *self->at == '\n' ||
                                   *self->at == '\r' || *self->at == '\t'))
    self->at++;
}

static ath_status skip_mark(ath_json_rows *self, char mark) {
  static const char *const expected[256] = {
      ['{'] = "expected {", ['['] = "expected [", ['}'] = "expected , or }",
      [']'] = "expected , or ]", [','] = "expected ,", [':'] = "expected :"};
  skip_space(self);
  if (*self->at != mark) return wrong(self, self->at, expected[(uint8_t)mark]);
  self->at++;
  skip_space(self);
  return ATH_OK;
}

ath_status ath_json_rows_next(ath_json_rows *self, bool *more, ath_json_slice *key) {
  char closing = self->bracket == '{' ? '}' : ']';
  self->item = -1;
  skip_space(self);
  *more = *self->at != closing;
  if (!*more) {
    self->at++;
    skip_space(self);
    return self->at == self->end ? ATH_OK : wrong(self, self->at, "the end should be here");
  }
  if (self->count > 0) {
    if (*self->at != ',') return skip_mark(self, closing);
    ATH_TRY(skip_mark(self, ','));
  }
  self->row = self->at;
  self->count++;
  if (self->bracket == '[') return ATH_OK;
  if (*self->at != '"') return wrong(self, self->at, "expected a key");
  ATH_TRY(ath_json_rows_string(self, key));
  return skip_mark(self, ':');
}

bool ath_json_rows_at(const ath_json_rows *self, char first) { return *self->at == first; }

/* The values of the present row, which is an array that is not as long as it should be. */
static ath_status wrong_count(ath_json_rows *self, const char *what) {
  json_t *row;
  size_t fault;
  ath_status status = ath_json_parse("", self->row, (size_t)(self->end - self->row),
                                     JSON_DISABLE_EOF_CHECK, &row, &fault);
  if (status == ATH_INVALID) return wrong(self, self->row + fault, ath_error_text());
  ATH_TRY(status);
  size_t count = json_array_size(row);
  json_decref(row);
  self->item = -1;
  return ath_json_rows_fail(self, ATH_INVALID, "expected %s, found %zu values", what, count);
}

ath_status ath_json_rows_mark(ath_json_rows *self, char mark, const char *what) {
  skip_space(self);
  if (mark == '[' && *self->at != mark) return wrong_type(self, "an array");
  if (*self->at != mark) return wrong_count(self, what);
  self->at++;
  skip_space(self);
  if (mark == '[' && *self->at == ']') return wrong_count(self, what);
  self->item = mark == '[' ? 0 : mark == ',' ? 1 : -1;
  return ATH_OK;
}

/* --- opening ------------------------------------------------------------------------------- */

static void begin(const ath_json *json, char bracket, const char *at, size_t length,
                  ath_json_rows *out) {
  *out = (ath_json_rows){
      .json = json, .at = at, .end = at + length, .bracket = bracket, .item = -1};
  for (int i = 0; i < 2; i++) out->unescaped[i] = ath_buffer_make(length);
}

/* The rows of a tree: composed, so as to be read like all others. */
static ath_status open_tree(const ath_json *json, char bracket, ath_json_rows *out) {
  char *text = json_dumps(json->value, JSON_COMPACT);
  if (text == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a part of the file");
  begin(json, bracket, text, strlen(text), out);
  out->composed = text;
  out->file.bytes = text;
  out->file.length = strlen(text);
  return skip_mark(out, bracket);
}

ath_status ath_json_rows_open(const ath_json *json, char bracket, ath_json_rows *out) {
  begin(json, bracket, "", 0, out);
  size_t count;
  ATH_TRY(bracket == '{' ? ath_json_object(json) : ath_json_array(json, &count));
  const ath_json *root = json;
  while (root->parent != NULL) root = root->parent;
  ath_json_section *section = ath_json_document_section(root->document, json->value);
  if (section == NULL) return open_tree(json, bracket, out);
  section->read = true;
  const ath_buffer *file = &root->document->file;
  begin(json, bracket, file->bytes + section->from, section->to - section->from, out);
  out->file = *file;
  return skip_mark(out, bracket);
}

ath_status ath_json_rows_open_file(const ath_json *json, const ath_buffer *file,
                                   ath_json_rows *out) {
  size_t mark = ath_json_mark(file);
  const char *bytes = file->bytes != NULL ? file->bytes : "";
  begin(json, '{', bytes + mark, file->length - mark, out);
  out->file = *file;
  skip_space(out);
  if (*out->at != '{' && type_at(out->at) != NULL)
    return ath_json_fail(json, ATH_INVALID, "expected an object, found %s", type_at(out->at));
  return skip_mark(out, '{');
}

void ath_json_rows_close(ath_json_rows *self) {
  for (int i = 0; i < 2; i++) ath_buffer_free(&self->unescaped[i]);
  free(self->composed);
}

size_t ath_json_rows_left(const ath_json_rows *self) { return (size_t)(self->end - self->at); }
