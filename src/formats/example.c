/* example.c: reading tf.train.Example and SequenceExample messages; example.h has the layout. */
#include "formats/example.h"

#include <assert.h>

#include "athanor/example.h"
#include "formats/varints.h"
#include "formats/wire.h"

/* --- from the message down to the lists ------------------------------------------------------ */

static inline bool is_message(const ath_wire_field *field, uint32_t number) {
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

/* Reads an entry of a map: a name and a message, in either order. */
static ath_status read_entry(ath_wire entry, ath_feature_view *view, ath_wire *value) {
  *view = (ath_feature_view){.name = ""};
  *value = (ath_wire){0};
  while (entry.at < entry.end) {
    ath_wire_field field;
    ATH_TRY(ath_wire_next(&entry, &field));
    if (is_message(&field, ENTRY_KEY)) {
      view->name = (const char *)field.inside.at;
      view->name_length = ath_wire_left(&field.inside);
    } else if (is_message(&field, ENTRY_VALUE)) {
      if (value->at != NULL) return ath_fail(ATH_CORRUPT, "a feature is given twice in its entry");
      *value = field.inside;
    }
  }
  return ATH_OK;
}

typedef ath_status (*feature_visitor)(void *context, const ath_feature_view *feature);

static inline ath_status walk_features(ath_wire features, feature_visitor visit, void *context) {
  while (features.at < features.end) {
    ath_wire_field field;
    ath_feature_view view;
    ath_wire feature;
    ATH_TRY(ath_wire_next(&features, &field));
    if (!is_message(&field, MAP_ENTRY)) continue;
    ATH_TRY(read_entry(field.inside, &view, &feature));
    ATH_TRY(read_feature(feature, &view));
    ATH_TRY(visit(context, &view));
  }
  return ATH_OK;
}

/* --- the values of integer lists -------------------------------------------------------------- */

static ath_status too_long(const ath_int64_list *self) {
  return ath_fail(ATH_INVALID, "feature \"%s\" has more than the %zu values expected", self->name,
                  self->capacity);
}

static ath_status add_value(ath_int64_list *self, uint64_t bits) {
  int64_t value = (int64_t)bits;
  if (self->count == self->capacity) return too_long(self);
  if (value < INT32_MIN || value > INT32_MAX)
    return ath_fail(ATH_INVALID, "feature \"%s\": value %zu is %lld, which does not fit 32 bits",
                    self->name, self->count, (long long)value);
  self->values[self->count++] = (int32_t)value;
  return ATH_OK;
}

/* What a whole list at once stops at, a long varint or a fault, is looked at by itself. */
static ath_status add_packed(ath_int64_list *self, ath_wire packed) {
  while (packed.at < packed.end) {
    size_t taken = 0;
    ath_varints_take(packed.at, ath_wire_left(&packed), &taken, self->values, self->capacity,
                     &self->count);
    packed.at += taken;
    if (packed.at == packed.end) break;
    uint64_t bits;
    ATH_TRY(ath_wire_varint(&packed, &bits));
    ATH_TRY(add_value(self, bits));
  }
  return ATH_OK;
}

static ath_status read_list(ath_int64_list *self, const ath_feature_view *feature) {
  if (feature->kind != ATH_FEATURE_INT64 && feature->kind != ATH_FEATURE_EMPTY)
    return ath_fail(ATH_INVALID, "feature \"%s\" is a list of %s, not of integers", self->name,
                    feature->kind == ATH_FEATURE_FLOAT ? "floats" : "byte strings");
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

static const size_t missing = SIZE_MAX; /* the count of a list that was not there yet */

typedef struct wanted_lists {
  ath_int64_list *items;
  size_t count;
} wanted_lists;

static inline bool is_named(const ath_int64_list *list, const ath_feature_view *feature) {
  size_t length = feature->name_length;
  if (length > 0 && list->name[0] != feature->name[0]) return false; /* seldom goes further */
  return strlen(list->name) == length && memcmp(list->name, feature->name, length) == 0;
}

static ath_status read_if_wanted(void *context, const ath_feature_view *feature) {
  const wanted_lists *wanted = context;
  for (size_t i = 0; i < wanted->count; i++)
    if (is_named(&wanted->items[i], feature)) ATH_TRY(read_list(&wanted->items[i], feature));
  return ATH_OK;
}

ath_status ath_example_read_lists(const void *bytes, size_t length, ath_int64_list *lists,
                                  size_t count) {
  wanted_lists wanted = {lists, count};
  for (size_t i = 0; i < count; i++) {
    assert(lists[i].values != NULL || lists[i].capacity == 0);
    lists[i].count = missing;
  }
  ath_wire example = ath_wire_make(bytes, length);
  while (example.at < example.end) {
    ath_wire_field field;
    ATH_TRY(ath_wire_next(&example, &field));
    if (is_message(&field, EXAMPLE_FEATURES))
      ATH_TRY(walk_features(field.inside, read_if_wanted, &wanted));
  }
  for (size_t i = 0; i < count; i++)
    if (lists[i].count == missing)
      return ath_fail(ATH_NOT_FOUND, "the Example has no feature \"%s\"", lists[i].name);
  return ATH_OK;
}

ath_status ath_example_read_int64(const void *bytes, size_t length, const char *name,
                                  int32_t *values, size_t capacity, size_t *count) {
  ath_int64_list list = {.name = name, .values = values, .capacity = capacity};
  ATH_TRY(ath_example_read_lists(bytes, length, &list, 1));
  *count = list.count;
  return ATH_OK;
}

/* --- any feature ------------------------------------------------------------------------------ */

ath_feature_cursor ath_feature_values(const ath_feature_view *feature) {
  ath_wire list = ath_wire_make(feature->list, feature->list_length);
  return (ath_feature_cursor){.kind = feature->kind, .at = list.at, .end = list.end};
}

static ath_status next_packed(ath_feature_cursor *self, ath_feature_value *value) {
  ath_wire packed = {self->packed_at, self->packed_end};
  if (self->kind == ATH_FEATURE_FLOAT) {
    memcpy(&value->real, packed.at, sizeof value->real);
    packed.at += sizeof value->real;
  } else {
    uint64_t bits;
    ATH_TRY(ath_wire_varint(&packed, &bits));
    value->integer = (int64_t)bits;
  }
  self->packed_at = packed.at;
  return ATH_OK;
}

/* Whether a field of the list is a value, or holds packed ones. A value in an encoding that its
 * kind does not have is an unknown field, which is passed over. */
static ath_status take_field(ath_feature_cursor *self, const ath_wire_field *field,
                             ath_feature_value *value, bool *there) {
  if (field->number != LIST_VALUE) return ATH_OK;
  if (self->kind == ATH_FEATURE_BYTES) {
    *there = field->kind == ATH_WIRE_BYTES;
    if (*there) value->bytes = (ath_bytes){field->inside.at, ath_wire_left(&field->inside)};
  } else if (field->kind == ATH_WIRE_BYTES) {
    if (self->kind == ATH_FEATURE_FLOAT && ath_wire_left(&field->inside) % sizeof(float) != 0)
      return ath_fail(ATH_CORRUPT, "a list of floats has %zu bytes",
                      ath_wire_left(&field->inside));
    self->packed_at = field->inside.at;
    self->packed_end = field->inside.end;
  } else if (self->kind == ATH_FEATURE_FLOAT && field->kind == ATH_WIRE_32) {
    uint32_t bits = (uint32_t)field->value;
    memcpy(&value->real, &bits, sizeof bits);
    *there = true;
  } else if (self->kind == ATH_FEATURE_INT64 && field->kind == ATH_WIRE_VARINT) {
    value->integer = (int64_t)field->value;
    *there = true;
  }
  return ATH_OK;
}

ath_status ath_feature_next(ath_feature_cursor *self, ath_feature_value *value, bool *there) {
  *value = (ath_feature_value){0};
  for (*there = false; !*there;) {
    if (self->packed_at != self->packed_end) {
      *there = true;
      return next_packed(self, value);
    }
    if (self->at == self->end) return ATH_OK;
    ath_wire list = {self->at, self->end};
    ath_wire_field field;
    ATH_TRY(ath_wire_next(&list, &field));
    self->at = list.at;
    ATH_TRY(take_field(self, &field, value, there));
  }
  return ATH_OK;
}

static ath_status count_values(ath_feature_view *view) {
  ath_feature_cursor cursor = ath_feature_values(view);
  ath_feature_value value;
  bool there;
  for (;; view->count++) {
    ATH_TRY(ath_feature_next(&cursor, &value, &there));
    if (!there) return ATH_OK;
  }
}

typedef struct counting_visitor {
  feature_visitor visit;
  void *context;
} counting_visitor;

static ath_status visit_counted(void *context, const ath_feature_view *feature) {
  const counting_visitor *self = context;
  ath_feature_view counted = *feature;
  ATH_TRY(count_values(&counted));
  return self->visit(self->context, &counted);
}

static ath_status count_steps(ath_wire steps, size_t *count) {
  while (steps.at < steps.end) {
    ath_wire_field field;
    ATH_TRY(ath_wire_next(&steps, &field));
    *count += is_message(&field, STEP);
  }
  return ATH_OK;
}

static ath_status visit_steps(ath_wire entry, const counting_visitor *visitor) {
  ath_feature_view list;
  ath_wire steps;
  ATH_TRY(read_entry(entry, &list, &steps));
  list.place = ATH_FEATURE_STEPS;
  ATH_TRY(count_steps(steps, &list.count));
  ATH_TRY(visitor->visit(visitor->context, &list));
  while (steps.at < steps.end) {
    ath_wire_field field;
    ath_feature_view step = {.name = list.name, .name_length = list.name_length,
                             .place = ATH_FEATURE_STEP};
    ATH_TRY(ath_wire_next(&steps, &field));
    if (!is_message(&field, STEP)) continue;
    ATH_TRY(read_feature(field.inside, &step));
    ATH_TRY(visit_counted((void *)visitor, &step));
  }
  return ATH_OK;
}

ath_status ath_example_visit(const void *bytes, size_t length, feature_visitor visit,
                             void *context) {
  counting_visitor visitor = {visit, context};
  ath_wire example = ath_wire_make(bytes, length);
  while (example.at < example.end) {
    ath_wire_field field;
    ATH_TRY(ath_wire_next(&example, &field));
    if (is_message(&field, EXAMPLE_FEATURES))
      ATH_TRY(walk_features(field.inside, visit_counted, &visitor));
    if (!is_message(&field, EXAMPLE_LISTS)) continue;
    for (ath_wire lists = field.inside; lists.at < lists.end;) {
      ATH_TRY(ath_wire_next(&lists, &field));
      if (is_message(&field, MAP_ENTRY)) ATH_TRY(visit_steps(field.inside, &visitor));
    }
  }
  return ATH_OK;
}
