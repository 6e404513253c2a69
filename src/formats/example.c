/* example.c: tf.train.Example messages (tensorflow/core/example/example.proto, feature.proto).
 *
 *     Example    { Features features = 1; }
 *     Features   { map<string, Feature> feature = 1; }   an entry: { key = 1; Feature value = 2; }
 *     Feature    { BytesList = 1 | FloatList = 2 | Int64List = 3 }
 *     Int64List  { repeated int64 value = 1; }            packed or one field for each value
 *
 * {"ids": [1, 300]} is
 *
 *     0a 10  Example.features, 16 bytes
 *       0a 0e  an entry, 14 bytes
 *         0a 03 "ids"   its key
 *         12 07  its value, 7 bytes
 *           1a 05  an Int64List, 5 bytes
 *             0a 03 01 ac 02   packed, 3 bytes: 1 and 300
 *
 * Written by hand, without a protocol-buffer library: every training sample goes through here,
 * and the lists are decoded straight into the caller's array. */
#include <assert.h>

#include "athanor/tfrecord.h"
#include "formats/wire.h"

/* Field numbers of the messages above. */
enum {
  EXAMPLE_FEATURES = 1, FEATURES_ENTRY = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2,
  FEATURE_INT64 = 3, LIST_VALUE = 1,
};

/* --- writing ------------------------------------------------------------------------------ */

/* Sizes of one feature's nested messages, innermost first. */
typedef struct feature_sizes {
  size_t packed, list, feature, entry, whole;
} feature_sizes;

/* A negative number is written as 64 bits, so as ten bytes. */
static uint64_t as_varint(int32_t value) { return (uint64_t)(int64_t)value; }

/* Bytes of a field that holds `inside` bytes; all field numbers here take one byte. */
static size_t field_size(size_t inside) { return 1 + ath_wire_varint_size(inside) + inside; }

static feature_sizes measure(const ath_int64_feature *feature) {
  assert(feature->name != NULL && (feature->values != NULL || feature->count == 0));
  feature_sizes sizes = {0};
  for (size_t i = 0; i < feature->count; i++)
    sizes.packed += ath_wire_varint_size(as_varint(feature->values[i]));
  sizes.list = field_size(sizes.packed);
  sizes.feature = field_size(sizes.list);
  sizes.entry = field_size(strlen(feature->name)) + field_size(sizes.feature);
  sizes.whole = field_size(sizes.entry);
  return sizes;
}

static uint8_t *put_feature(uint8_t *out, const ath_int64_feature *feature) {
  const uint8_t *begin = out;
  feature_sizes sizes = measure(feature);
  size_t name_length = strlen(feature->name);
  out = ath_wire_put_head(out, FEATURES_ENTRY, sizes.entry);
  out = ath_wire_put_head(out, ENTRY_KEY, name_length);
  memcpy(out, feature->name, name_length);
  out = ath_wire_put_head(out + name_length, ENTRY_VALUE, sizes.feature);
  out = ath_wire_put_head(out, FEATURE_INT64, sizes.list);
  out = ath_wire_put_head(out, LIST_VALUE, sizes.packed);
  for (size_t i = 0; i < feature->count; i++)
    out = ath_wire_put_varint(out, as_varint(feature->values[i]));
  assert((size_t)(out - begin) == sizes.whole);
  return out;
}

ath_status ath_example_write(const ath_int64_feature *features, size_t count, ath_buffer *out) {
  size_t inside = 0;
  for (size_t i = 0; i < count; i++) inside += measure(&features[i]).whole;
  size_t whole = field_size(inside);
  ATH_TRY_CONTEXT(ath_buffer_reserve(out, whole), "an Example");
  uint8_t *begin = (uint8_t *)out->bytes + out->length;
  uint8_t *at = ath_wire_put_head(begin, EXAMPLE_FEATURES, inside);
  for (size_t i = 0; i < count; i++) at = put_feature(at, &features[i]);
  assert((size_t)(at - begin) == whole);
  *at = 0; /* the buffer's NUL, for which reserve keeps a place */
  out->length += whole;
  return ATH_OK;
}

/* --- reading: from the message down to the lists -------------------------------------------- */

static bool is_message(const ath_wire_field *field, uint32_t number) {
  return field->number == number && field->kind == ATH_WIRE_BYTES;
}

