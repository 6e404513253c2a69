/* example_write.c: writing tf.train.Example and SequenceExample messages. Lengths stand before what
 * they measure, so every message is measured from the inside out and then put down. */
#include <assert.h>

#include "athanor/example.h"
#include "formats/example.h"
#include "formats/varints.h"
#include "formats/wire.h"

/* Bytes of a field that holds `inside` bytes; all field numbers here take one byte. */
static size_t field_size(size_t inside) { return 1 + ath_wire_varint_size(inside) + inside; }

/* --- lists ----------------------------------------------------------------------------------- */

/* A feature whose integers may have 32 or 64 bits; a name whose length is known. */
typedef struct feature {
  ath_bytes name;
  ath_feature_kind kind;
  size_t count;
  const int32_t *narrow; /* or: */
  const ath_feature *any;
} feature;

static ath_bytes name_of(const char *name, size_t length) {
  assert(name != NULL);
  return (ath_bytes){name, length > 0 ? length : strlen(name)};
}

static feature feature_of(const ath_feature *any) {
  assert(any->count == 0 || any->kind != ATH_FEATURE_EMPTY);
  ath_bytes name = any->name != NULL ? name_of(any->name, any->name_length) : (ath_bytes){0};
  return (feature){name, any->kind, any->count, NULL, any};
}

static feature feature_of_ids(const ath_int64_feature *ids) {
  assert(ids->values != NULL || ids->count == 0);
  return (feature){name_of(ids->name, 0), ATH_FEATURE_INT64, ids->count, ids->values, NULL};
}

/* Bytes of the packed numbers. */
static size_t packed_size(const feature *f) {
  if (f->kind == ATH_FEATURE_FLOAT) return f->count * sizeof(float);
  if (f->any == NULL) return ath_varints_size(f->narrow, f->count);
  size_t size = 0;
  for (size_t i = 0; i < f->count; i++)
    size += ath_wire_varint_size((uint64_t)f->any->integers[i]);
  return size;
}

static uint8_t *put_packed(uint8_t *out, const feature *f, size_t size) {
  if (f->kind == ATH_FEATURE_FLOAT) {
    if (size > 0) memcpy(out, f->any->floats, size);
    return out + size;
  }
  if (f->any == NULL) return ath_varints_put(out, size, f->narrow, f->count);
  for (size_t i = 0; i < f->count; i++)
    out = ath_wire_put_varint(out, (uint64_t)f->any->integers[i]);
  return out;
}

static size_t strings_size(const feature *f) {
  size_t size = 0;
  for (size_t i = 0; i < f->count; i++) size += field_size(f->any->strings[i].length);
  return size;
}

static uint8_t *put_field(uint8_t *out, uint32_t number, const ath_bytes *inside) {
  out = ath_wire_put_head(out, number, inside->length);
  if (inside->length > 0) memcpy(out, inside->bytes, inside->length);
  return out + inside->length;
}

/* --- features -------------------------------------------------------------------------------- */

/* Sizes of one feature's nested messages, innermost first; `feature` is 0 for an empty one. */
typedef struct sizes {
  size_t packed, list, feature, entry;
} sizes;

static sizes measure(const feature *f) {
  sizes s = {0};
  if (f->kind == ATH_FEATURE_BYTES) {
    s.list = strings_size(f);
  } else if (f->kind != ATH_FEATURE_EMPTY) {
    s.packed = packed_size(f);
    s.list = field_size(s.packed);
  }
  if (f->kind != ATH_FEATURE_EMPTY) s.feature = field_size(s.list);
  s.entry = field_size(f->name.length) + field_size(s.feature);
  return s;
}

/* The value of an entry, or a step. */
static uint8_t *put_value(uint8_t *out, uint32_t number, const feature *f, const sizes *s) {
  out = ath_wire_put_head(out, number, s->feature);
  if (f->kind == ATH_FEATURE_EMPTY) return out;
  out = ath_wire_put_head(out, f->kind, s->list);
  if (f->kind != ATH_FEATURE_BYTES)
    return put_packed(ath_wire_put_head(out, LIST_VALUE, s->packed), f, s->packed);
  for (size_t i = 0; i < f->count; i++) out = put_field(out, LIST_VALUE, &f->any->strings[i]);
  return out;
}

static uint8_t *put_entry(uint8_t *out, const feature *f, const sizes *s) {
  out = ath_wire_put_head(out, MAP_ENTRY, s->entry);
  out = put_field(out, ENTRY_KEY, &f->name);
  return put_value(out, ENTRY_VALUE, f, s);
}

