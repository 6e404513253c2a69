/* wheels.h: the Python wheels that plugins, XLA's and DuckDB, are taken from. */
#ifndef ATHANOR_CLI_WHEELS_H
#define ATHANOR_CLI_WHEELS_H

#include "athanor/status.h"
#include "backends/pjrt/places.h"

typedef struct ath_wheel {
  const char *name;    /* of the plugin: "cpu" */
  const char *project; /* at the index: "libtpu" */
  const char *version, *file, *sha256;
  const char *entry;   /* the plugin within it */
  const char *note;    /* what else it needs, or NULL */
  int megabytes;
} ath_wheel;

/* The wheel of a plugin; ATH_USAGE names those there are. */
ath_status ath_wheel_find(const char *name, const ath_wheel **out) ATH_MUST_CHECK;

/* Takes the plugin out of a wheel on this disk, whose SHA-256 must be the known one, into the
 * user's folder; `path` is where it then is. */
ath_status ath_wheel_install(const ath_wheel *self, const char *wheel, char path[ATH_PATH_MAX])
    ATH_MUST_CHECK;

/* The same from a package index (the "simple" pages that pip reads). */
ath_status ath_wheel_download(const ath_wheel *self, const char *index, char path[ATH_PATH_MAX])
    ATH_MUST_CHECK;

/* "libtpu 0.0.52", as it was installed; "" when the file at `plugin` was not installed so. */
void ath_wheel_origin(const char *plugin, char *out, size_t size);

#endif
