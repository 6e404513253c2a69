/* yaml.c: a run's settings from and to a YAML file: one mapping of names to plain values. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "athanor/train.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/nearest.h"
#include "storage/file.h"

enum { YAML_BYTES_MAX = 1 << 20, SETTINGS_MAX = 128 };

/* Where the reading stands. */
typedef struct reader {
  yaml_parser_t parser;
  const char *path;
  ath_train_options *options;
  const ath_setting *settings;
  size_t setting_count;
  size_t lines[SETTINGS_MAX]; /* where each setting was given; 0: not yet */
} reader;

static size_t line_of(const yaml_event_t *event) {
  return event->start_mark.line + 1;
}

static ath_status next_event(reader *self, yaml_event_t *event) {
  if (yaml_parser_parse(&self->parser, event)) return ATH_OK;
  return ath_fail(ATH_INVALID, "%s:%zu: not valid YAML: %s", self->path,
                  self->parser.problem_mark.line + 1,
                  self->parser.problem != NULL ? self->parser.problem : "it cannot be read");
}

/* --- one value ----------------------------------------------------------------------------- */

static bool is_plain(const yaml_event_t *event) {
  return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool is_null(const yaml_event_t *event) {
  const char *text = (const char *)event->data.scalar.value;
  return is_plain(event) && (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static ath_status wrong_kind(const reader *self, const ath_setting *s, const yaml_event_t *event) {
  static const char *const wanted[] = {
    [ATH_SETTING_TEXT] = "text", [ATH_SETTING_INTEGER] = "a whole number",
    [ATH_SETTING_NUMBER] = "a number", [ATH_SETTING_FLAG] = "true or false"};
  return ath_fail(ATH_INVALID, "%s:%zu: \"%s\" wants %s, not \"%.80s\"", self->path,
                  line_of(event), s->name, wanted[s->kind],
                  (const char *)event->data.scalar.value);
}

/* YAML 1.2's core schema knows true and false; 1.1's other words for them are refused rather than
 * guessed at. */
static bool parse_flag(const char *text, bool *out) {
  *out = text[0] == 't' || text[0] == 'T';
  return strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0;
}

static bool parse_number(const ath_setting *s, const char *text, double *number,
                         int64_t *integer) {
  char *end = NULL;
  errno = 0;
  if (s->kind == ATH_SETTING_INTEGER) {
    *integer = strtoll(text, &end, 10);
    *number = (double)*integer;
  } else {
    *number = strtod(text, &end);
  }
  return end != text && *end == '\0' && errno == 0 && *number == *number;
}

static ath_status store_value(reader *self, const ath_setting *s, const yaml_event_t *event) {
  assert(event->type == YAML_SCALAR_EVENT && s->offset < sizeof *self->options);
  void *place = (char *)self->options + s->offset;
  const char *text = (const char *)event->data.scalar.value;
  if (s->kind == ATH_SETTING_TEXT) {
    char *copy = ath_arena_string(self->options->memory, text);
    if (copy == NULL) return ATH_NO_MEMORY;
    *(const char **)place = is_null(event) ? NULL : copy;
    return ATH_OK;
  }
  bool plain = is_plain(event);
  if (s->kind == ATH_SETTING_FLAG)
    return plain && parse_flag(text, place) ? ATH_OK : wrong_kind(self, s, event);
  double number;
  int64_t integer = 0;
  if (!plain || !parse_number(s, text, &number, &integer)) return wrong_kind(self, s, event);
  if (!(number >= s->minimum && number <= s->maximum))
    return ath_fail(ATH_INVALID, "%s:%zu: \"%s\" is %s; it must lie between %.12g and %.12g",
                    self->path, line_of(event), s->name, text, s->minimum, s->maximum);
  if (s->kind == ATH_SETTING_INTEGER) *(int64_t *)place = integer;
  else *(double *)place = number;
  return ATH_OK;
}

/* --- the mapping --------------------------------------------------------------------------- */

static ath_status unknown_key(const reader *self, const char *key, size_t line) {
  const char *names[SETTINGS_MAX];
  for (size_t i = 0; i < self->setting_count; i++) names[i] = self->settings[i].name;
  const char *near = ath_nearest(key, names, self->setting_count);
  if (near != NULL)
    return ath_fail(ATH_INVALID, "%s:%zu: unknown key '%.60s'; did you mean '%s'?", self->path,
                    line, key, near);
  return ath_fail(ATH_INVALID, "%s:%zu: unknown key '%.60s'; athanor train --help lists them",
                  self->path, line, key);
}

static ath_status find_setting(reader *self, const yaml_event_t *event, size_t *index) {
  if (event->type != YAML_SCALAR_EVENT)
    return ath_fail(ATH_INVALID, "%s:%zu: a setting's name is wanted here", self->path,
                    line_of(event));
  const char *key = (const char *)event->data.scalar.value;
  for (*index = 0; *index < self->setting_count; ++*index)
    if (strcmp(self->settings[*index].name, key) == 0) break;
  if (*index == self->setting_count) return unknown_key(self, key, line_of(event));
  if (self->lines[*index] != 0)
    return ath_fail(ATH_INVALID, "%s:%zu: '%s' is given twice, first in line %zu", self->path,
                    line_of(event), key, self->lines[*index]);
  self->lines[*index] = line_of(event);
  return ATH_OK;
}

static ath_status read_value(reader *self, const ath_setting *s) {
  yaml_event_t event;
  ATH_TRY(next_event(self, &event));
  ath_status status;
  if (event.type != YAML_SCALAR_EVENT)
    status = ath_fail(ATH_INVALID, "%s:%zu: \"%s\" wants one value, not a list, a mapping or an "
                      "alias", self->path, line_of(&event), s->name);
  else
    status = store_value(self, s, &event);
  yaml_event_delete(&event);
  return status;
}

static ath_status read_mapping(reader *self) {
  for (size_t pairs = 0; pairs <= SETTINGS_MAX; pairs++) {
    yaml_event_t event;
    ATH_TRY(next_event(self, &event));
    bool over = event.type == YAML_MAPPING_END_EVENT;
    size_t index = 0;
    ath_status status = over ? ATH_OK : find_setting(self, &event, &index);
    yaml_event_delete(&event);
    if (over || status != ATH_OK) return status;
    ATH_TRY(read_value(self, &self->settings[index]));
  }
  return ath_fail(ATH_INTERNAL, "%s: more pairs than settings", self->path);
}

/* Takes the next event, which must be of this type. */
static ath_status expect(reader *self, yaml_event_type_t type) {
  yaml_event_t event;
  ATH_TRY(next_event(self, &event));
  yaml_event_type_t found = event.type;
  size_t line = line_of(&event);
  yaml_event_delete(&event);
  if (found == type) return ATH_OK;
  return ath_fail(ATH_INVALID, "%s:%zu: one mapping of settings is wanted (name: value)",
                  self->path, line);
}

static ath_status read_document(reader *self) {
  ATH_TRY(expect(self, YAML_STREAM_START_EVENT));
  ATH_TRY(expect(self, YAML_DOCUMENT_START_EVENT));
  ATH_TRY(expect(self, YAML_MAPPING_START_EVENT));
  ATH_TRY(read_mapping(self));
  ATH_TRY(expect(self, YAML_DOCUMENT_END_EVENT));
  return expect(self, YAML_STREAM_END_EVENT);
}

ath_status ath_train_options_read(ath_train_options *self, const char *path) {
  ath_buffer text = ath_buffer_make(YAML_BYTES_MAX);
  reader in = {.path = path, .options = self};
  in.settings = ath_train_settings(&in.setting_count);
  assert(in.setting_count <= SETTINGS_MAX);
  ath_status status = ath_file_read(path, &text);
  if (status == ATH_OK && memchr(text.bytes != NULL ? text.bytes : "", 0, text.length) != NULL)
    status = ath_fail(ATH_INVALID, "%s: holds a zero byte: not a text file", path);
  if (status == ATH_OK && !yaml_parser_initialize(&in.parser))
    status = ath_fail(ATH_NO_MEMORY, "%s: no memory", path);
  else if (status == ATH_OK) {
    const char *bytes = text.bytes != NULL ? text.bytes : "";
    yaml_parser_set_input_string(&in.parser, (const unsigned char *)bytes, text.length);
    status = read_document(&in);
    yaml_parser_delete(&in.parser);
  }
  ath_buffer_free(&text);
  return status;
}

ath_status ath_train_options_write(const ath_train_options *self, const char *path) {
  size_t count;
  const ath_setting *settings = ath_train_settings(&count);
  ath_buffer out = ath_buffer_make(YAML_BYTES_MAX);
  ath_status status = ath_buffer_string(&out, "# The settings of this run, as resolved.\n");
  for (size_t i = 0; i < count && status == ATH_OK; i++) {
    status = ath_buffer_format(&out, "%s: ", settings[i].name);
    if (status == ATH_OK) status = ath_train_setting_print(&settings[i], self, &out);
    if (status == ATH_OK) status = ath_buffer_byte(&out, '\n');
  }
  if (status == ATH_OK) status = ath_file_write(path, out.bytes, out.length);
  ath_buffer_free(&out);
  return status;
}
