/* location.h: where objects are: a path, or gs://bucket/name in Cloud Storage. */
#ifndef ATHANOR_STORAGE_LOCATION_H
#define ATHANOR_STORAGE_LOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "athanor/status.h"

enum { ATH_LOCATION_MAX = 4096 }; /* bytes, with the NUL */

bool ath_location_is_remote(const char *location); /* gs:// */
/* "a" + "b" → "a/b", for paths as for gs://. */
ath_status ath_location_join(char out[ATH_LOCATION_MAX], const char *folder, const char *name)
    ATH_MUST_CHECK;

/* What is known of an object there. */
typedef struct ath_object_info {
  uint64_t size;
  uint64_t version;  /* changes whenever the content does: generation, or time of change in ns */
  bool has_crc;
  uint32_t crc32c;
} ath_object_info;

#endif