/* Finds the kind and the list of a Feature. */
static ath_status read_feature(ath_wire feature, ath_feature_view *view) {
  assert(view->kind == ATH_FEATURE_EMPTY && view->list == NULL);
  while (feature.at < feature.end) {
    ath_wire_field field;
    ATH_TRY(ath_wire_next(&feature, &field));
    if (field.kind != ATH_WIRE_BYTES || field.number > FEATURE_INT64) continue;
    if (view->kind != ATH_FEATURE_EMPTY)
      return ath_fail(ATH_CORRUPT, "feature \"%.*s\" holds two lists",
                      view->name_length < 60 ? (int)view->name_length : 60, view->name);
    view->kind = (ath_feature_kind)field.number;
    view->list = field.inside.at;
    view->list_length = ath_wire_left(&field.inside);
  }
  return ATH_OK;
}

/* Reads an entry of the map: a name and a feature, in either order. */
static ath_status read_entry(ath_wire entry, ath_feature_view *view) {
  *view = (ath_feature_view){.name = ""};
  ath_wire feature = {0};
  while (entry.at < entry.end) {
    ath_wire_field field;
    ATH_TRY(ath_wire_next(&entry, &field));
    if (is_message(&field, ENTRY_KEY)) {
      view->name = (const char *)field.inside.at;
      view->name_length = ath_wire_left(&field.inside);
    } else if (is_message(&field, ENTRY_VALUE)) {
      if (feature.at != NULL) return ath_fail(ATH_CORRUPT, "a feature is given twice in its entry");
      feature = field.inside;
    }
  }
  return read_feature(feature, view);
}

typedef ath_status (*feature_visitor)(void *context, const ath_feature_view *feature);

static ath_status walk_features(ath_wire features, feature_visitor visit, void *context) {
  while (features.at < features.end) {
    ath_wire_field field;
    ATH_TRY(ath_wire_next(&features, &field));
    if (!is_message(&field, FEATURES_ENTRY)) continue;
    ath_feature_view view;
    ATH_TRY(read_entry(field.inside, &view));
    ATH_TRY(visit(context, &view));
  }
  return ATH_OK;
}

/* Calls `visit` with each feature, its values not yet counted. */
static ath_status walk(const void *bytes, size_t length, feature_visitor visit, void *context) {
  ath_wire example = ath_wire_make(bytes, length);
  while (example.at < example.end) {
    ath_wire_field field;
    ATH_TRY(ath_wire_next(&example, &field));
    if (is_message(&field, EXAMPLE_FEATURES))
      ATH_TRY(walk_features(field.inside, visit, context));
  }
  return ATH_OK;
}

/* --- reading: the values of one int64 list --------------------------------------------------- */

typedef struct int64_reader {
  const char *name;
  size_t name_length;
  int32_t *values;
  size_t capacity, count;
  bool found;
} int64_reader;

static ath_status too_long(const int64_reader *self) {
  return ath_fail(ATH_INVALID, "feature \"%s\" has more than the %zu values expected", self->name,
                  self->capacity);
}

static ath_status add_value(int64_reader *self, uint64_t bits) {
  int64_t value = (int64_t)bits;
  if (self->count == self->capacity) return too_long(self);
  if (value < INT32_MIN || value > INT32_MAX)
    return ath_fail(ATH_INVALID, "feature \"%s\": value %zu is %lld, which does not fit 32 bits",
                    self->name, self->count, (long long)value);
  self->values[self->count++] = (int32_t)value;
  return ATH_OK;
}

static const uint64_t top_bits = UINT64_C(0x8080808080808080); /* set in all but a last byte */

/* Takes eight values below 128 at once while there are such (an attention mask is nothing else). */
static void add_small_values(int64_reader *self, ath_wire *packed) {
  assert(self->count <= self->capacity);
  while (ath_wire_left(packed) >= 8 && self->capacity - self->count >= 8 &&
         (ath_load_u64(packed->at) & top_bits) == 0) {
    for (int i = 0; i < 8; i++) self->values[self->count + i] = packed->at[i];
    self->count += 8;
    packed->at += 8;
  }
}

/* The value of a varint whose bytes, at most four, are the lowest of a word. */
static int32_t join_groups(uint64_t bytes) {
  return (int32_t)((bytes & 0x7f) | (bytes >> 1 & 0x3f80) | (bytes >> 2 & 0x1fc000) |
                   (bytes >> 3 & 0xfe00000));
}

/* Takes values two at a time while both are at most four bytes long. There is no branch on their
 * lengths: those of token ids change too irregularly to be foreseen. */
