/* example_from_json.c: a line of JSON as an Example or a SequenceExample. */
#include <jansson.h>
#include <math.h>
#include <nettle/base64.h>

#include "base/arena.h"
#include "formats/example_json.h"

/* Arrays of values live here until the message is written. A step takes a feature, and a feature
 * without values a place of 64 bytes, so that short JSON may want some more than its length. */
static const size_t arena_max = (size_t)1 << 36;

static ath_status wrong(const char *name, const char *what) {
  return ath_fail(ATH_INVALID, "feature \"%.60s\": %s", name, what);
}

static ath_status no_memory(const char *name) {
  return ath_fail(ATH_NO_MEMORY, "feature \"%.60s\": no memory for its values", name);
}

/* --- values -------------------------------------------------------------------------------- */

static ath_status read_integer(const json_t *item, const char *name, int64_t *out) {
  if (!json_is_integer(item)) return wrong(name, "a list of integers holds something else");
  *out = json_integer_value(item);
  return ATH_OK;
}

/* Halfway between the largest float and the next number there would be. */
static const double beyond_floats = 0x1.ffffffp127;

static ath_status read_float(const json_t *item, const char *name, float *out) {
  const char *word = json_string_value(item);
  if (word != NULL && strcmp(word, "NaN") == 0) *out = NAN;
  else if (word != NULL && strcmp(word, "Infinity") == 0) *out = INFINITY;
  else if (word != NULL && strcmp(word, "-Infinity") == 0) *out = -INFINITY;
  else if (!json_is_number(item)) return wrong(name, "a list of floats holds something else");
  else if (fabs(json_number_value(item)) >= beyond_floats)
    return wrong(name, "a number is too large for a float");
  else *out = (float)json_number_value(item);
  return ATH_OK;
}

static ath_status read_base64(ath_arena *arena, const json_t *text, const char *name,
                              ath_bytes *out) {
  if (!json_is_string(text)) return wrong(name, "\"base64\" is not a string");
  struct base64_decode_ctx context;
  size_t length = json_string_length(text), size = BASE64_DECODE_LENGTH(length);
  uint8_t *bytes = ath_arena_alloc(arena, size + 1);
  if (bytes == NULL) return no_memory(name);
  base64_decode_init(&context);
  if (!base64_decode_update(&context, &size, bytes, length, json_string_value(text)) ||
      !base64_decode_final(&context))
    return wrong(name, "its base64 is malformed");
  *out = (ath_bytes){bytes, size};
  return ATH_OK;
}

static ath_status read_bytes(ath_arena *arena, const json_t *item, const char *name,
                             ath_bytes *out) {
  if (json_is_string(item)) {
    *out = (ath_bytes){json_string_value(item), json_string_length(item)};
    return ATH_OK;
  }
  const json_t *base64 = json_object_get(item, "base64");
  if (base64 == NULL || json_object_size(item) != 1)
    return wrong(name, "a list of byte strings holds something else");
  return read_base64(arena, base64, name, out);
}

/* --- lists --------------------------------------------------------------------------------- */

/* By its values: one that is no integer makes a list of floats. */
static ath_feature_kind kind_of_values(const json_t *items) {
  ath_feature_kind kind = ATH_FEATURE_INT64;
  for (size_t i = 0; i < json_array_size(items); i++) {
    const json_t *item = json_array_get(items, i);
    if (json_is_string(item) || json_is_object(item)) return ATH_FEATURE_BYTES;
    if (json_is_real(item)) kind = ATH_FEATURE_FLOAT;
  }
  return kind;
}

static ath_status read_values(ath_arena *arena, const json_t *items, ath_feature *f) {
  size_t count = f->count = json_array_size(items);
  int64_t *integers = NULL;
  float *floats = NULL;
  ath_bytes *strings = NULL;
  size_t size = f->kind == ATH_FEATURE_INT64 ? sizeof *integers
                : f->kind == ATH_FEATURE_FLOAT ? sizeof *floats : sizeof *strings;
  void *values = ath_arena_alloc(arena, count * size);
  if (values == NULL) return no_memory(f->name);
  if (f->kind == ATH_FEATURE_INT64) f->integers = integers = values;
  if (f->kind == ATH_FEATURE_FLOAT) f->floats = floats = values;
  if (f->kind == ATH_FEATURE_BYTES) f->strings = strings = values;
  for (size_t i = 0; i < count; i++) {
    const json_t *item = json_array_get(items, i);
    if (integers != NULL) ATH_TRY(read_integer(item, f->name, &integers[i]));
    if (floats != NULL) ATH_TRY(read_float(item, f->name, &floats[i]));
    if (strings != NULL) ATH_TRY(read_bytes(arena, item, f->name, &strings[i]));
  }
  return ATH_OK;
}

