/* gcs_parts.c: uploads of large files in parallel parts, which the service then joins. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/outcome.h"
#include "storage/gcs.h"
#include "storage/parallel.h"

enum { PARTS_MAX = 32 }; /* as many as one request joins */

typedef struct parts {
  int file;
  uint64_t size, part; /* bytes of the whole, and of each but the last */
  size_t count;
  uint32_t crc[PARTS_MAX];
  char location[PARTS_MAX][ATH_LOCATION_MAX];
} parts;

static uint64_t length_of(const parts *self, size_t index) {
  uint64_t begin = index * self->part, left = self->size - begin;
  return left < self->part ? left : self->part;
}

static ath_status send_part(void *context, size_t index) {
  parts *self = context;
  return ath_gcs_send(self->file, index * self->part, length_of(self, index),
                      self->location[index], &self->crc[index]);
}

/* Beside the object, under names that no other upload has. */
static ath_status name_parts(parts *self, const char *location) {
  unsigned long long moment = (unsigned long long)(1e9 * seconds_of_clock(CLOCK_REALTIME));
  for (size_t i = 0; i < self->count; i++) {
    ath_gcs_name name;
    if (snprintf(self->location[i], ATH_LOCATION_MAX, "%s" ATH_GCS_PART_MARK "%llx-%x-%zu",
                 location, moment, (unsigned)getpid(), i) >= ATH_LOCATION_MAX)
      return ath_fail(ATH_INVALID, "%.80s…: the name is too long", location);
    ATH_TRY(ath_gcs_parse(self->location[i], false, &name));
  }
  return ATH_OK;
}

static ath_status join(const parts *self, const char *location) {
  const char *objects[PARTS_MAX];
  ath_object_info info;
  ath_gcs_name name;
  uint32_t crc = 0;
  ATH_TRY(ath_gcs_parse(location, false, &name));
  for (size_t i = 0; i < self->count; i++) {
    objects[i] = self->location[i] + strlen("gs://") + strlen(name.bucket) + 1;
    crc = ath_crc32c_join(crc, self->crc[i], length_of(self, i));
  }
  ATH_TRY(ath_gcs_compose(&name, objects, self->count, &info));
  if (info.size == self->size && (!info.has_crc || info.crc32c == crc)) return ATH_OK;
  return ath_fail(ATH_CORRUPT, "%s: joined of its parts it is not what was sent: its checksum or "
                  "size differs", location);
}

static ath_status delete_part(void *context, size_t index) {
  const parts *self = context;
  return ath_gcs_delete(self->location[index]);
}

static ath_status send_parts(int file, uint64_t size, uint64_t part, const char *location) {
  parts *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for an upload");
  uint64_t least = (size + PARTS_MAX - 1) / PARTS_MAX;
  self->file = file;
  self->size = size;
  self->part = part >= least ? part : (least + ATH_GCS_GRAIN - 1) / ATH_GCS_GRAIN * ATH_GCS_GRAIN;
  self->count = (size_t)((size + self->part - 1) / self->part);
  ath_status status = name_parts(self, location);
  if (status == ATH_OK) status = ath_parallel(self->count, ATH_GCS_THREADS, send_part, self);
  if (status == ATH_OK) status = join(self, location);
  if (status == ATH_OK) {
    status = ath_parallel(self->count, ATH_GCS_THREADS, delete_part, self);
  } else { /* what is left of them is of no use, and why it failed matters more */
    ath_outcome outcome;
    ath_outcome_keep(&outcome, status);
    (void)!ath_parallel(self->count, ATH_GCS_THREADS, delete_part, self);
    status = ath_outcome_return(&outcome);
  }
  free(self);
  return status;
}

static ath_status send_file(int file, const char *path, const char *location) {
  struct stat state;
  uint32_t crc;
  if (fstat(file, &state) != 0) return ath_fail_errno(errno, "%s", path);
  if (!S_ISREG(state.st_mode)) return ath_fail(ATH_INVALID, "%s: not a file", path);
  uint64_t size = (uint64_t)state.st_size, part = ath_gcs_sizes_get().part;
  return size <= part ? ath_gcs_send(file, 0, size, location, &crc)
                      : send_parts(file, size, part, location);
}

ath_status ath_gcs_upload(const char *path, const char *location) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return ath_fail_errno(errno, "%s: cannot open", path);
  ath_status status = send_file(file, path, location);
  close(file);
  return status;
}