static void add_pairs(int64_reader *self, ath_wire *packed) {
  assert(self->count <= self->capacity);
  while (ath_wire_left(packed) >= 8 && self->capacity - self->count >= 2) {
    uint64_t word = ath_load_u64(packed->at);
    uint64_t first_ends = ~word & top_bits, second_ends = first_ends & (first_ends - 1);
    if (second_ends == 0) return;
    int first_bits = __builtin_ctzll(first_ends) + 1;
    int second_bits = __builtin_ctzll(second_ends) + 1 - first_bits;
    if (first_bits > 32 || second_bits > 32) return;
    int32_t *values = self->values + self->count;
    values[0] = join_groups(word & ((UINT64_C(1) << first_bits) - 1));
    values[1] = join_groups(word >> first_bits & ((UINT64_C(1) << second_bits) - 1));
    self->count += 2;
    packed->at += (first_bits + second_bits) / 8;
    assert(packed->at <= packed->end);
  }
}

static ath_status add_packed(int64_reader *self, ath_wire packed) {
  while (packed.at < packed.end) {
    add_small_values(self, &packed);
    add_pairs(self, &packed);
    if (packed.at == packed.end) break;
    uint64_t bits;
    ATH_TRY(ath_wire_varint(&packed, &bits));
    ATH_TRY(add_value(self, bits));
  }
  return ATH_OK;
}

static ath_status read_int64_feature(void *context, const ath_feature_view *feature) {
  int64_reader *self = context;
  if (feature->name_length != self->name_length ||
      memcmp(feature->name, self->name, self->name_length) != 0)
    return ATH_OK;
  if (feature->kind != ATH_FEATURE_INT64 && feature->kind != ATH_FEATURE_EMPTY)
    return ath_fail(ATH_INVALID, "feature \"%s\" is a list of %s, not of integers", self->name,
                    feature->kind == ATH_FEATURE_FLOAT ? "floats" : "byte strings");
  self->found = true;
  self->count = 0; /* of two entries with one name the last counts, as in every protobuf map */
  ath_wire list = ath_wire_make(feature->list, feature->list_length);
  while (list.at < list.end) {
    ath_wire_field field;
    ATH_TRY(ath_wire_next(&list, &field));
    if (field.number != LIST_VALUE) continue;
    if (field.kind == ATH_WIRE_BYTES) ATH_TRY(add_packed(self, field.inside));
    if (field.kind == ATH_WIRE_VARINT) ATH_TRY(add_value(self, field.value));
  }
  return ATH_OK;
}

ath_status ath_example_read_int64(const void *bytes, size_t length, const char *name,
                                  int32_t *values, size_t capacity, size_t *count) {
  assert(values != NULL || capacity == 0);
  int64_reader reader = {name, strlen(name), values, capacity, 0, false};
  ATH_TRY(walk(bytes, length, read_int64_feature, &reader));
  if (!reader.found) return ath_fail(ATH_NOT_FOUND, "the Example has no feature \"%s\"", name);
  *count = reader.count;
  return ATH_OK;
}

/* --- reading: any feature -------------------------------------------------------------------- */

static ath_status count_packed(ath_wire packed, ath_feature_kind kind, size_t *count) {
  if (kind == ATH_FEATURE_FLOAT) {
    if (ath_wire_left(&packed) % 4 != 0)
      return ath_fail(ATH_CORRUPT, "a list of floats has %zu bytes", ath_wire_left(&packed));
    *count += ath_wire_left(&packed) / 4;
    return ATH_OK;
  }
  for (uint64_t ignored; packed.at < packed.end; ++*count)
    ATH_TRY(ath_wire_varint(&packed, &ignored));
  return ATH_OK;
}

static ath_status count_values(ath_feature_view *view) {
  ath_wire list = ath_wire_make(view->list, view->list_length);
  while (list.at < list.end) {
    ath_wire_field field;
    ATH_TRY(ath_wire_next(&list, &field));
    if (field.number != LIST_VALUE) continue;
    if (field.kind == ATH_WIRE_BYTES && view->kind != ATH_FEATURE_BYTES)
      ATH_TRY(count_packed(field.inside, view->kind, &view->count));
    else
      view->count++;
  }
  return ATH_OK;
}

typedef struct visit_context {
  feature_visitor visit;
  void *context;
} visit_context;

static ath_status visit_counted(void *context, const ath_feature_view *feature) {
  const visit_context *self = context;
  ath_feature_view counted = *feature;
  ATH_TRY(count_values(&counted));
  return self->visit(self->context, &counted);
}

ath_status ath_example_visit(const void *bytes, size_t length, feature_visitor visit,
                             void *context) {
  visit_context both = {visit, context};
  return walk(bytes, length, visit_counted, &both);
}
