/* template.c: the post-processor that puts special tokens around the text's own.
 *
 * {"type": "TemplateProcessing",
 *  "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
 *             {"Sequence": {"id": "A", "type_id": 0}}, …],
 *  "pair": […],
 *  "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [0], "tokens": ["[CLS]"]}, …}} */
#include <stdlib.h>
#include <string.h>

#include "tokenizers/post_processors/kinds.h"

enum { SPECIAL = -1, TYPE_ID_MAX = INT32_MAX };

/* A name used in the templates, and the tokens that it stands for: nearly always one. */
typedef struct special {
  const char *name;
  int32_t *ids;
  const char **texts;
  size_t count;
} special;

typedef struct part {
  int sequence; /* 'A', 'B', or SPECIAL */
  const char *name;
  int32_t type_id;
  const special *token; /* when it is SPECIAL */
} part;

typedef struct parts {
  part *items;
  size_t count;
} parts;

typedef struct template {
  parts single, pair;
  special *tokens; /* sorted by name, as they are written */
  size_t token_count;
} template;

/* --- tokenizer.json ------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b) {
  return strcmp(((const special *)a)->name, ((const special *)b)->name);
}

/* Names are kept as C strings, so they may not hold a NUL. */
static ath_status copy_string(const ath_json *json, ath_arena *arena, const char **out) {
  const char *bytes;
  size_t length;
  ATH_TRY(ath_json_string(json, &bytes, &length));
  if (strlen(bytes) != length)
    return ath_json_fail(json, ATH_INVALID, "a token's name cannot hold a NUL");
  *out = ath_arena_string_n(arena, bytes, length);
  return *out != NULL ? ATH_OK : ATH_NO_MEMORY;
}

/* One member of "special_tokens". */
static ath_status read_token(const ath_json *json, ath_arena *arena, special *out) {
  ATH_TRY(ath_json_object(json));
  ath_json name = ath_json_member(json, "id");
  ath_json ids = ath_json_member(json, "ids"), tokens = ath_json_member(json, "tokens");
  ATH_TRY(copy_string(&name, arena, &out->name));
  if (strcmp(out->name, json->key) != 0)
    return ath_json_fail(&name, ATH_INVALID, "expected the key's own name, found \"%s\"",
                         out->name);
  size_t token_count;
  ATH_TRY(ath_json_array(&ids, &out->count));
  ATH_TRY(ath_json_array(&tokens, &token_count));
  if (token_count != out->count)
    return ath_json_fail(&tokens, ATH_INVALID, "%zu tokens for %zu ids", token_count, out->count);
  out->ids = ath_arena_alloc(arena, out->count * sizeof *out->ids);
  out->texts = ath_arena_alloc(arena, out->count * sizeof *out->texts);
  if (out->ids == NULL || out->texts == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < out->count; i++) {
    ath_json id = ath_json_item(&ids, i), text = ath_json_item(&tokens, i);
    int64_t value;
    ATH_TRY(ath_json_integer(&id, 0, INT32_MAX - 1, &value));
    out->ids[i] = (int32_t)value;
    ATH_TRY(copy_string(&text, arena, &out->texts[i]));
  }
  return ATH_OK;
}

/* Sorted, so that names are found by halves, and written as the reference writes a map. */
static ath_status read_tokens(const ath_json *json, ath_arena *arena, template *self) {
  ATH_TRY(ath_json_object(json));
  size_t count = json_object_size(json->value);
  self->tokens = ath_arena_alloc(arena, count * sizeof *self->tokens);
  if (self->tokens == NULL) return ATH_NO_MEMORY;
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)json->value, key, value) {
    ath_json token = {.value = value, .parent = json, .key = key};
    ATH_TRY(read_token(&token, arena, &self->tokens[self->token_count++]));
  }
  assert(self->token_count == count);
  qsort(self->tokens, count, sizeof *self->tokens, compare_names);
  return ATH_OK;
}

static ath_status read_special_part(const ath_json *json, ath_arena *arena, const template *self,
                               part *out) {
  ath_json id = ath_json_member(json, "id");
  ATH_TRY(copy_string(&id, arena, &out->name));
  special wanted = {.name = out->name};
  out->sequence = SPECIAL;
  if (self->token_count > 0)
    out->token = bsearch(&wanted, self->tokens, self->token_count, sizeof wanted, compare_names);
  if (out->token == NULL)
    return ath_json_fail(&id, ATH_INVALID, "\"%s\" is not in post_processor.special_tokens",
                         out->name);
  return ATH_OK;
}

static ath_status read_sequence_part(const ath_json *json, ath_arena *arena, part *out) {
  ath_json id = ath_json_member(json, "id");
  ATH_TRY(copy_string(&id, arena, &out->name));
  if (strcmp(out->name, "A") != 0 && strcmp(out->name, "B") != 0)
    return ath_json_fail(&id, ATH_INVALID, "expected A or B, found \"%s\"", out->name);
  out->sequence = out->name[0];
  return ATH_OK;
}

/* {"SpecialToken": {…}} or {"Sequence": {…}} */
static ath_status read_part(const ath_json *json, ath_arena *arena, const template *self,
                            part *out) {
  ATH_TRY(ath_json_object(json));
  ath_json token = ath_json_member(json, "SpecialToken");
  ath_json sequence = ath_json_member(json, "Sequence");
  if ((token.value == NULL) == (sequence.value == NULL))
    return ath_json_fail(json, ATH_INVALID, "expected either SpecialToken or Sequence");
  const ath_json *body = token.value != NULL ? &token : &sequence;
  ATH_TRY(ath_json_object(body));
  ath_json type = ath_json_member(body, "type_id");
  int64_t type_id;
  ATH_TRY(ath_json_integer(&type, 0, TYPE_ID_MAX, &type_id));
  out->type_id = (int32_t)type_id;
  if (body == &token) return read_special_part(body, arena, self, out);
  return read_sequence_part(body, arena, out);
}

