/* run_file.c: a file of commands, read into the words of each. */
#include "cli/run_file.h"

#include <stdarg.h>
#include <string.h>
#include <yaml.h>

#include "base/buffer.h"
#include "base/nearest.h"
#include "storage/file.h"

enum { FILE_BYTES_MAX = 1 << 20, VALUE_BYTES_MAX = 1 << 16, MEMORY_MAX = 64 << 20 };

typedef struct variable {
  const char *name, *value;
  bool fixed; /* by the command line */
} variable;

typedef struct reader {
  ath_run_file *file;
  yaml_document_t document;
  variable variables[ATH_VARIABLES_MAX];
  size_t variable_count;
} reader;

/* --- nodes --------------------------------------------------------------------------------- */

static ath_status wrong(const reader *self, const yaml_node_t *node, const char *format, ...)
    ATH_PRINTF(3, 4);
static ath_status wrong(const reader *self, const yaml_node_t *node, const char *format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return ath_fail(ATH_INVALID, "%s:%zu: %s", self->file->path, node->start_mark.line + 1, text);
}

static yaml_node_t *node_of(reader *self, int index) {
  return yaml_document_get_node(&self->document, index);
}

static const char *text_of(const yaml_node_t *node) {
  return (const char *)node->data.scalar.value;
}

static bool is_plain(const yaml_node_t *node, const char *word) {
  return node->type == YAML_SCALAR_NODE && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
         strcasecmp(text_of(node), word) == 0;
}

static bool is_null(const yaml_node_t *node) {
  return is_plain(node, "") || is_plain(node, "~") || is_plain(node, "null");
}

/* Calls `take` for each pair of a mapping, whose keys are different texts. */
static ath_status each_pair(reader *self, const yaml_node_t *mapping, const char *what,
                            ath_status (*take)(reader *self, void *context, const yaml_node_t *key,
                                               const yaml_node_t *value),
                            void *context) {
  if (mapping->type != YAML_MAPPING_NODE)
    return wrong(self, mapping, "%s wants names with values (name: value)", what);
  const yaml_node_pair_t *first = mapping->data.mapping.pairs.start;
  const yaml_node_pair_t *end = mapping->data.mapping.pairs.top;
  if (end - first > ATH_STAGE_WORDS_MAX)
    return wrong(self, mapping, "%s has more than %d names", what, ATH_STAGE_WORDS_MAX);
  for (const yaml_node_pair_t *pair = first; pair < end; pair++) {
    yaml_node_t *key = node_of(self, pair->key);
    if (key->type != YAML_SCALAR_NODE) return wrong(self, key, "a name is wanted here");
    for (const yaml_node_pair_t *before = first; before < pair; before++)
      if (strcmp(text_of(node_of(self, before->key)), text_of(key)) == 0)
        return wrong(self, key, "'%.60s' is given twice", text_of(key));
    ATH_TRY(take(self, context, key, node_of(self, pair->value)));
  }
  return ATH_OK;
}

/* --- variables ----------------------------------------------------------------------------- */

static variable *find_variable(reader *self, const char *name, size_t length) {
  for (size_t i = 0; i < self->variable_count; i++)
    if (strlen(self->variables[i].name) == length &&
        memcmp(self->variables[i].name, name, length) == 0)
      return &self->variables[i];
  return NULL;
}

static ath_status add_variable(reader *self, const char *name, size_t length, const char *value,
                               bool fixed) {
  variable *there = find_variable(self, name, length);
  if (there != NULL) return ATH_OK; /* the command line's, which comes first */
  if (self->variable_count == ATH_VARIABLES_MAX)
    return ath_fail(ATH_INVALID, "%s: more than %d variables", self->file->path,
                    ATH_VARIABLES_MAX);
  char *copy = ath_arena_string_n(self->file->memory, name, length);
  if (copy == NULL || value == NULL) return ATH_NO_MEMORY;
  self->variables[self->variable_count++] = (variable){copy, value, fixed};
  return ATH_OK;
}

