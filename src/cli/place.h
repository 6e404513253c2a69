/* place.h: where a command writes: here, or in Cloud Storage, by way of a folder here. */
#ifndef ATHANOR_CLI_PLACE_H
#define ATHANOR_CLI_PLACE_H

#include <stdbool.h>

#include "storage/file.h"
#include "storage/mirror.h"
#include "storage/store.h"

typedef enum ath_cli_place_kind { ATH_CLI_PLACE_FOLDER, ATH_CLI_PLACE_FILE } ath_cli_place_kind;

typedef struct ath_cli_place {
  const char *given;       /* NULL: the command writes nowhere */
  char path[ATH_PATH_MAX]; /* where to write */
  ath_cli_place_kind kind;
  bool remote;
  ath_mirror *mirror;
  int lock;
} ath_cli_place;

/* A folder in Cloud Storage is brought here first, so that a command that goes on with what it
 * left can; with `fresh` checkpoints are deleted instead. It is kept up to date while the command
 * runs. A file is sent when it is finished. Close follows open, also where that failed. */
ath_status ath_cli_place_open(ath_cli_place *self, ath_cli_place_kind kind, const char *given,
                              bool fresh) ATH_MUST_CHECK;
/* Sends what is left. Returns `status`, the command's own, unless that is ATH_OK. */
ath_status ath_cli_place_close(ath_cli_place *self, ath_status status) ATH_MUST_CHECK;

#endif
