/* bert.c: the post-processors that put one token before the first text and one after each:
 * [CLS] A [SEP] B [SEP], and <s> A </s> </s> B </s>.
 *
 * {"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
 * {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": true,
 *  "add_prefix_space": false} */
#include <string.h>

#include "tokenizers/post_processors/kinds.h"
#include "tokenizers/post_processors/trim.h"

typedef struct token {
  const char *text;
  size_t length;
  int32_t id;
} token;

typedef struct processing {
  token sep, cls;
  bool roberta, trim_offsets, add_prefix_space;
} processing;

/* --- tokenizer.json ------------------------------------------------------------------------ */

/* ["[SEP]", 102] */
static ath_status read_token(const ath_json *json, ath_arena *arena, token *out) {
  size_t count;
  ATH_TRY(ath_json_array(json, &count));
  if (count != 2)
    return ath_json_fail(json, ATH_INVALID, "expected [token, id], found %zu values", count);
  ath_json text = ath_json_item(json, 0), number = ath_json_item(json, 1);
  const char *bytes;
  int64_t id;
  ATH_TRY(ath_json_string(&text, &bytes, &out->length));
  ATH_TRY(ath_json_integer(&number, 0, INT32_MAX - 1, &id));
  out->id = (int32_t)id;
  out->text = ath_arena_string_n(arena, bytes, out->length);
  return out->text != NULL ? ATH_OK : ATH_NO_MEMORY;
}

static ath_status read_tokens(const ath_json *json, ath_arena *arena, processing **out) {
  processing *self = ath_arena_alloc(arena, sizeof *self);
  if (self == NULL) return ATH_NO_MEMORY;
  ath_json sep = ath_json_member(json, "sep"), cls = ath_json_member(json, "cls");
  ATH_TRY(read_token(&sep, arena, &self->sep));
  ATH_TRY(read_token(&cls, arena, &self->cls));
  *out = self;
  return ATH_OK;
}

static ath_status read_bert(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "sep", "cls", NULL};
  ath_json_check_keys(json, known);
  processing *self;
  ATH_TRY(read_tokens(json, arena, &self));
  *data = self;
  return ATH_OK;
}

static ath_status read_roberta(const ath_json *json, ath_arena *arena, void **data) {
  static const char *const known[] = {"type", "sep", "cls", "trim_offsets", "add_prefix_space",
                                      NULL};
  ath_json_check_keys(json, known);
  processing *self;
  ATH_TRY(read_tokens(json, arena, &self));
  self->roberta = self->trim_offsets = self->add_prefix_space = true;
  ath_json trim = ath_json_member(json, "trim_offsets");
  ath_json prefix = ath_json_member(json, "add_prefix_space");
  ATH_TRY(ath_json_flag(&trim, &self->trim_offsets));
  ATH_TRY(ath_json_flag(&prefix, &self->add_prefix_space));
  *data = self;
  return ATH_OK;
}

static void write_token(const char *key, const token *self, ath_json_writer *out) {
  ath_json_open(out, key, '[');
  ath_json_put_string(out, NULL, self->text, self->length);
  ath_json_put_integer(out, NULL, self->id);
  ath_json_close(out, ']');
}

static void write(const void *data, ath_json_writer *out) {
  const processing *self = data;
  write_token("sep", &self->sep, out);
  write_token("cls", &self->cls, out);
  if (!self->roberta) return;
  ath_json_put_flag(out, "trim_offsets", self->trim_offsets);
  ath_json_put_flag(out, "add_prefix_space", self->add_prefix_space);
}

/* --- laying out ---------------------------------------------------------------------------- */

static ath_layout_part special_part(const token *t, int32_t type_id, bool joined) {
  return (ath_layout_part){.sequence = ATH_SPECIAL, .type_id = type_id, .id = t->id,
                           .text = t->text, .length = t->length, .joined = joined};
}

/* Puts the tokens around each group. BERT has the second text's as type 1; RoBERTa has no types,
 * and its separator on both sides of the second text. */
static ath_status surround(const processing *self, ath_arena *arena, ath_layout *layout) {
  ath_layout out = {0};
  out.parts = ath_arena_alloc(arena, 3 * (layout->count + 1) * sizeof *out.parts);
  if (out.parts == NULL) return ATH_NO_MEMORY;
  int group = 0;
  for (size_t i = 0; i < layout->count; group++) {
    bool before = group == 0 || self->roberta;
    const token *opening = group == 0 ? &self->cls : &self->sep;
    if (before) out.parts[out.count++] = special_part(opening, 0, false);
    for (size_t first = i; i < layout->count && (i == first || layout->parts[i].joined); i++) {
      out.parts[out.count] = layout->parts[i];
      out.parts[out.count++].joined = before || i > first;
    }
    int32_t type_id = group == 0 || self->roberta ? 0 : 1;
    out.parts[out.count++] = special_part(&self->sep, type_id, true);
  }
  *layout = out;
  return ATH_OK;
}

static ath_status lay_out(const void *data, ath_arena *arena, bool special, ath_layout *layout) {
  const processing *self = data;
  if (self->roberta && self->trim_offsets)
    ATH_TRY(ath_layout_add_trim(layout, self->add_prefix_space));
  for (size_t i = 0; i < layout->count && self->roberta; i++) layout->parts[i].type_id = 0;
  return special ? surround(self, arena, layout) : ATH_OK;
}

const ath_post_processor_kind ath_post_processor_bert = {
    {"BertProcessing", read_bert, write}, lay_out};
const ath_post_processor_kind ath_post_processor_roberta = {
    {"RobertaProcessing", read_roberta, write}, lay_out};
