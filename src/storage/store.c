/* store.c: objects, local or in Cloud Storage: which of the two is asked. */
#include "storage/store.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/file.h"
#include "storage/gcs.h"
#include "storage/names.h"
#include "storage/transfer.h"

enum { COPY_BYTES = 1 << 20, DOWNLOADS_MAX = 5 };

ath_status ath_object_stat(const char *location, ath_object_info *out) {
  struct stat state;
  if (ath_location_is_remote(location)) return ath_gcs_stat(location, out);
  if (stat(location, &state) != 0) return ath_fail_errno(errno, "%s", location);
  if (!S_ISREG(state.st_mode)) return ath_fail(ATH_NOT_FOUND, "%s: not a file", location);
  *out = (ath_object_info){.size = (uint64_t)state.st_size,
                           .version = (uint64_t)state.st_mtim.tv_sec * 1000000000u +
                                      (uint64_t)state.st_mtim.tv_nsec};
  return ATH_OK;
}

/* --- lists -------------------------------------------------------------------------------- */

static ath_status list_local(const char *folder, const ath_names *names,
                             ath_status (*visit)(void *context, const char *name,
                                                 const ath_object_info *info),
                             void *context) {
  for (size_t i = 0; i < names->count; i++) {
    char path[ATH_LOCATION_MAX];
    ath_object_info info;
    ATH_TRY(ath_location_join(path, folder, names->items[i]));
    ath_status status = ath_object_stat(path, &info);
    if (status == ATH_OK) status = visit(context, names->items[i], &info);
    if (status != ATH_OK && status != ATH_NOT_FOUND) return status; /* gone meanwhile, or no file */
  }
  return ATH_OK;
}

ath_status ath_object_list(const char *location,
                           ath_status (*visit)(void *context, const char *name,
                                               const ath_object_info *info),
                           void *context) {
  if (ath_location_is_remote(location)) return ath_gcs_list(location, visit, context);
  ath_names names = {0};
  ath_status status = ath_folder_walk(location, &names);
  if (status == ATH_OK) status = list_local(location, &names, visit, context);
  ath_names_free(&names);
  return status;
}

/* --- reading ------------------------------------------------------------------------------ */

struct ath_object {
  ath_gcs_reader *remote;
  char path[ATH_LOCATION_MAX]; /* else this file */
  int file;
  uint64_t at;
  ath_object_info info;
};

static ath_status open_local(ath_object *self, const char *location) {
  ATH_TRY(ath_object_stat(location, &self->info));
  snprintf(self->path, sizeof self->path, "%s", location);
  self->file = open(location, O_RDONLY | O_CLOEXEC);
  return self->file >= 0 ? ATH_OK : ath_fail_errno(errno, "%s: cannot open", location);
}

ath_status ath_object_open(const char *location, ath_object **out) {
  ath_object *self = calloc(1, sizeof *self);
  *out = NULL;
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to read an object");
  self->file = -1;
  ath_status status = ath_location_is_remote(location)
                          ? ath_gcs_reader_open(location, &self->remote)
                          : open_local(self, location);
  if (status == ATH_OK) *out = self;
  else ath_object_close(self);
  return status;
}

void ath_object_close(ath_object *self) {
  if (self == NULL) return;
  ath_gcs_reader_close(self->remote);
  if (self->file >= 0) close(self->file);
  free(self);
}

const ath_object_info *ath_object_info_of(const ath_object *self) {
  return self->remote != NULL ? ath_gcs_reader_info(self->remote) : &self->info;
}

ath_status ath_object_read(ath_object *self, void *bytes, size_t room, size_t *count) {
  if (self->remote != NULL) return ath_gcs_reader_read(self->remote, bytes, room, count);
  ssize_t got;
  do {
    got = pread(self->file, bytes, room, (off_t)self->at);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return ath_fail_errno(errno, "%s: cannot read", self->path);
  *count = (size_t)got;
  self->at += (uint64_t)got;
  return ATH_OK;
}

ath_status ath_object_seek(ath_object *self, uint64_t at) {
  if (self->remote != NULL) return ath_gcs_reader_seek(self->remote, at);
  self->at = at;
  return ATH_OK;
}

/* --- copying ------------------------------------------------------------------------------ */

static ath_status copy_bytes(ath_object *from, ath_file_writer *to, char *block) {
  size_t count;
  do {
    ATH_TRY(ath_object_read(from, block, COPY_BYTES, &count));
    ATH_TRY(ath_file_writer_write(to, block, count));
    ath_transfer_moved(count);
  } while (count > 0);
  return ATH_OK;
}

/* To a local file, under a temporary name until all is there. */
static ath_status fetch(const char *from, const char *to) {
  ath_object *object = NULL;
  ath_file_writer *writer = NULL;
  char *block = malloc(COPY_BYTES);
  ath_status status = block != NULL ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory to copy");
  if (status == ATH_OK) status = ath_object_open(from, &object);
  if (status == ATH_OK) status = ath_file_writer_open(to, &writer);
  if (status == ATH_OK) status = copy_bytes(object, writer, block);
  if (status == ATH_OK) status = ath_file_writer_commit(writer);
  else ath_file_writer_abandon(writer);
  ath_object_close(object);
  free(block);
  return status;
}

/* What was damaged or replaced on the way is fetched again. */
static ath_status download(const char *from, const char *to) {
  ath_status status = fetch(from, to);
  for (int i = 1; i < DOWNLOADS_MAX && (status == ATH_CORRUPT || status == ATH_MISMATCH); i++)
    status = fetch(from, to);
  return status;
}

ath_status ath_object_copy(const char *from, const char *to) {
  if (!ath_location_is_remote(to)) return download(from, to);
  return ath_location_is_remote(from) ? ath_gcs_rewrite(from, to) : ath_gcs_upload(from, to);
}

ath_status ath_object_delete(const char *location) {
  if (ath_location_is_remote(location)) return ath_gcs_delete(location);
  if (unlink(location) == 0 || errno == ENOENT) return ATH_OK;
  return ath_fail_errno(errno, "%s: cannot delete", location);
}

ath_status ath_object_rename(const char *from, const char *to) {
  bool remote = ath_location_is_remote(from);
  if (remote != ath_location_is_remote(to))
    return ath_fail(ATH_INVALID, "%s: only copying leads from here to there (%s)", from, to);
  if (!remote)
    return rename(from, to) == 0 ? ATH_OK : ath_fail_errno(errno, "%s: cannot rename", from);
  if (strcmp(from, to) == 0) return ATH_OK;
  ATH_TRY(ath_gcs_rewrite(from, to));
  return ath_gcs_delete(from);
}
