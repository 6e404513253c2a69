/* survey.c: counting records and features. */
#include "data/survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "storage/file.h"

static void add_to_span(ath_span *self, uint64_t count) {
  if (self->times == 0 || count < self->least) self->least = count;
  if (self->times == 0 || count > self->most) self->most = count;
  self->times++;
  self->sum += count;
}

/* --- features ------------------------------------------------------------------------------ */

static bool is_same(const ath_feature_survey *known, const ath_feature_view *view) {
  return known->place == view->place && known->name_length == view->name_length &&
         memcmp(known->name, view->name, view->name_length) == 0;
}

/* Adds one that was not met before; *out stays NULL when there are too many. */
static ath_status add_feature(ath_survey *self, const ath_feature_view *view,
                              ath_feature_survey **out) {
  if (self->count == ATH_SURVEY_FEATURES_MAX) {
    self->more = true;
    return ATH_OK;
  }
  ath_feature_survey *all = realloc(self->features, (self->count + 1) * sizeof *all);
  if (all == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu features", self->count + 1);
  self->features = all;
  char *name = calloc(1, view->name_length + 1);
  if (name == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a feature's name");
  memcpy(name, view->name, view->name_length);
  all[self->count] = (ath_feature_survey){.name = name, .name_length = view->name_length,
                                          .place = view->place};
  *out = &all[self->count++];
  return ATH_OK;
}

static ath_status add_view(void *context, const ath_feature_view *view) {
  ath_survey *self = context;
  ath_feature_survey *found = NULL;
  for (size_t i = 0; i < self->count && found == NULL; i++)
    if (is_same(&self->features[i], view)) found = &self->features[i];
  if (found == NULL) ATH_TRY(add_feature(self, view, &found));
  if (found != NULL) add_to_span(&found->counts[view->kind], view->count);
  return ATH_OK;
}

static ath_status ignore_view(void *context, const ath_feature_view *view) {
  (void)context, (void)view;
  return ATH_OK;
}

/* --- files --------------------------------------------------------------------------------- */

static ath_status add_record(ath_survey *self, const ath_record *record, uint64_t look_at) {
  add_to_span(&self->lengths, record->length);
  if (self->looked_at >= look_at) return ATH_OK;
  self->looked_at++;
  /* What is not an Example from its beginning to its end adds no features. */
  if (ath_example_visit(record->bytes, record->length, ignore_view, NULL) != ATH_OK)
    return ATH_OK;
  self->examples++;
  return ath_example_visit(record->bytes, record->length, add_view, self);
}

ath_status ath_survey_file(ath_survey *self, const char *path, const ath_tfrecord_options *options,
                           uint64_t look_at) {
  enum { REPORT_EVERY = 1 << 16 };
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  ath_status status;
  uint64_t size;
  ath_progress progress = {.task = "data: counting", .unit = "records"};
  ATH_TRY(ath_file_size(path, &size));
  ATH_TRY(ath_tfrecord_open_with(path, options, &reader));
  self->files++;
  self->file_bytes += size;
  self->compression = ath_tfrecord_compression(reader);
  while ((status = ath_tfrecord_next(reader, &record)) == ATH_OK && record.bytes != NULL) {
    ATH_TRY_GOTO(add_record(self, &record, look_at), done);
    progress.done = self->lengths.times;
    if (progress.done % REPORT_EVERY == 0) ath_log_progress(&progress);
  }
done:
  ath_tfrecord_close(reader);
  return status;
}

void ath_survey_free(ath_survey *self) {
  for (size_t i = 0; i < self->count; i++) free(self->features[i].name);
  free(self->features);
  *self = (ath_survey){0};
}
