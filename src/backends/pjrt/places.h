/* places.h: where the plugin of a device is looked for. */
#ifndef ATHANOR_BACKENDS_PJRT_PLACES_H
#define ATHANOR_BACKENDS_PJRT_PLACES_H

#include <stdbool.h>

#include "athanor/status.h"
#include "storage/file.h"

typedef struct ath_pjrt_kind {
  const char *device;   /* "xla:cpu" */
  const char *name;     /* "cpu", as `athanor plugins install` has it */
  const char *variable; /* "ATHANOR_PJRT_CPU" */
  const char *file;     /* the file's name in the user's data folder */
  const char *installed[6]; /* patterns below a site-packages folder, or whole paths; NULL ends */
} ath_pjrt_kind;

/* Ends with one whose device is NULL. */
extern const ath_pjrt_kind ath_pjrt_kinds[];
/* The kind of a device name, or NULL. */
const ath_pjrt_kind *ath_pjrt_kind_find(const char *device);

/* The kind's file in the user's folder of plugins, whether it is there or not. */
ath_status ath_pjrt_folder_file(const ath_pjrt_kind *kind, char out[ATH_PATH_MAX])
    ATH_MUST_CHECK;

/* The first plugin found, in the order of client.h; a variable that is set is the only place looked
 * at. ATH_NOT_FOUND tells every place and the command that installs it. */
ath_status ath_pjrt_find(const ath_pjrt_kind *kind, char out[ATH_PATH_MAX]) ATH_MUST_CHECK;

#endif