static ath_status unknown_variable(reader *self, const yaml_node_t *node, const char *name,
                                   size_t length) {
  const char *names[ATH_VARIABLES_MAX];
  char text[64];
  snprintf(text, sizeof text, "%.*s", (int)(length < 60 ? length : 60), name);
  for (size_t i = 0; i < self->variable_count; i++) names[i] = self->variables[i].name;
  const char *near = ath_nearest(text, names, self->variable_count);
  return wrong(self, node, "no variable '%s'%s%s%s", text, near != NULL ? "; did you mean '" : "",
               near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* The text with ${name} replaced, once: what replaces it is not looked at again. */
static ath_status expand_into(reader *self, const yaml_node_t *node, ath_buffer *out) {
  const char *text = text_of(node);
  for (const char *next; (next = strstr(text, "${")) != NULL;) {
    const char *name = next + 2, *end = strchr(name, '}');
    if (end == NULL) return wrong(self, node, "\"%.60s\" has no closing }", next);
    const variable *found = find_variable(self, name, (size_t)(end - name));
    if (found == NULL) return unknown_variable(self, node, name, (size_t)(end - name));
    ATH_TRY(ath_buffer_append(out, text, (size_t)(next - text)));
    ATH_TRY(ath_buffer_string(out, found->value));
    text = end + 1;
  }
  return ath_buffer_string(out, text);
}

static ath_status expand(reader *self, const yaml_node_t *node, char **out) {
  ath_buffer text = ath_buffer_make(VALUE_BYTES_MAX);
  ath_status status = expand_into(self, node, &text);
  if (status == ATH_OK) {
    *out = ath_arena_string(self->file->memory, text.bytes);
    if (*out == NULL) status = ATH_NO_MEMORY;
  }
  ath_buffer_free(&text);
  return status;
}

static ath_status take_variable(reader *self, void *context, const yaml_node_t *key,
                                const yaml_node_t *value) {
  (void)context;
  char *text;
  if (value->type != YAML_SCALAR_NODE)
    return wrong(self, value, "the variable '%.60s' wants one value", text_of(key));
  ATH_TRY(expand(self, value, &text));
  return add_variable(self, text_of(key), strlen(text_of(key)), text, false);
}

/* Of "name=value"s on the command line, those that no value could use. */
static ath_status check_settings(reader *self, const yaml_node_t *variables) {
  for (size_t i = 0; i < self->variable_count; i++) {
    const variable *given = &self->variables[i];
    bool there = !given->fixed || strcmp(given->name, "output_dir") == 0;
    if (!there && variables != NULL && variables->type == YAML_MAPPING_NODE)
      for (const yaml_node_pair_t *pair = variables->data.mapping.pairs.start;
           pair < variables->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = node_of(self, pair->key);
        there |= key->type == YAML_SCALAR_NODE && strcmp(text_of(key), given->name) == 0;
      }
    if (!there)
      return ath_fail(ATH_USAGE, "--set %s: %s has no such variable", given->name,
                      self->file->path);
  }
  return ATH_OK;
}

/* --- stages -------------------------------------------------------------------------------- */

static ath_status add_word(reader *self, ath_stage *stage, const yaml_node_t *node, char *word) {
  if (word == NULL) return ATH_NO_MEMORY;
  if (stage->count == ATH_STAGE_WORDS_MAX)
    return wrong(self, node, "'%s' has more than %d words", stage->name, ATH_STAGE_WORDS_MAX);
  stage->words[stage->count++] = word;
  return ATH_OK;
}

/* "vocab_size" → "--vocab-size" */
static char *option_word(reader *self, const char *prefix, const char *name) {
  ath_buffer text = ath_buffer_make(VALUE_BYTES_MAX);
  char *word = NULL;
  if (ath_buffer_format(&text, "%s%s", prefix, name) == ATH_OK) {
    for (char *c = text.bytes; *c != '\0'; c++) *c = *c == '_' ? '-' : *c;
    word = ath_arena_string(self->file->memory, text.bytes);
  }
  ath_buffer_free(&text);
  return word;
}

static ath_status add_value(reader *self, ath_stage *stage, const yaml_node_t *key,
                            const yaml_node_t *value) {
  bool operand = strcmp(text_of(key), "arguments") == 0;
  char *text;
  if (value->type != YAML_SCALAR_NODE)
    return wrong(self, value, "'%.60s' wants a value or a list of values", text_of(key));
  if (!operand && (is_plain(value, "true") || is_plain(value, "false")))
    return add_word(self, stage, value, option_word(self, is_plain(value, "true") ? "--" : "--no-",
                                                    text_of(key)));
  ATH_TRY(expand(self, value, &text));
  if (!operand) ATH_TRY(add_word(self, stage, key, option_word(self, "--", text_of(key))));
  return add_word(self, stage, value, text);
}

static ath_status add_values(reader *self, ath_stage *stage, const yaml_node_t *key,
                             const yaml_node_t *value) {
  if (value->type != YAML_SEQUENCE_NODE)
    return is_null(value) ? ATH_OK : add_value(self, stage, key, value);
  for (const yaml_node_item_t *item = value->data.sequence.items.start;
       item < value->data.sequence.items.top; item++)
    ATH_TRY(add_value(self, stage, key, node_of(self, *item)));
  return ATH_OK;
}

static ath_status take_option(reader *self, void *context, const yaml_node_t *key,
                              const yaml_node_t *value) {
  if (strcmp(text_of(key), "arguments") == 0) return ATH_OK; /* they come last */
  return add_values(self, context, key, value);
}

static ath_status take_arguments(reader *self, void *context, const yaml_node_t *key,
                                 const yaml_node_t *value) {
  ath_stage *stage = context;
  if (strcmp(text_of(key), "arguments") != 0) return ATH_OK;
  ATH_TRY(add_word(self, stage, key, ath_arena_string(self->file->memory, "--")));
  return add_values(self, stage, key, value);
}

static ath_status add_name(reader *self, ath_stage *stage, const yaml_node_t *key) {
  for (const char *word = stage->name; *word != '\0';) {
    size_t length = strcspn(word, " ");
    ATH_TRY(add_word(self, stage, key, ath_arena_string_n(self->file->memory, word, length)));
    word += length + strspn(word + length, " ");
  }
  if (stage->count == 0 || strcmp(stage->words[0], "run") == 0)
    return wrong(self, key, "a stage is a command other than run");
  return ATH_OK;
}

static ath_status take_stage(reader *self, void *context, const yaml_node_t *key,
                             const yaml_node_t *value) {
  ath_stage *stage = context;
  if (stage->name != NULL)
    return wrong(self, key, "a stage is one command; put \"- \" before '%.60s'", text_of(key));
  stage->line = key->start_mark.line + 1;
  stage->name = ath_arena_string(self->file->memory, text_of(key));
  if (stage->name == NULL) return ATH_NO_MEMORY;
  ATH_TRY(add_name(self, stage, key));
  if (is_null(value)) return ATH_OK;
  ATH_TRY(each_pair(self, value, stage->name, take_option, stage));
  return each_pair(self, value, stage->name, take_arguments, stage);
}

static ath_status read_stages(reader *self, const yaml_node_t *list) {
  if (list->type != YAML_SEQUENCE_NODE)
    return wrong(self, list, "stages wants a list of commands (\"- tokenizer train:\")");
  size_t count = (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
  if (count == 0 || count > ATH_STAGES_MAX)
    return wrong(self, list, "there are %zu stages; between 1 and %d are possible", count,
                 ATH_STAGES_MAX);
  self->file->stages = ath_arena_alloc(self->file->memory, count * sizeof *self->file->stages);
  if (self->file->stages == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < count; i++) {
    const yaml_node_t *node = node_of(self, list->data.sequence.items.start[i]);
    ath_stage *stage = &self->file->stages[self->file->count++];
    ATH_TRY(each_pair(self, node, "a stage", take_stage, stage));
    if (stage->name == NULL) return wrong(self, node, "a stage without a command");
  }
  return ATH_OK;
}

/* --- the file ------------------------------------------------------------------------------ */

typedef struct parts {
  const yaml_node_t *output_dir, *variables, *stages;
} parts;

static ath_status take_part(reader *self, void *context, const yaml_node_t *key,
                            const yaml_node_t *value) {
  static const char *const names[] = {"output_dir", "variables", "stages"};
  parts *found = context;
  if (strcmp(text_of(key), names[0]) == 0) found->output_dir = value;
  else if (strcmp(text_of(key), names[1]) == 0) found->variables = value;
  else if (strcmp(text_of(key), names[2]) == 0) found->stages = value;
  else
    return wrong(self, key, "unknown key '%.60s'; a run file has output_dir, variables and stages "
                 "(a file of settings is for athanor train --config)", text_of(key));
  return ATH_OK;
}

static ath_status read_root(reader *self) {
  yaml_node_t *root = yaml_document_get_root_node(&self->document);
  parts found = {0};
  char *output_dir = NULL;
  if (root == NULL) return ath_fail(ATH_INVALID, "%s: empty", self->file->path);
  ATH_TRY(each_pair(self, root, "a run file", take_part, &found));
  if (found.stages == NULL) return wrong(self, root, "stages is missing");
  ATH_TRY(check_settings(self, found.variables));
  if (find_variable(self, "output_dir", 10) == NULL) {
    if (found.output_dir == NULL || found.output_dir->type != YAML_SCALAR_NODE)
      return wrong(self, root, "output_dir is missing: the folder that gets run.json");
    ATH_TRY(expand(self, found.output_dir, &output_dir));
    ATH_TRY(add_variable(self, "output_dir", 10, output_dir, false));
  }
  self->file->output_dir = find_variable(self, "output_dir", 10)->value;
  if (found.variables != NULL && !is_null(found.variables))
    ATH_TRY(each_pair(self, found.variables, "variables", take_variable, NULL));
  return read_stages(self, found.stages);
}

static ath_status add_settings(reader *self, const char *output_dir, const char *const *settings,
                               size_t count) {
  if (output_dir != NULL) ATH_TRY(add_variable(self, "output_dir", 10, output_dir, true));
  for (size_t i = 0; i < count; i++) {
    const char *equals = strchr(settings[i], '=');
    if (equals == NULL || equals == settings[i])
      return ath_fail(ATH_USAGE, "--set wants NAME=VALUE, not \"%s\"", settings[i]);
    ATH_TRY(add_variable(self, settings[i], (size_t)(equals - settings[i]), equals + 1, true));
  }
  return ATH_OK;
}

static ath_status parse(reader *self, const ath_buffer *text) {
  yaml_parser_t parser;
  const char *bytes = text->bytes != NULL ? text->bytes : "";
  if (!yaml_parser_initialize(&parser))
    return ath_fail(ATH_NO_MEMORY, "%s: no memory", self->file->path);
  yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, text->length);
  ath_status status = ATH_OK;
  if (!yaml_parser_load(&parser, &self->document)) {
    status = ath_fail(ATH_INVALID, "%s:%zu: not valid YAML: %s", self->file->path,
                      parser.problem_mark.line + 1,
                      parser.problem != NULL ? parser.problem : "it cannot be read");
  } else {
    status = read_root(self);
    yaml_document_delete(&self->document);
  }
  yaml_parser_delete(&parser);
  return status;
}

ath_status ath_run_file_read(const char *path, const char *output_dir,
                             const char *const *settings, size_t count, ath_run_file *out) {
  *out = (ath_run_file){.path = path};
  reader self = {.file = out};
  ath_buffer text = ath_buffer_make(FILE_BYTES_MAX);
  ath_status status = ath_arena_create(MEMORY_MAX, &out->memory);
  if (status == ATH_OK) status = add_settings(&self, output_dir, settings, count);
  if (status == ATH_OK) status = ath_file_read(path, &text);
  if (status == ATH_OK && text.length > 0 && memchr(text.bytes, 0, text.length) != NULL)
    status = ath_fail(ATH_INVALID, "%s: holds a zero byte: not a text file", path);
  if (status == ATH_OK) status = parse(&self, &text);
  ath_buffer_free(&text);
  return status;
}

void ath_run_file_free(ath_run_file *self) {
  ath_arena_destroy(self->memory);
  *self = (ath_run_file){0};
}
