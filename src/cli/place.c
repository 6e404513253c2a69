/* place.c: where a command writes: here, or in Cloud Storage, by way of a folder here. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outcome.h"
#include "cli/cli.h"
#include "cli/place.h"

static const char *const last[] = {"SHA256SUMS", "manifest.json", "all_results.json", NULL};

static ath_status keep(ath_cli_place *self, const char *path) {
  if (strlen(path) >= ATH_PATH_MAX)
    return ath_fail(ATH_INVALID, "%.80s…: the path is too long", path);
  memcpy(self->path, path, strlen(path) + 1);
  return ATH_OK;
}

/* Of several processes each would send what it has. */
static ath_status check_alone(const char *location) {
  const char *size = getenv("OMPI_COMM_WORLD_SIZE");
  if (size == NULL) size = getenv("PMIX_RANK") != NULL ? getenv("SLURM_NTASKS") : NULL;
  if (size == NULL || strtol(size, NULL, 10) <= 1) return ATH_OK;
  return ath_fail(ATH_UNSUPPORTED, "%s: several processes write to a folder that all of them see, "
                  "not to Cloud Storage", location);
}

/* Two commands that write to one location would spoil each other's copy. */
static ath_status lock_copy(ath_cli_place *self) {
  char above[ATH_PATH_MAX];
  memcpy(above, self->path, sizeof above);
  *strrchr(above, '/') = '\0';
  return ath_folder_lock(above, "another process writes to this location", &self->lock);
}

static ath_status open_folder(ath_cli_place *self, bool fresh) {
  const ath_mirror_options options = {
    .location = self->given, .folder = self->path, .last = last, .numbered = "checkpoint-",
    .complete = last[0], .fresh = fresh};
  return ath_mirror_open(&options, &self->mirror);
}

ath_status ath_cli_place_open(ath_cli_place *self, ath_cli_place_kind kind, const char *given,
                              bool fresh) {
  *self = (ath_cli_place){.given = given, .kind = kind, .lock = -1};
  if (given == NULL) return ATH_OK;
  self->remote = ath_location_is_remote(given);
  if (!self->remote) return keep(self, given);
  ATH_TRY(check_alone(given));
  ATH_TRY(ath_cache_place(given, self->path));
  ATH_TRY(lock_copy(self));
  return kind == ATH_CLI_PLACE_FOLDER ? open_folder(self, fresh) : ATH_OK;
}

ath_status ath_cli_place_close(ath_cli_place *self, ath_status status) {
  ath_outcome outcome;
  ath_outcome_keep(&outcome, status);
  if (self->remote && self->kind == ATH_CLI_PLACE_FOLDER) status = ath_mirror_close(self->mirror);
  else if (self->remote && status == ATH_OK) status = ath_object_copy(self->path, self->given);
  else status = ATH_OK;
  if (self->lock >= 0) close(self->lock);
  return outcome.status != ATH_OK ? ath_outcome_return(&outcome) : status;
}
