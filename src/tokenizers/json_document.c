/* json_document.c: finding a model's "vocab" and "merges" and a normaliser's character map in the
 * file's bytes, and the tree of what is around them. */
#include "tokenizers/json_document.h"

#include <assert.h>
#include <string.h>

#include "storage/file.h"
#include "tokenizers/json_bytes.h"

/* --- finding ------------------------------------------------------------------------------- */

/* The walk through the bytes knows strings and brackets, no more: whatever is wrong with them, the
 * parser finds it afterwards. Where the walk gets lost, it gives NULL, and there is no section. */

static const char *skip_space(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) at++;
  return at;
}

/* From the opening quote to behind the closing one. */
static const char *skip_string(const char *at, const char *end) {
  for (at++; end - at >= 8;) {
    uint64_t found = ath_string_ends(ath_eight_bytes(at));
    at += found != 0 ? ath_first_byte(found) : 8;
    if (found != 0 && *at == '"') return at + 1;
    if (found != 0) at += 2; /* an escape */
  }
  for (; at < end && *at != '"'; at++)
    if (*at == '\\') at++;
  return at < end ? at + 1 : NULL;
}

/* To behind the bracket that closes the one at `at`. This goes over nearly all of the file, so what
 * a byte means is looked up: 1 and −1 for the brackets, 2 for a quote, 3 for the NUL at the end. */
enum { QUOTE = 2, NOTHING_LEFT = 3 };
static const signed char meanings[256] = {
    ['['] = 1, ['{'] = 1, [']'] = -1, ['}'] = -1, ['"'] = QUOTE, ['\0'] = NOTHING_LEFT};

static const char *skip_brackets(const char *at, const char *end) {
  size_t depth = 0;
  do {
    int meaning = meanings[(uint8_t)*at];
    if (meaning == NOTHING_LEFT) return NULL;
    if (meaning == QUOTE) at = skip_string(at, end);
    else at++;
    if (at == NULL) return NULL;
    if (meaning != QUOTE) depth += (size_t)(ptrdiff_t)meaning;
  } while (depth > 0);
  return at;
}

static const char *skip_value(const char *at, const char *end) {
  if (at == end) return NULL;
  if (*at == '"') return skip_string(at, end);
  if (*at == '[' || *at == '{') return skip_brackets(at, end);
  while (at < end && *at != ',' && meanings[(uint8_t)*at] == 0) at++;
  return at;
}

typedef struct member {
  const char *key; /* with its quotes */
  size_t key_length;
  const char *value;
} member;

/* The member after the '{' or the value that ends at `at`. */
static bool next_member(const char *at, const char *end, member *out) {
  out->key = skip_space(at, end);
  if (out->key == end || (*out->key != '{' && *out->key != ',')) return false;
  out->key = skip_space(out->key + 1, end);
  if (out->key == end || *out->key != '"') return false;
  const char *colon = skip_string(out->key, end);
  if (colon == NULL) return false;
  out->key_length = (size_t)(colon - out->key);
  colon = skip_space(colon, end);
  if (colon == end || *colon != ':') return false;
  out->value = skip_space(colon + 1, end);
  return out->value < end;
}

static bool is_key(const member *self, const char *key) {
  size_t length = strlen(key);
  return self->key_length == length + 2 && memcmp(self->key + 1, key, length) == 0;
}

static void add_section(ath_json_document *self, const member *found, const char *value_end) {
  static const char *const keys[] = {"vocab", "merges"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (!is_key(found, keys[i]) || (*found->value != '{' && *found->value != '[')) continue;
    if (self->section_count == ATH_JSON_SECTIONS) return; /* a key is doubled */
    self->sections[self->section_count++] =
        (ath_json_section){.key = keys[i], .from = (size_t)(found->value - self->file.bytes),
                           .to = (size_t)(value_end - self->file.bytes)};
  }
}

static bool is_base64(const char *at, const char *end) {
  static const bool letters[256] = {
      ['+'] = true, ['/'] = true, ['='] = true, ['0' ... '9'] = true, ['A' ... 'Z'] = true,
      ['a' ... 'z'] = true};
  bool all = true;
  for (; at < end; at++) all &= letters[(uint8_t)*at];
  return all;
}

static const char *find_string(const char *at, const char *end, const char *string) {
  return memmem(at, (size_t)(end - at), string, strlen(string));
}

/* The string behind the key "precompiled_charsmap" of a normaliser, or of one in a list of them. (A
 * string that holds this would escape its quotes.) What is nested deeper or odd stays in the
 * tree. */
static void add_map(ath_json_document *self, const char *value, const char *value_end) {
  static const char key[] = "\"" ATH_JSON_MAP "\"", list[] = "\"normalizers\"";
  const char *at = find_string(value, value_end, key), *inner = find_string(value, value_end, list);
  if (at == NULL || self->section_count == ATH_JSON_SECTIONS) return;
  if (inner != NULL && find_string(inner + 1, value_end, list) != NULL) return;
  at = skip_space(at + strlen(key), value_end);
  if (at == value_end || *at != ':') return;
  at = skip_space(at + 1, value_end);
  if (at == value_end || *at != '"') return;
  const char *end = memchr(at + 1, '"', (size_t)(value_end - at - 1));
  if (end == NULL || !is_base64(at + 1, end) || find_string(end, value_end, key) != NULL) return;
  self->sections[self->section_count++] = (ath_json_section){
      .key = ATH_JSON_MAP, .from = (size_t)(at - self->file.bytes),
      .to = (size_t)(end + 1 - self->file.bytes), .read = true};
}

