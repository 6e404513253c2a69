/* example_to_json.c: a message's features in JSON. */
#include <assert.h>
#include <math.h>
#include <nettle/base64.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "formats/example_json.h"

/* --- collecting ----------------------------------------------------------------------------
 *
 * Of two entries with one name the last counts, and a message may have its parts in any order: so
 * all views are there before the first is written. A list's steps follow it. */

typedef struct entry {
  ath_feature_view view;
  size_t number;
  bool replaced;
} entry;

typedef struct entries {
  entry *items;
  size_t count, capacity;
  bool sequence;
} entries;

static ath_status add_entry(void *context, const ath_feature_view *view) {
  entries *self = context;
  if (self->count == self->capacity) {
    size_t larger = self->capacity == 0 ? 16 : self->capacity * 2;
    entry *more = realloc(self->items, larger * sizeof *more);
    if (more == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu features", larger);
    self->items = more;
    self->capacity = larger;
  }
  self->items[self->count] = (entry){*view, self->count, false};
  self->count++;
  self->sequence = self->sequence || view->place == ATH_FEATURE_STEPS;
  return ATH_OK;
}

static int by_name(const ath_feature_view *x, const ath_feature_view *y) {
  if (x->place != y->place) return x->place < y->place ? -1 : 1;
  size_t shorter = x->name_length < y->name_length ? x->name_length : y->name_length;
  int order = shorter > 0 ? memcmp(x->name, y->name, shorter) : 0;
  if (order != 0 || x->name_length == y->name_length) return order;
  return x->name_length < y->name_length ? -1 : 1;
}

static int by_name_and_number(const void *a, const void *b) {
  const entry *x = *(const entry *const *)a, *y = *(const entry *const *)b;
  int order = by_name(&x->view, &y->view);
  return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

static ath_status mark_replaced(entries *self) {
  if (self->count < 2) return ATH_OK;
  entry **sorted = malloc(self->count * sizeof *sorted);
  if (sorted == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu features", self->count);
  for (size_t i = 0; i < self->count; i++) sorted[i] = &self->items[i];
  qsort(sorted, self->count, sizeof *sorted, by_name_and_number);
  for (size_t i = 0; i + 1 < self->count; i++)
    sorted[i]->replaced = by_name(&sorted[i]->view, &sorted[i + 1]->view) == 0;
  free(sorted);
  return ATH_OK;
}

/* --- values -------------------------------------------------------------------------------- */

static const char *const kind_names[] = {[ATH_FEATURE_BYTES] = "bytes", [ATH_FEATURE_FLOAT] =
                                         "float", [ATH_FEATURE_INT64] = "int64"};

/* The shortest digits that read back as the same number, with a point or an exponent in them. */
static ath_status put_float(ath_buffer *out, float value) {
  enum { LEAST_DIGITS = 6, MOST_DIGITS = 9 };
  char text[32];
  if (isnan(value)) return ath_buffer_string(out, "\"NaN\"");
  if (isinf(value)) return ath_buffer_string(out, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  for (int digits = LEAST_DIGITS; digits <= MOST_DIGITS; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)value);
    if ((float)strtod(text, NULL) == value) break; /* reading goes by way of a double, too */
  }
  ATH_TRY(ath_buffer_string(out, text));
  return strpbrk(text, ".e") != NULL ? ATH_OK : ath_buffer_string(out, ".0");
}

static ath_status put_bytes(ath_buffer *out, const ath_bytes *bytes) {
  const char *text = bytes->length > 0 ? bytes->bytes : "";
  if (ath_utf8_prefix(text, bytes->length) == bytes->length)
    return ath_buffer_json(out, text, bytes->length);
  size_t room = BASE64_ENCODE_RAW_LENGTH(bytes->length);
  ATH_TRY(ath_buffer_string(out, "{\"base64\": \""));
  ATH_TRY(ath_buffer_reserve(out, room));
  base64_encode_raw(out->bytes + out->length, bytes->length, bytes->bytes);
  out->length += room;
  return ath_buffer_string(out, "\"}");
}

static ath_status put_value(ath_buffer *out, ath_feature_kind kind, const ath_feature_value *v) {
  if (kind == ATH_FEATURE_INT64) return ath_buffer_integer(out, v->integer);
  return kind == ATH_FEATURE_FLOAT ? put_float(out, v->real) : put_bytes(out, &v->bytes);
}

/* Whether a plain JSON list tells the kind, and has all values. */
static ath_status is_plain(const ath_feature_view *view, bool *plain) {
  ath_feature_cursor cursor = ath_feature_values(view);
  ath_feature_value value;
  *plain = view->count > 0;
  for (bool there = view->kind == ATH_FEATURE_FLOAT; there && *plain;) {
    ATH_TRY(ath_feature_next(&cursor, &value, &there));
    if (there && !isfinite(value.real)) *plain = false;
  }
  return ATH_OK;
}

static ath_status put_list(ath_buffer *out, const ath_feature_view *view) {
  if (view->kind == ATH_FEATURE_EMPTY) return ath_buffer_string(out, "null");
  ath_feature_cursor cursor = ath_feature_values(view);
  ath_feature_value value;
  bool plain = false, there = true;
  ATH_TRY(is_plain(view, &plain));
  if (!plain) ATH_TRY(ath_buffer_format(out, "{\"%s\": ", kind_names[view->kind]));
  ATH_TRY(ath_buffer_byte(out, '['));
  for (size_t i = 0; there; i++) {
    ATH_TRY(ath_feature_next(&cursor, &value, &there));
    if (there && i > 0) ATH_TRY(ath_buffer_string(out, ", "));
    if (there) ATH_TRY(put_value(out, view->kind, &value));
  }
  return ath_buffer_string(out, plain ? "]" : "]}");
}

/* --- messages ------------------------------------------------------------------------------ */

static ath_status put_name(ath_buffer *out, const ath_feature_view *view) {
  if (ath_utf8_prefix(view->name, view->name_length) != view->name_length)
    return ath_fail(ATH_INVALID, "a feature's name is not UTF-8");
  ATH_TRY(ath_buffer_json(out, view->name, view->name_length));
  return ath_buffer_string(out, ": ");
}

static ath_status put_steps(ath_buffer *out, const entry *list) {
  ATH_TRY(ath_buffer_byte(out, '['));
  for (size_t i = 0; i < list->view.count; i++) {
    const ath_feature_view *step = &list[1 + i].view;
    assert(step->place == ATH_FEATURE_STEP);
    if (i > 0) ATH_TRY(ath_buffer_string(out, ", "));
    ATH_TRY(put_list(out, step));
  }
  return ath_buffer_byte(out, ']');
}

/* An object of all that stand in one place. */
static ath_status put_object(ath_buffer *out, const entries *self, ath_feature_place place) {
  const char *between = "";
  ATH_TRY(ath_buffer_byte(out, '{'));
  for (size_t i = 0; i < self->count; i++) {
    const entry *e = &self->items[i];
    if (e->view.place != place || e->replaced) continue;
    ATH_TRY(ath_buffer_string(out, between));
    ATH_TRY(put_name(out, &e->view));
    ATH_TRY(place == ATH_FEATURE_STEPS ? put_steps(out, e) : put_list(out, &e->view));
    between = ", ";
  }
  return ath_buffer_byte(out, '}');
}

static ath_status put_message(ath_buffer *out, const entries *self) {
  if (!self->sequence) return put_object(out, self, ATH_FEATURE_PLAIN);
  ATH_TRY(ath_buffer_string(out, "{\"sequence_example\": {\"context\": "));
  ATH_TRY(put_object(out, self, ATH_FEATURE_PLAIN));
  ATH_TRY(ath_buffer_string(out, ", \"feature_lists\": "));
  ATH_TRY(put_object(out, self, ATH_FEATURE_STEPS));
  return ath_buffer_string(out, "}}");
}

ath_status ath_example_to_json(const void *bytes, size_t length, ath_buffer *out) {
  entries all = {0};
  ath_status status = ath_example_visit(bytes, length, add_entry, &all);
  if (status == ATH_OK) status = mark_replaced(&all);
  if (status == ATH_OK) status = put_message(out, &all);
  free(all.items);
  return status;
}