static ath_status read_parts(const ath_json *json, ath_arena *arena, const template *self,
                             parts *out) {
  ATH_TRY(ath_json_array(json, &out->count));
  out->items = ath_arena_alloc(arena, out->count * sizeof *out->items);
  if (out->items == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < out->count; i++) {
    ath_json item = ath_json_item(json, i);
    ATH_TRY(read_part(&item, arena, self, &out->items[i]));
  }
  return ATH_OK;
}

static ath_status check_single(const ath_json *json, const parts *self) {
  for (size_t i = 0; i < self->count; i++)
    if (self->items[i].sequence == 'B')
      return ath_json_fail(json, ATH_INVALID, "a template for one text cannot use $B");
  return ATH_OK;
}

static ath_status read(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "single", "pair", "special_tokens", NULL};
  ath_json_check_keys(json, known);
  template *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json tokens = ath_json_member(json, "special_tokens");
  ath_json single = ath_json_member(json, "single"), pair = ath_json_member(json, "pair");
  ATH_TRY(read_tokens(&tokens, arena, self));
  ATH_TRY(read_parts(&single, arena, self, &self->single));
  ATH_TRY(check_single(&single, &self->single));
  ATH_TRY(read_parts(&pair, arena, self, &self->pair));
  *data = self;
  return ATH_OK;
}

/* In the order of the file, though its maps are sorted. */
static void write_parts(const parts *self, const char *key, ath_json_writer *out) {
  ath_json_open(out, key, '[');
  for (size_t i = 0; i < self->count; i++) {
    const part *p = &self->items[i];
    ath_json_open(out, NULL, '{');
    ath_json_open(out, p->sequence == SPECIAL ? "SpecialToken" : "Sequence", '{');
    ath_json_put_text(out, "id", p->name);
    ath_json_put_integer(out, "type_id", p->type_id);
    ath_json_close(out, '}');
    ath_json_close(out, '}');
  }
  ath_json_close(out, ']');
}

static void write_token(const special *self, ath_json_writer *out) {
  ath_json_open(out, self->name, '{');
  ath_json_put_text(out, "id", self->name);
  ath_json_open(out, "ids", '[');
  for (size_t i = 0; i < self->count; i++) ath_json_put_integer(out, NULL, self->ids[i]);
  ath_json_close(out, ']');
  ath_json_open(out, "tokens", '[');
  for (size_t i = 0; i < self->count; i++) ath_json_put_text(out, NULL, self->texts[i]);
  ath_json_close(out, ']');
  ath_json_close(out, '}');
}

static void write(const void *data, ath_json_writer *out) {
  const template *self = data;
  write_parts(&self->single, "single", out);
  write_parts(&self->pair, "pair", out);
  ath_json_open(out, "special_tokens", '{');
  for (size_t i = 0; i < self->token_count; i++) write_token(&self->tokens[i], out);
  ath_json_close(out, '}');
}

/* --- laying out ---------------------------------------------------------------------------- */

/* Parts of the new layout: a group of the old one for each $A or $B, a part for each token. */
static size_t count_parts(const parts *self, const ath_layout *old) {
  size_t count = 0;
  for (size_t i = 0; i < self->count; i++)
    count += self->items[i].sequence == SPECIAL ? self->items[i].token->count : old->count;
  return count;
}

static void put_special(const part *p, ath_layout *out) {
  for (size_t i = 0; i < p->token->count; i++)
    out->parts[out->count++] = (ath_layout_part){
      .sequence = ATH_SPECIAL, .type_id = p->type_id, .id = p->token->ids[i],
      .text = p->token->texts[i], .length = strlen(p->token->texts[i]), .joined = i > 0};
}

/* Copies the group of that number. */
static void put_group(const part *p, const ath_layout *old, ath_layout *out) {
  int wanted = p->sequence - 'A', group = -1;
  for (size_t i = 0; i < old->count; i++) {
    group += !old->parts[i].joined;
    if (group != wanted) continue;
    out->parts[out->count] = old->parts[i];
    out->parts[out->count++].type_id = p->type_id;
  }
}

static ath_status lay_out(const void *data, ath_arena *arena, bool with_special,
                          ath_layout *layout) {
  const template *self = data;
  int groups = 0;
  for (size_t i = 0; i < layout->count; i++) groups += !layout->parts[i].joined;
  if (groups != 1 && groups != 2)
    return ath_fail(ATH_UNSUPPORTED, "post_processor: a TemplateProcessing that follows another "
                    "gets %d sequences; it can take one or two", groups);
  const parts *chosen = groups == 1 ? &self->single : &self->pair;
  ath_layout out = {0};
  out.parts = ath_arena_alloc(arena, (count_parts(chosen, layout) + 1) * sizeof *out.parts);
  if (out.parts == NULL) return ATH_NO_MEMORY;
  for (size_t i = 0; i < chosen->count; i++) {
    const part *p = &chosen->items[i];
    if (p->sequence != SPECIAL) put_group(p, layout, &out);
    else if (with_special) put_special(p, &out);
  }
  *layout = out;
  return ATH_OK;
}

const ath_post_processor_kind ath_post_processor_template = {
    {"TemplateProcessing", read, write}, lay_out};