/* The members of the model are walked before its end is known, so that its sections, nearly all of
 * the file, are passed over once. */
static void find_sections(ath_json_document *self, size_t mark) {
  const char *at = self->file.bytes + mark, *end = self->file.bytes + self->file.length;
  bool inside = false;
  member found;
  while (at != NULL && next_member(at, end, &found)) {
    if (!inside && is_key(&found, "model") && *found.value == '{') {
      inside = true;
      at = found.value;
      continue;
    }
    at = skip_value(found.value, end);
    if (inside && at != NULL) add_section(self, &found, at);
    if (!inside && at != NULL && is_key(&found, "normalizer")) add_map(self, found.value, at);
  }
}

/* --- the tree ------------------------------------------------------------------------------ */

/* The file's text with "{}", "[]" or "\"\"" for each section. */
static ath_status leave_out(const ath_json_document *self, size_t mark, ath_buffer *out) {
  const char *bytes = self->file.bytes;
  size_t from = mark;
  for (size_t i = 0; i < self->section_count; i++) {
    const ath_json_section *section = &self->sections[i];
    assert(section->from >= from && section->to <= self->file.length);
    ATH_TRY(ath_buffer_append(out, bytes + from, section->from + 1 - from));
    from = section->to - 1;
  }
  return ath_buffer_append(out, bytes + from, self->file.length - from);
}

/* The place in the file of one in the text that is left. */
static size_t place_in_file(const ath_json_document *self, size_t mark, size_t place) {
  place += mark;
  for (size_t i = 0; i < self->section_count; i++)
    if (place > self->sections[i].from + 1)
      place += self->sections[i].to - self->sections[i].from - 2;
  return place;
}

/* The character map's place in a normaliser, or in one of a list of them. */
static const json_t *find_map(const json_t *normalizer) {
  const json_t *map = json_object_get(normalizer, ATH_JSON_MAP);
  const json_t *list = json_object_get(normalizer, "normalizers");
  for (size_t i = 0; map == NULL && i < json_array_size(list); i++)
    map = json_object_get(json_array_get(list, i), ATH_JSON_MAP);
  return map;
}

static ath_status parse(ath_json_document *self, const char *path) {
  size_t mark = ath_json_mark(&self->file);
  ath_buffer rest = ath_buffer_make(self->file.maximum);
  find_sections(self, mark);
  ath_status status = leave_out(self, mark, &rest);
  size_t place;
  if (status == ATH_OK) {
    status = ath_json_parse(path, rest.bytes, rest.length, 0, &self->tree, &place);
    if (status == ATH_INVALID)
      status = ath_json_syntax(path, &self->file, place_in_file(self, mark, place), "%s",
                               ath_error_text());
  }
  ath_buffer_free(&rest);
  ATH_TRY(status);
  self->root = (ath_json){.value = self->tree, .key = path, .document = self};
  const json_t *model = json_object_get(self->tree, "model");
  for (size_t i = 0; i < self->section_count; i++)
    self->sections[i].value = strcmp(self->sections[i].key, ATH_JSON_MAP) == 0
                                  ? find_map(json_object_get(self->tree, "normalizer"))
                                  : json_object_get(model, self->sections[i].key);
  return ath_json_object(&self->root);
}

/* --- documents ----------------------------------------------------------------------------- */

ath_status ath_json_document_load(const char *path, size_t maximum, ath_json_document *out) {
  *out = (ath_json_document){.file = ath_buffer_make(maximum)};
  ATH_TRY(ath_file_read(path, &out->file));
  ATH_TRY(ath_buffer_string(&out->file, "")); /* so that there are bytes */
  return parse(out, path);
}

ath_status ath_json_document_parse(const char *name, const ath_buffer *text,
                                   ath_json_document *out) {
  *out = (ath_json_document){.file = ath_buffer_make(text->maximum)};
  ATH_TRY(ath_buffer_append(&out->file, text->bytes, text->length));
  return parse(out, name);
}

ath_json_section *ath_json_document_section(ath_json_document *self, const json_t *value) {
  for (size_t i = 0; self != NULL && i < self->section_count; i++)
    if (self->sections[i].value == value) return &self->sections[i];
  return NULL;
}

ath_status ath_json_document_string(const ath_json *json, const char **bytes, size_t *length) {
  ATH_TRY(ath_json_string(json, bytes, length));
  const ath_json *root = json;
  while (root->parent != NULL) root = root->parent;
  const ath_json_section *section = ath_json_document_section(root->document, json->value);
  if (section == NULL) return ATH_OK;
  *bytes = root->document->file.bytes + section->from + 1;
  *length = section->to - section->from - 2;
  return ATH_OK;
}

ath_status ath_json_document_check(const ath_json_document *self) {
  for (size_t i = 0; i < self->section_count; i++) {
    const ath_json_section *section = &self->sections[i];
    if (section->read) continue;
    json_t *tree;
    size_t place, length = section->to - section->from;
    ath_status status = ath_json_parse(self->root.key, self->file.bytes + section->from, length, 0,
                                       &tree, &place);
    if (status == ATH_INVALID)
      return ath_json_syntax(self->root.key, &self->file, section->from + place, "%s",
                             ath_error_text());
    ATH_TRY(status);
    json_decref(tree);
  }
  return ATH_OK;
}

void ath_json_document_free(ath_json_document *self) {
  json_decref(self->tree);
  ath_buffer_free(&self->file);
}
