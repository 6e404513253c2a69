/* jsonl.c: a JSON object on each line. The faults of a line that is none are told by jansson. */
#include <jansson.h>
#include <string.h>

#include "readers/json_row.h"
#include "readers/source.h"

enum { MEMBERS = 2, NAMES_TEXT_MAX = 200 };

static const char *text_name(const ath_source *self) {
  return self->reading->text_column != NULL ? self->reading->text_column : "text";
}

/* --- what is wrong ------------------------------------------------------------------------- */

#define ARRAY_ADVICE                                                                         \
  "; of a file that is one array, not an object on each line, --sql \"SELECT text FROM "     \
  "read_json('…')\" takes the rows"

static ath_status fail_malformed(const ath_source *self, const ath_line *line) {
  json_error_t error = {.position = 0};
  bool array = line->number == 1 && *line->bytes == '[';
  json_t *value = json_loadb(line->bytes, line->length, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
  if (value == NULL)
    return ath_source_blame(self, line, (size_t)error.position,
                            ath_fail(ATH_INVALID, "not JSON: %s%s", error.text,
                                     array ? ARRAY_ADVICE : ""));
  bool object = json_is_object(value);
  json_decref(value);
  return ath_source_blame(self, line, 0, ath_fail(ATH_INVALID, "%s%s", object ? "nested too deeply"
                          : "each line is to be an object of JSON, in { }",
                          array ? ARRAY_ADVICE : ""));
}

/* The names that there are, for who mistyped one. */
static ath_status fail_absent(const ath_source *self, const ath_line *line, const char *name,
                              const char *option) {
  char names[NAMES_TEXT_MAX] = "none";
  size_t n = 0;
  const char *key;
  json_t *member, *row = json_loadb(line->bytes, line->length, JSON_ALLOW_NUL, NULL);
  json_object_foreach(row, key, member)
    if (n < sizeof names)
      n += (size_t)snprintf(names + n, sizeof names - n, "%s\"%s\"", n > 0 ? ", " : "", key);
  json_decref(row);
  return ath_source_blame(self, line, 0, ath_fail(
      ATH_INVALID, "the object has no member \"%s\"; there are: %s; %s names another", name, names,
      option));
}

/* --- reading ------------------------------------------------------------------------------- */

static ath_status check_text(const ath_source *self, const ath_line *line,
                             const ath_json_member *text) {
  if (text->kind == ATH_JSON_STRING) return ATH_OK;
  if (text->kind == ATH_JSON_ABSENT) return fail_absent(self, line, text->name, "--text-column");
  return ath_source_blame(self, line, (size_t)(text->bytes - line->bytes), ath_fail(
      ATH_INVALID, "the member \"%s\" is no string", text->name));
}

static ath_status next(ath_source *self, ath_document *out) {
  ath_line line;
  do ATH_TRY(ath_lines_next(self->lines, &line));
  while (line.bytes != NULL && ath_source_is_blank(&line));
  if (line.bytes == NULL) return ATH_OK;
  const char *label = self->reading->label_column;
  ath_json_member members[MEMBERS] = {
    {.name = text_name(self), .name_length = strlen(text_name(self)), .room = &self->text},
    {.name = label, .name_length = label != NULL ? strlen(label) : 0, .room = &self->label}};
  bool good;
  ATH_TRY(ath_json_row(line.bytes, line.length, members, label != NULL ? 2 : 1, &self->scratch,
                       &good));
  if (!good) return fail_malformed(self, &line);
  ATH_TRY(check_text(self, &line, &members[0]));
  if (label != NULL && members[1].kind == ATH_JSON_ABSENT)
    return fail_absent(self, &line, label, "--label-column");
  *out = (ath_document){.text = members[0].bytes, .length = members[0].length,
                        .place = {.at = line.at, .line = line.number},
                        .next = {.at = line.next, .line = line.number + 1}};
  if (label != NULL && members[1].kind != ATH_JSON_NULL) {
    out->label = members[1].bytes;
    out->label_length = members[1].length;
  }
  return ATH_OK;
}

const ath_reader ath_jsonl_reader = {"line", ath_source_open_lines, ath_source_seek_line, next};