/* {"int64": […]}, {"float": […]} or {"bytes": […]}. */
static const json_t *list_of_kind(const json_t *object, ath_feature_kind *kind) {
  static const struct { const char *name; ath_feature_kind kind; } kinds[] = {
    {"int64", ATH_FEATURE_INT64}, {"float", ATH_FEATURE_FLOAT}, {"bytes", ATH_FEATURE_BYTES}};
  for (size_t i = 0; json_object_size(object) == 1 && i < sizeof kinds / sizeof *kinds; i++) {
    *kind = kinds[i].kind;
    const json_t *items = json_object_get(object, kinds[i].name);
    if (json_is_array(items)) return items;
  }
  return NULL;
}

static ath_status read_feature(ath_arena *arena, const char *name, json_t *item, ath_feature *f) {
  *f = (ath_feature){.name = name};
  if (json_is_null(item)) return ATH_OK;
  const json_t *items = list_of_kind(item, &f->kind);
  if (items != NULL) return read_values(arena, items, f);
  if (json_is_array(item) && json_array_size(item) == 0)
    return wrong(name, "an empty list has no kind; write {\"int64\": []}, {\"float\": []} or "
                 "{\"bytes\": []}");
  if (json_is_array(item)) {
    f->kind = kind_of_values(item);
    return read_values(arena, item, f);
  }
  if (json_is_boolean(item)) return wrong(name, "true and false are no values of a feature");
  json_t *alone = json_pack("[O]", item);
  if (alone == NULL) return no_memory(name);
  f->kind = kind_of_values(alone);
  ath_status status = read_values(arena, alone, f); /* strings stay those of `item` */
  json_decref(alone);
  return status;
}

/* --- messages ------------------------------------------------------------------------------ */

static ath_status read_features(ath_arena *arena, json_t *object, ath_feature **out,
                                size_t *count) {
  if (!json_is_object(object)) return ath_fail(ATH_INVALID, "features are not a JSON object");
  ath_feature *features = ath_arena_alloc(arena, json_object_size(object) * sizeof *features);
  if (features == NULL) return no_memory("");
  const char *name;
  json_t *item;
  *out = features;
  *count = 0;
  json_object_foreach(object, name, item)
    ATH_TRY(read_feature(arena, name, item, &features[(*count)++]));
  return ATH_OK;
}

static ath_status read_steps(ath_arena *arena, const char *name, const json_t *array,
                             ath_feature_list *out) {
  if (!json_is_array(array)) return wrong(name, "a feature list is not a JSON array of lists");
  size_t count = json_array_size(array);
  ath_feature *steps = ath_arena_alloc(arena, count * sizeof *steps);
  if (steps == NULL) return no_memory(name);
  for (size_t i = 0; i < count; i++)
    ATH_TRY_CONTEXT(read_feature(arena, name, json_array_get(array, i), &steps[i]), "step %zu", i);
  *out = (ath_feature_list){.name = name, .steps = steps, .count = count};
  return ATH_OK;
}

static ath_status write_sequence(ath_arena *arena, json_t *sequence, ath_buffer *out) {
  json_t *context = json_object_get(sequence, "context");
  json_t *object = json_object_get(sequence, "feature_lists");
  if (context == NULL || !json_is_object(object) || json_object_size(sequence) != 2)
    return ath_fail(ATH_INVALID, "a sequence_example has two objects, context and feature_lists");
  ath_feature *features;
  size_t count, lists_count = 0;
  ATH_TRY(read_features(arena, context, &features, &count));
  ath_feature_list *lists = ath_arena_alloc(arena, json_object_size(object) * sizeof *lists);
  if (lists == NULL) return no_memory("feature_lists");
  const char *name;
  json_t *item;
  json_object_foreach(object, name, item)
    ATH_TRY(read_steps(arena, name, item, &lists[lists_count++]));
  return ath_sequence_example_write(features, count, lists, lists_count, out);
}

static ath_status write_message(ath_arena *arena, json_t *root, ath_buffer *out) {
  json_t *sequence = json_object_get(root, "sequence_example");
  ath_feature_kind ignored;
  if (json_is_object(sequence) && json_object_size(root) == 1 &&
      json_object_get(sequence, "base64") == NULL && list_of_kind(sequence, &ignored) == NULL)
    return write_sequence(arena, sequence, out);
  ath_feature *features;
  size_t count;
  ATH_TRY(read_features(arena, root, &features, &count));
  return ath_example_write_any(features, count, out);
}

ath_status ath_example_from_json(const char *text, size_t length, ath_buffer *out) {
  json_error_t error;
  ath_arena *arena = NULL;
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
  if (root == NULL)
    return ath_fail(ATH_INVALID, "not JSON at its character %d: %s", error.position, error.text);
  ath_status status = ath_arena_create(arena_max, &arena);
  if (status == ATH_OK) status = write_message(arena, root, out);
  ath_arena_destroy(arena);
  json_decref(root);
  return status;
}
