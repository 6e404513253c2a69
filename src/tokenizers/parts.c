/* parts.c: a part of any role in and out of tokenizer.json: by its "type", without members of its
 * own, or as a sequence of others. */
#include <string.h>

#include "tokenizers/pipeline.h"

/* --- one part ------------------------------------------------------------------------------ */

/* "Replace, Sequence", for the error that an unknown type gets. */
static void list_names(const ath_kinds *kinds, char *text, size_t room) {
  text[0] = '\0';
  for (size_t i = 0; i < kinds->count; i++) {
    size_t used = strlen(text);
    snprintf(text + used, room - used, "%s%s", i > 0 ? ", " : "", kinds->items[i]->name);
  }
}

static ath_status find_kind(const ath_json *json, const ath_kinds *kinds, const ath_kind **out) {
  ATH_TRY(ath_json_object(json));
  ath_json type = ath_json_member(json, "type");
  const char *name;
  size_t length;
  ATH_TRY(ath_json_string(&type, &name, &length));
  for (size_t i = 0; i < kinds->count; i++) {
    if (strcmp(kinds->items[i]->name, name) != 0) continue;
    assert(kinds->items[i]->read != NULL && kinds->items[i]->write != NULL);
    *out = kinds->items[i];
    return ATH_OK;
  }
  char names[512];
  assert(kinds->count > 0);
  list_names(kinds, names, sizeof names);
  return ath_json_fail(&type, ATH_UNSUPPORTED, "\"%.60s\" is not supported yet (supported: %s)",
                       name, names);
}

ath_status ath_part_read(const ath_json *json, const ath_kinds *kinds, ath_arena *arena,
                         ath_part *out) {
  void *data;
  ATH_TRY(find_kind(json, kinds, &out->kind));
  ATH_TRY(out->kind->read(json, arena, &data));
  assert(data != NULL);
  out->data = data;
  return ATH_OK;
}

void ath_part_write(const char *key, ath_part part, ath_json_writer *out) {
  ath_json_open(out, key, '{');
  ath_json_put_text(out, "type", part.kind->name);
  part.kind->write(part.data, out);
  ath_json_close(out, '}');
}

ath_status ath_read_nothing(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", NULL};
  static char nothing;
  (void)arena;
  ath_json_check_keys(json, known);
  *data = &nothing;
  return ATH_OK;
}

void ath_write_nothing(const void *data, ath_json_writer *out) { (void)data, (void)out; }

/* --- sequences ----------------------------------------------------------------------------- */

enum { NESTING_MAX = 16 };

/* Reading and applying go down as deep as the file does, so that depth is limited. A sequence adds
 * two levels to the path: the list and its item. */
static ath_status check_nesting(const ath_json *json) {
  int depth = 0;
  for (const ath_json *j = json; j != NULL; j = j->parent) depth++;
  if (depth > 2 * NESTING_MAX)
    return ath_json_fail(json, ATH_INVALID, "sequences nested more than %d deep", NESTING_MAX);
  return ATH_OK;
}

ath_status ath_sequence_read(const ath_json *json, const char *key, const ath_kinds *kinds,
                             ath_arena *arena, void **data) {
  const char *const known[] = {"type", key, NULL};
  ath_json_check_keys(json, known);
  ATH_TRY(check_nesting(json));
  ath_json list = ath_json_member(json, key);
  size_t count;
  ATH_TRY(ath_json_array(&list, &count));
  ath_sequence *self = ath_arena_alloc(arena, sizeof *self + count * sizeof *self->items);
  if (self == NULL) return ATH_NO_MEMORY;
  self->count = count;
  for (size_t i = 0; i < count; i++) {
    ath_json item = ath_json_item(&list, i);
    ATH_TRY(ath_part_read(&item, kinds, arena, &self->items[i]));
  }
  *data = self;
  return ATH_OK;
}

void ath_sequence_write(const ath_sequence *self, const char *key, ath_json_writer *out) {
  ath_json_open(out, key, '[');
  for (size_t i = 0; i < self->count; i++) ath_part_write(NULL, self->items[i], out);
  ath_json_close(out, ']');
}

const ath_sequence *ath_part_sequence(ath_part part) {
  return strcmp(part.kind->name, "Sequence") == 0 ? part.data : NULL;
}
