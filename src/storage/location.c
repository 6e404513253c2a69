/* location.c: what a location's name tells. */
#include "storage/location.h"

#include <stdio.h>
#include <string.h>

bool ath_location_is_remote(const char *location) { return strncmp(location, "gs://", 5) == 0; }

ath_status ath_location_join(char out[ATH_LOCATION_MAX], const char *folder, const char *name) {
  size_t length = strlen(folder);
  const char *between = length > 0 && folder[length - 1] == '/' ? "" : "/";
  if (snprintf(out, ATH_LOCATION_MAX, "%s%s%s", folder, between, name) >= ATH_LOCATION_MAX)
    return ath_fail(ATH_INVALID, "%.60s…/%.60s: the path is too long", folder, name);
  return ATH_OK;
}
