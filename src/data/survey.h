/* survey.h: what record files hold: how many records, how long, and of Examples which features. */
#ifndef ATHANOR_DATA_SURVEY_H
#define ATHANOR_DATA_SURVEY_H

#include "athanor/tfrecord.h"

enum { ATH_SURVEY_FEATURES_MAX = 1000 };

/* A range of counts, and how many were added. */
typedef struct ath_span {
  uint64_t least, most, times, sum;
} ath_span;

typedef struct ath_feature_survey {
  char *name; /* owned; NUL-terminated, and may hold other NULs */
  size_t name_length;
  ath_feature_place place;
  ath_span counts[ATH_FEATURE_INT64 + 1]; /* values by kind; of feature lists the first: steps */
} ath_feature_survey;

typedef struct ath_survey {
  uint64_t files, file_bytes;
  ath_compression compression; /* of the last file */
  ath_span lengths;            /* of the records' data */
  uint64_t looked_at, examples; /* records whose content was looked at; that are Examples */
  ath_feature_survey *features; /* in the order in which they were met, … */
  size_t count;
  bool more;                    /* … the first ones, if there are very many */
} ath_survey;

/* Adds a file, every checksum of it verified; looks at the content of the first `look_at` records
 * of the survey. */
ath_status ath_survey_file(ath_survey *self, const char *path, const ath_tfrecord_options *options,
                           uint64_t look_at) ATH_MUST_CHECK;
void ath_survey_free(ath_survey *self);

#endif
