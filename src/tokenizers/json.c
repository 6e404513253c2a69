/* json.c: a thin layer over jansson: where a value is, what it should be; and the writer. */
#include "tokenizers/json.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "storage/file.h"
#include "tokenizers/json_number.h"

enum { PATH_TEXT_MAX = 256, PLACE_TEXT_MAX = 1024 };

/* --- reading ------------------------------------------------------------------------------- */

size_t ath_json_mark(const ath_buffer *file) {
  return file->length >= 3 && memcmp(file->bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

ath_status ath_json_parse(const char *path, const char *bytes, size_t length, size_t flags,
                          json_t **tree, size_t *place) {
  json_error_t error;
  *tree = json_loadb(bytes, length, flags | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
  if (*tree != NULL) return ATH_OK;
  if (json_error_code(&error) == json_error_out_of_memory)
    return ath_fail(ATH_NO_MEMORY, "%s: no memory to parse it", path);
  *place = (size_t)error.position;
  return ath_fail(ATH_INVALID, "%s", error.text);
}

/* Counts bytes from the file's beginning, a byte order mark included. */
ath_status ath_json_syntax(const char *path, const ath_buffer *file, size_t place,
                           const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  size_t line = 1;
  for (size_t i = 0; i < place && i < file->length; i++) line += file->bytes[i] == '\n';
  return ath_fail(ATH_INVALID, "%s: not valid JSON: %s (byte %zu, line %zu)", path, message, place,
                  line);
}

static ath_status parse(const char *path, const ath_buffer *file, size_t flags, json_t **tree) {
  size_t mark = ath_json_mark(file), place;
  const char *bytes = file->bytes != NULL ? file->bytes : "";
  ath_status status =
      ath_json_parse(path, bytes + mark, file->length - mark, flags, tree, &place);
  if (status != ATH_INVALID) return status;
  return ath_json_syntax(path, file, place + mark, "%s", ath_error_text());
}

ath_status ath_json_load(const char *path, size_t maximum, bool whole_as_real, json_t **tree,
                         ath_json *root) {
  ath_buffer file = ath_buffer_make(maximum);
  ath_status status = ath_file_read(path, &file);
  if (status == ATH_OK)
    status = parse(path, &file, whole_as_real ? JSON_DECODE_INT_AS_REAL : 0, tree);
  ath_buffer_free(&file);
  ATH_TRY(status);
  *root = (ath_json){.value = *tree, .key = path};
  status = ath_json_object(root);
  if (status == ATH_OK) return ATH_OK;
  json_decref(*tree);
  *tree = NULL;
  return status;
}

/* Appends "a.b[3]" to the text; what does not fit is cut. */
static void append_path(const ath_json *self, char text[PATH_TEXT_MAX]) {
  if (self->parent == NULL) return;
  append_path(self->parent, text);
  size_t used = strlen(text);
  if (self->key == NULL)
    snprintf(text + used, PATH_TEXT_MAX - used, "[%zu]", self->index);
  else
    snprintf(text + used, PATH_TEXT_MAX - used, "%s%s", used > 0 ? "." : "", self->key);
}

/* "<file>: <path>", or "<file>" for the root. */
static void describe(const ath_json *self, char text[PLACE_TEXT_MAX]) {
  char path[PATH_TEXT_MAX] = "";
  append_path(self, path);
  while (self->parent != NULL) self = self->parent;
  assert(self->key != NULL);
  snprintf(text, PLACE_TEXT_MAX, "%.700s%s%s", self->key, path[0] != '\0' ? ": " : "", path);
}

ath_status ath_json_fail(const ath_json *self, ath_status status, const char *format, ...) {
  char place[PLACE_TEXT_MAX], message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  describe(self, place);
  return ath_fail(status, "%s: %s", place, message);
}

void ath_json_warn(const ath_json *self, const char *format, ...) {
  char place[PLACE_TEXT_MAX], message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  describe(self, place);
  ath_log(ATH_LOG_WARNING, "%s: %s", place, message);
}

ath_json ath_json_member(const ath_json *self, const char *key) {
  return (ath_json){.value = json_object_get(self->value, key), .parent = self, .key = key};
}

ath_json ath_json_item(const ath_json *self, size_t index) {
  return (ath_json){.value = json_array_get(self->value, index), .parent = self, .index = index};
}

bool ath_json_next(const ath_json *self, void **place, ath_json *member) {
  json_t *object = (json_t *)(uintptr_t)self->value; /* jansson's iterators want it writable */
  *place = *place == NULL ? json_object_iter(object) : json_object_iter_next(object, *place);
  if (*place == NULL) return false;
  *member = (ath_json){.value = json_object_iter_value(*place), .parent = self,
                       .key = json_object_iter_key(*place)};
  return true;
}

bool ath_json_absent(const ath_json *self) {
  return self->value == NULL || json_is_null(self->value);
}

static const char *type_name(const json_t *value) {
  if (value == NULL) return "nothing";
  switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER: return "an integer";
    case JSON_REAL: return "a number";
    case JSON_TRUE: return "true";
    case JSON_FALSE: return "false";
    case JSON_NULL: return "null";
  }
  return "an unknown type";
}

static ath_status wrong_type(const ath_json *self, const char *expected) {
  return ath_json_fail(self, ATH_INVALID, "expected %s, found %s", expected,
                       type_name(self->value));
}

ath_status ath_json_object(const ath_json *self) {
  return json_is_object(self->value) ? ATH_OK : wrong_type(self, "an object");
}

ath_status ath_json_array(const ath_json *self, size_t *count) {
  if (!json_is_array(self->value)) return wrong_type(self, "an array");
  *count = json_array_size(self->value);
  return ATH_OK;
}

ath_status ath_json_string(const ath_json *self, const char **bytes, size_t *length) {
  if (!json_is_string(self->value)) return wrong_type(self, "a string");
  *bytes = json_string_value(self->value);
  *length = json_string_length(self->value);
  return ATH_OK;
}

ath_status ath_json_integer(const ath_json *self, int64_t least, int64_t most, int64_t *out) {
  assert(least <= most);
  if (!json_is_integer(self->value)) return wrong_type(self, "an integer");
  int64_t value = json_integer_value(self->value);
  if (value < least || value > most)
    return ath_json_fail(self, ATH_INVALID, "%lld is not between %lld and %lld",
                         (long long)value, (long long)least, (long long)most);
  *out = value;
  return ATH_OK;
}

ath_status ath_json_number(const ath_json *self, double *out) {
  if (!json_is_number(self->value)) return wrong_type(self, "a number");
  *out = json_number_value(self->value);
  return ATH_OK;
}

ath_status ath_json_required_flag(const ath_json *self, bool *out) {
  if (!json_is_boolean(self->value)) return wrong_type(self, "true or false");
  *out = json_is_true(self->value);
  return ATH_OK;
}

ath_status ath_json_flag(const ath_json *self, bool *out) {
  return self->value != NULL ? ath_json_required_flag(self, out) : ATH_OK;
}

void ath_json_check_keys(const ath_json *self, const char *const *known) {
  assert(json_is_object(self->value));
  void *place = NULL;
  ath_json member;
  while (ath_json_next(self, &place, &member)) {
    const char *const *k = known;
    while (*k != NULL && strcmp(*k, member.key) != 0) k++;
    if (*k == NULL) ath_json_warn(&member, "unknown key, ignored");
  }
}

/* --- writing ------------------------------------------------------------------------------- */

ath_json_writer ath_json_writer_make(ath_buffer *out) {
  return (ath_json_writer){.out = out, .first = true};
}

/* Does one step unless an earlier one failed. */
#define STEP(self, call) \
  do {                   \
    if ((self)->status == ATH_OK) (self)->status = (call); \
  } while (0)

/* Indents by two spaces a level, as serde's pretty printer does. */
static void new_line(ath_json_writer *self) {
  STEP(self, ath_buffer_byte(self->out, '\n'));
  for (int i = 0; i < self->depth; i++) STEP(self, ath_buffer_append(self->out, "  ", 2));
}

/* What stands before a value: the comma, the line's indent, the key. */
static void begin_member(ath_json_writer *self, const char *key, size_t length) {
  if (!self->first) STEP(self, ath_buffer_byte(self->out, ','));
  if (self->depth > 0) new_line(self);
  self->first = false;
  if (key == NULL) return;
  STEP(self, ath_buffer_json(self->out, key, length));
  STEP(self, ath_buffer_append(self->out, ": ", 2));
}

static void begin_value(ath_json_writer *self, const char *key) {
  begin_member(self, key, key != NULL ? strlen(key) : 0);
}

void ath_json_open(ath_json_writer *self, const char *key, char bracket) {
  assert(bracket == '{' || bracket == '[');
  begin_value(self, key);
  STEP(self, ath_buffer_byte(self->out, bracket));
  self->depth++;
  self->first = true;
}

void ath_json_close(ath_json_writer *self, char bracket) {
  assert(self->depth > 0 && (bracket == '}' || bracket == ']'));
  self->depth--;
  if (!self->first) new_line(self); /* an empty one stays "[]" */
  STEP(self, ath_buffer_byte(self->out, bracket));
  self->first = false;
}

void ath_json_put_string(ath_json_writer *self, const char *key, const char *bytes,
                         size_t length) {
  begin_value(self, key);
  STEP(self, ath_buffer_json(self->out, bytes, length));
}

void ath_json_put_text(ath_json_writer *self, const char *key, const char *string) {
  ath_json_put_string(self, key, string, strlen(string));
}

void ath_json_put_integer(ath_json_writer *self, const char *key, int64_t value) {
  begin_value(self, key);
  STEP(self, ath_buffer_integer(self->out, value));
}

void ath_json_put_member(ath_json_writer *self, const char *key, size_t length, int64_t value) {
  begin_member(self, key, length);
  STEP(self, ath_buffer_integer(self->out, value));
}

void ath_json_put_number(ath_json_writer *self, const char *key, double value) {
  begin_value(self, key);
  STEP(self, ath_json_number_write(self->out, value));
}

void ath_json_put_literal(ath_json_writer *self, const char *key, const char *literal) {
  begin_value(self, key);
  STEP(self, ath_buffer_string(self->out, literal));
}

void ath_json_put_flag(ath_json_writer *self, const char *key, bool value) {
  ath_json_put_literal(self, key, value ? "true" : "false");
}

void ath_json_put_null(ath_json_writer *self, const char *key) {
  ath_json_put_literal(self, key, "null");
}
