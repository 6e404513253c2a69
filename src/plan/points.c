/* points.c: the batch sizes of a slice that were compiled, and those that are asked for. */
#include "plan/points.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

enum { BATCH_MAX = 65536 }; /* that of the setting per_device_train_batch_size */

ath_status ath_batch_sizes_parse(const char *text, int64_t out[ATH_BATCH_SIZES_MAX], int *count) {
  *count = 0;
  if (text == NULL) return ATH_OK;
  for (const char *at = text;; at++) {
    int64_t size = 0;
    for (; isdigit((unsigned char)*at) && size <= BATCH_MAX; at++) size = 10 * size + *at - '0';
    if (size < 1 || size > BATCH_MAX || (*at != ',' && *at != '\0'))
      return ath_fail(ATH_USAGE, "batch sizes \"%.60s\": numbers from 1 to %d are wanted, with "
                      "commas between, as in 8,16,32", text, BATCH_MAX);
    if (*count == ATH_BATCH_SIZES_MAX)
      return ath_fail(ATH_USAGE, "more than %d batch sizes", ATH_BATCH_SIZES_MAX);
    out[(*count)++] = size;
    if (*at == '\0') return ATH_OK;
  }
}

const ath_plan_point *ath_points_find(const ath_plan_report *self, int64_t batch) {
  for (size_t i = 0; i < self->point_count; i++)
    if (self->points[i].batch_per_chip == batch) return &self->points[i];
  return NULL;
}

void ath_points_add(ath_plan_report *self, ath_plan_point point) {
  size_t at = self->point_count;
  assert(at < ATH_POINTS_MAX && ath_points_find(self, point.batch_per_chip) == NULL);
  for (; at > 0 && self->points[at - 1].batch_per_chip > point.batch_per_chip; at--)
    self->points[at] = self->points[at - 1];
  self->points[at] = point;
  self->point_count++;
}
