/* describe.c: a tokenizer's pipeline in words: the kind of each part. The lists of sequences are
 * found in what the parts would write into tokenizer.json, so that none has to tell them twice. */
#include <string.h>

#include "tokenizers/tokenizer.h"

#define PART_LIMIT ((size_t)1 << 30)

static const ath_kind *kind_of(const ath_tokenizer *self, ath_tokenizer_part part,
                               const void **data) {
#define CASE(name, member)                                                            \
  case name:                                                                          \
    *data = self->member.data;                                                        \
    return self->member.kind != NULL ? &self->member.kind->base : NULL
  switch (part) {
    CASE(ATH_PART_NORMALIZER, normalizer);
    CASE(ATH_PART_PRE_TOKENIZER, pre_tokenizer);
    CASE(ATH_PART_MODEL, model);
    CASE(ATH_PART_POST_PROCESSOR, post_processor);
    CASE(ATH_PART_DECODER, decoder);
    case ATH_PART_COUNT: break;
  }
#undef CASE
  assert(!"a part that does not exist");
  return NULL;
}

/* The list of a sequence, whose key differs from role to role; NULL for other kinds. */
static const json_t *items_of(const json_t *part) {
  static const char *const keys[] = {"normalizers", "pretokenizers", "processors", "decoders"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const json_t *items = json_object_get(part, keys[i]);
    if (json_is_array(items)) return items;
  }
  return NULL;
}

/* As deep as sequences are nested, which their readers limit. */
static ath_status put_kind(const json_t *part, ath_buffer *out) {
  const char *name = json_string_value(json_object_get(part, "type"));
  assert(name != NULL);
  ATH_TRY(ath_buffer_string(out, name));
  const json_t *items = items_of(part);
  if (items == NULL) return ATH_OK;
  ATH_TRY(ath_buffer_string(out, " ("));
  for (size_t i = 0; i < json_array_size(items); i++) {
    if (i > 0) ATH_TRY(ath_buffer_string(out, ", "));
    ATH_TRY(put_kind(json_array_get(items, i), out));
  }
  return ath_buffer_byte(out, ')');
}

static ath_status write_part(const ath_kind *kind, const void *data, ath_buffer *json) {
  ath_json_writer writer = ath_json_writer_make(json);
  ath_json_open(&writer, NULL, '{');
  ath_json_put_text(&writer, "type", kind->name);
  kind->write(data, &writer);
  ath_json_close(&writer, '}');
  return writer.status;
}

ath_status ath_tokenizer_describe(const ath_tokenizer *self, ath_tokenizer_part part,
                                  ath_buffer *out) {
  const void *data;
  const ath_kind *kind = kind_of(self, part, &data);
  if (kind == NULL) return ath_buffer_string(out, "none");
  /* Models are no sequences, and long. */
  if (part == ATH_PART_MODEL) return ath_buffer_string(out, kind->name);
  ath_buffer json = ath_buffer_make(PART_LIMIT);
  ath_status status = write_part(kind, data, &json);
  if (status == ATH_OK) {
    json_t *tree = json_loadb(json.bytes, json.length, JSON_ALLOW_NUL, NULL);
    status = tree != NULL ? put_kind(tree, out)
                          : ath_fail(ATH_NO_MEMORY, "no memory to describe a tokenizer");
    json_decref(tree);
  }
  ath_buffer_free(&json);
  return status;
}
