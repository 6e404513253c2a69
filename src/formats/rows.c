/* rows.c: the layouts of prepared records. */
#include "athanor/rows.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"

/* --- texts --------------------------------------------------------------------------------- */

ath_status ath_text_row_fill(ath_text_row *self, const int32_t *ids, size_t count,
                             int32_t pad_id) {
  if (count > self->length)
    return ath_fail(ATH_INVALID, "%zu tokens do not fit a row of %zu; cut them first", count,
                    self->length);
  if (count > 0) memcpy(self->input_ids, ids, count * sizeof *ids);
  for (size_t i = count; i < self->length; i++) self->input_ids[i] = pad_id;
  for (size_t i = 0; i < self->length; i++) self->attention_mask[i] = i < count;
  return ATH_OK;
}

ath_status ath_text_row_write(const ath_text_row *self, ath_buffer *out) {
  const ath_int64_feature features[] = {{"attention_mask", self->attention_mask, self->length},
                                        {"input_ids", self->input_ids, self->length},
                                        {"labels", &self->label, 1}};
  return ath_example_write(features, self->labelled ? 3 : 2, out);
}

static ath_status read_label(const void *bytes, size_t length, ath_text_row *self) {
  ath_int64_list label = {.name = "labels", .values = &self->label, .capacity = 1};
  ath_status status = ath_example_read_lists(bytes, length, &label, 1);
  self->labelled = status == ATH_OK;
  if (status == ATH_NOT_FOUND) return ATH_OK;
  ATH_TRY(status);
  return label.count == 1 ? ATH_OK : ath_fail(ATH_INVALID, "labels is empty, not one value");
}

ath_status ath_text_row_read(const void *bytes, size_t length, ath_text_row *self) {
  ath_int64_list lists[] = {
    {.name = "input_ids", .values = self->input_ids, .capacity = self->length},
    {.name = "attention_mask", .values = self->attention_mask, .capacity = self->length}};
  ATH_TRY(ath_example_read_lists(bytes, length, lists, 2));
  for (int i = 0; i < 2; i++)
    if (lists[i].count != self->length)
      return ath_fail(ATH_INVALID, "%s has %zu values, not %zu", lists[i].name, lists[i].count,
                      self->length);
  for (size_t i = 0; i < self->length; i++)
    if (self->attention_mask[i] != 0 && self->attention_mask[i] != 1)
      return ath_fail(ATH_INVALID, "attention_mask: value %zu is %d, not 0 or 1", i,
                      self->attention_mask[i]);
  return read_label(bytes, length, self);
}

/* --- images -------------------------------------------------------------------------------- */

/* The marker SOI and the first byte of the next one (ITU-T T.81, B.1.1.3). */
static ath_status check_jpeg(const ath_bytes *image) {
  if (image->length >= 3 && memcmp(image->bytes, "\xff\xd8\xff", 3) == 0) return ATH_OK;
  return ath_fail(ATH_INVALID, "the image, of %zu bytes, is no JPEG file", image->length);
}

ath_status ath_image_row_write(const ath_image_row *self, ath_buffer *out) {
  ATH_TRY(check_jpeg(&self->image));
  const ath_feature features[] = {
    {.name = "image", .kind = ATH_FEATURE_BYTES, .count = 1, .strings = &self->image},
    {.name = "label", .kind = ATH_FEATURE_INT64, .count = 1, .integers = &self->label}};
  return ath_example_write_any(features, 2, out);
}

typedef struct found_row {
  ath_image_row *row;
  bool image, label;
} found_row;

static bool is_named(const ath_feature_view *view, const char *name) {
  return view->place == ATH_FEATURE_PLAIN && view->name_length == strlen(name) &&
         memcmp(view->name, name, view->name_length) == 0;
}

/* The one value of a feature that has to be of this kind. */
static ath_status read_one(const ath_feature_view *view, ath_feature_kind kind,
                           ath_feature_value *value) {
  ath_feature_cursor cursor = ath_feature_values(view);
  bool there = false;
  if (view->kind == kind && view->count == 1) ATH_TRY(ath_feature_next(&cursor, value, &there));
  if (there) return ATH_OK;
  return ath_fail(ATH_INVALID, "feature \"%.*s\" is not one %s", (int)view->name_length,
                  view->name, kind == ATH_FEATURE_BYTES ? "byte string" : "integer");
}

static ath_status visit(void *context, const ath_feature_view *view) {
  found_row *found = context;
  ath_feature_value value;
  if (is_named(view, "image")) {
    ATH_TRY(read_one(view, ATH_FEATURE_BYTES, &value));
    found->row->image = value.bytes;
    found->image = true;
  } else if (is_named(view, "label")) {
    ATH_TRY(read_one(view, ATH_FEATURE_INT64, &value));
    found->row->label = value.integer;
    found->label = true;
  }
  return ATH_OK;
}

ath_status ath_image_row_read(const void *bytes, size_t length, ath_image_row *self) {
  found_row found = {.row = self};
  ATH_TRY(ath_example_visit(bytes, length, visit, &found));
  if (!found.image || !found.label)
    return ath_fail(ATH_NOT_FOUND, "the Example has no feature \"%s\"",
                    found.image ? "label" : "image");
  return check_jpeg(&self->image);
}