/* --- messages -------------------------------------------------------------------------------- */

/* Makes room for a message; `closed` ends it. The buffer's NUL has a place kept by reserve. */
static ath_status open_message(ath_buffer *out, size_t size, uint8_t **at) {
  ATH_TRY_CONTEXT(ath_buffer_reserve(out, size), "an Example");
  *at = (uint8_t *)out->bytes + out->length;
  return ATH_OK;
}

static void close_message(ath_buffer *out, size_t size, uint8_t *end) {
  assert((size_t)((char *)end - out->bytes) == out->length + size);
  *end = 0;
  out->length += size;
}

/* The sizes of the first features are kept: measuring takes as long as writing. */
ath_status ath_example_write(const ath_int64_feature *features, size_t count, ath_buffer *out) {
  enum { KEPT = 4 };
  sizes kept[KEPT], fresh;
  size_t inside = 0;
  for (size_t i = 0; i < count; i++) {
    sizes *s = i < KEPT ? &kept[i] : &fresh;
    feature f = feature_of_ids(&features[i]);
    *s = measure(&f);
    inside += field_size(s->entry);
  }
  uint8_t *at = NULL;
  ATH_TRY(open_message(out, field_size(inside), &at));
  at = ath_wire_put_head(at, EXAMPLE_FEATURES, inside);
  for (size_t i = 0; i < count; i++) {
    feature f = feature_of_ids(&features[i]);
    if (i >= KEPT) fresh = measure(&f);
    at = put_entry(at, &f, i < KEPT ? &kept[i] : &fresh);
  }
  close_message(out, field_size(inside), at);
  return ATH_OK;
}

static size_t features_size(const ath_feature *features, size_t count) {
  size_t inside = 0;
  for (size_t i = 0; i < count; i++) {
    feature f = feature_of(&features[i]);
    inside += field_size(measure(&f).entry);
  }
  return inside;
}

static uint8_t *put_features(uint8_t *out, const ath_feature *features, size_t count) {
  out = ath_wire_put_head(out, EXAMPLE_FEATURES, features_size(features, count));
  for (size_t i = 0; i < count; i++) {
    feature f = feature_of(&features[i]);
    sizes s = measure(&f);
    out = put_entry(out, &f, &s);
  }
  return out;
}

ath_status ath_example_write_any(const ath_feature *features, size_t count, ath_buffer *out) {
  uint8_t *at = NULL;
  size_t size = field_size(features_size(features, count));
  ATH_TRY(open_message(out, size, &at));
  close_message(out, size, put_features(at, features, count));
  return ATH_OK;
}

/* Bytes of a FeatureList. */
static size_t steps_size(const ath_feature_list *list) {
  size_t size = 0;
  for (size_t i = 0; i < list->count; i++) {
    feature f = feature_of(&list->steps[i]);
    size += field_size(measure(&f).feature);
  }
  return size;
}

static size_t list_entry_size(const ath_feature_list *list) {
  return field_size(name_of(list->name, list->name_length).length) +
         field_size(steps_size(list));
}

static uint8_t *put_list_entry(uint8_t *out, const ath_feature_list *list) {
  ath_bytes name = name_of(list->name, list->name_length);
  out = ath_wire_put_head(out, MAP_ENTRY, list_entry_size(list));
  out = put_field(out, ENTRY_KEY, &name);
  out = ath_wire_put_head(out, ENTRY_VALUE, steps_size(list));
  for (size_t i = 0; i < list->count; i++) {
    feature f = feature_of(&list->steps[i]);
    sizes s = measure(&f);
    out = put_value(out, STEP, &f, &s);
  }
  return out;
}

ath_status ath_sequence_example_write(const ath_feature *context, size_t count,
                                      const ath_feature_list *lists, size_t list_count,
                                      ath_buffer *out) {
  uint8_t *at = NULL;
  size_t inside = 0, size = field_size(features_size(context, count));
  for (size_t i = 0; i < list_count; i++) inside += field_size(list_entry_size(&lists[i]));
  size += field_size(inside);
  ATH_TRY(open_message(out, size, &at));
  at = ath_wire_put_head(put_features(at, context, count), EXAMPLE_LISTS, inside);
  for (size_t i = 0; i < list_count; i++) at = put_list_entry(at, &lists[i]);
  close_message(out, size, at);
  return ATH_OK;
}
