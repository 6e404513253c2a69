/* cache.c: local copies of what lies in Cloud Storage.
 *
 * Each location that was asked for has a folder, "<its name, escaped>.copy", with the object or the
 * objects below it, and a file "<…>.lock" beside it, which a process that uses the copy holds
 * locked until it ends, and whose time of change says when it was used last; who brings the copy
 * up to date locks "<…>.fetching" meanwhile. A file's time of change is its object's version. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/resize.h"
#include "storage/cache_room.h"
#include "storage/file.h"
#include "storage/gcs.h"
#include "storage/lock.h"
#include "storage/names.h"
#include "storage/parallel.h"
#include "storage/pattern.h"
#include "storage/store.h"
#include "storage/transfer.h"

enum { FETCH_THREADS = 4, ENTRY_NAME_MAX = 180 };

static ath_status cache_folder(char out[ATH_PATH_MAX]) {
  const char *given = getenv("ATHANOR_CACHE_DIR"), *home = getenv("HOME");
  if (given == NULL || *given == '\0')
    return ath_path_join(out, home != NULL ? home : "", ".cache/athanor/gs");
  if (strlen(given) >= ATH_PATH_MAX) return ath_fail(ATH_INVALID, "ATHANOR_CACHE_DIR is too long");
  memcpy(out, given, strlen(given) + 1);
  return ATH_OK;
}

/* FNV-1a; where names are cut it tells them apart. */
static uint64_t hash_of(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

/* "gs://bucket/a/b/" → "<cache>/bucket%2Fa%2Fb<ending>" and "b", which must be the name of a folder
 * or a file in it. */
static ath_status entry_of(const char *location, const char *ending, char entry[ATH_PATH_MAX],
                           char base[ATH_PATH_MAX]) {
  char folder[ATH_PATH_MAX], plain[ATH_LOCATION_MAX], name[ENTRY_NAME_MAX + 32];
  ath_buffer escaped = ath_buffer_make(4 * ATH_LOCATION_MAX);
  ath_gcs_name parts;
  ATH_TRY(ath_gcs_parse(location, true, &parts));
  size_t length = strlen(location);
  while (length > 0 && location[length - 1] == '/') length--;
  if (length >= ATH_LOCATION_MAX)
    return ath_fail(ATH_INVALID, "%.60s…: the location is too long", location);
  snprintf(plain, sizeof plain, "%.*s", (int)length, location);
  bool pattern = strpbrk(plain + strlen("gs://"), "*?[") != NULL;
  snprintf(base, ATH_PATH_MAX, "%s", pattern ? "matched" : strrchr(plain, '/') + 1);
  ATH_TRY_CONTEXT(ath_name_check(base), "%s", location);
  ATH_TRY(cache_folder(folder));
  ATH_TRY(ath_folder_create(folder));
  ath_status status = ath_http_escape(&escaped, plain + strlen("gs://"), "");
  if (status == ATH_OK && escaped.length > ENTRY_NAME_MAX)
    snprintf(name, sizeof name, "%.*s-%016llx%s", ENTRY_NAME_MAX - 20, escaped.bytes,
             (unsigned long long)hash_of(plain), ending);
  else if (status == ATH_OK)
    snprintf(name, sizeof name, "%s%s", escaped.length > 0 ? escaped.bytes : "", ending);
  ath_buffer_free(&escaped);
  return status == ATH_OK ? ath_path_join(entry, folder, name) : status;
}

/* --- what there is ------------------------------------------------------------------------ */

typedef struct wanted {
  char *name;
  ath_object_info info;
} wanted;

typedef struct fetching {
  const char *location, *entry, *base;
  char folder[ATH_LOCATION_MAX]; /* what the names are relative to */
  const char *pattern;           /* which of them are wanted; NULL: all */
  bool deep;                     /* also what lies in folders of the folder */
  bool single; /* an object, not a folder */
  wanted *files;
  size_t count, capacity;
  uint64_t missing; /* bytes of those at the front, which are not here */
  size_t missing_count;
} fetching;

static ath_status add(void *context, const char *name, const ath_object_info *info) {
  fetching *self = context;
  if (self->pattern != NULL && !ath_path_matches(self->pattern, name)) return ATH_OK;
  if (self->pattern == NULL && !self->deep && strchr(name, '/') != NULL) return ATH_OK;
  ATH_TRY(ath_name_check(name));
  if (self->count == self->capacity) {
    size_t capacity = self->capacity > 0 ? 2 * self->capacity : 64;
    if (capacity > ATH_NAMES_MAX || !ath_resize(&self->files, capacity * sizeof *self->files))
      return ath_fail(ATH_NO_MEMORY, "no memory for a list of files");
    self->capacity = capacity;
  }
  char *copy = strdup(name);
  if (copy == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list of files");
  self->files[self->count++] = (wanted){copy, *info};
  return ATH_OK;
}

/* "gs://bucket/a/b*.txt" is what matches "b*.txt" in "gs://bucket/a". */
static void cut_pattern(fetching *self) {
  snprintf(self->folder, sizeof self->folder, "%s", self->location);
  const char *special = strpbrk(self->location + strlen("gs://"), "*?[");
  if (special == NULL) return;
  while (*special != '/') special--;
  self->folder[special - self->location] = '\0';
  self->pattern = special + 1;
}

static ath_status look(fetching *self) {
  ath_object_info info;
  bool folder = self->location[strlen(self->location) - 1] == '/' ||
                strchr(self->location + strlen("gs://"), '/') == NULL;
  ath_status status = folder ? ATH_NOT_FOUND : ath_object_stat(self->location, &info);
  self->single = status == ATH_OK;
  if (self->single) return add(self, self->base, &info);
  if (status != ATH_NOT_FOUND) return status;
  cut_pattern(self);
  ATH_TRY(ath_object_list(self->folder, add, self));
  if (self->count > 0) return ATH_OK;
  return ath_fail(ATH_NOT_FOUND, "%s: neither an object nor a folder of any", self->location);
}

static ath_status local_path(const fetching *self, const wanted *file, char out[ATH_PATH_MAX]) {
  char folder[ATH_PATH_MAX];
  if (self->single) return ath_path_join(out, self->entry, file->name);
  ATH_TRY(ath_path_join(folder, self->entry, self->base));
  return ath_path_join(out, folder, file->name);
}

static struct timespec stamp_of(const ath_object_info *info) {
  return (struct timespec){.tv_sec = (time_t)(info->version / 1000000000u),
                           .tv_nsec = (long)(info->version % 1000000000u)};
}

/* Moves those that are missing to the front. */
static ath_status find_missing(fetching *self) {
  for (size_t i = 0; i < self->count; i++) {
    char path[ATH_PATH_MAX];
    struct stat state;
    const wanted file = self->files[i];
    struct timespec stamp = stamp_of(&file.info);
    ATH_TRY(local_path(self, &file, path));
    if (stat(path, &state) == 0 && (uint64_t)state.st_size == file.info.size &&
        file.info.version != 0 && state.st_mtim.tv_sec == stamp.tv_sec &&
        state.st_mtim.tv_nsec == stamp.tv_nsec)
      continue;
    self->files[i] = self->files[self->missing_count];
    self->files[self->missing_count++] = file;
    self->missing += file.info.size;
  }
  return ATH_OK;
}

/* --- fetching ----------------------------------------------------------------------------- */

static ath_status fetch_one(void *context, size_t index) {
  const fetching *self = context;
  const wanted *file = &self->files[index];
  char from[ATH_LOCATION_MAX], path[ATH_PATH_MAX];
  struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, stamp_of(&file->info)};
  ATH_TRY(local_path(self, file, path));
  if (self->single) snprintf(from, sizeof from, "%s", self->location);
  else ATH_TRY(ath_location_join(from, self->folder, file->name));
  ATH_TRY(ath_folder_create_above(path));
  ATH_TRY(ath_object_copy(from, path));
  return utimensat(AT_FDCWD, path, times, 0) == 0 ? ATH_OK : ath_fail_errno(errno, "%s", path);
}

/* What was in the folder and is no more. */
static ath_status remove_others(const fetching *self) {
  ath_names here = {0}, names = {0};
  char folder[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(folder, self->entry, self->single ? "" : self->base));
  ath_status status = ATH_OK;
  for (size_t i = 0; i < self->count && status == ATH_OK; i++)
    status = ath_names_add(&names, self->files[i].name);
  ath_names_sort(&names);
  if (status == ATH_OK) status = ath_folder_walk(folder, &here);
  for (size_t i = 0; i < here.count && status == ATH_OK; i++) {
    char path[ATH_PATH_MAX];
    if (ath_names_contain(&names, here.items[i])) continue;
    status = ath_path_join(path, folder, here.items[i]);
    if (status == ATH_OK) unlink(path);
  }
  ath_names_free(&here);
  ath_names_free(&names);
  return status;
}

/* "<entry without .copy><ending>" */
static ath_status beside(const fetching *self, const char *ending, char out[ATH_PATH_MAX]) {
  int stem = (int)(strlen(self->entry) - strlen(".copy"));
  if (snprintf(out, ATH_PATH_MAX, "%.*s%s", stem, self->entry, ending) < ATH_PATH_MAX)
    return ATH_OK;
  return ath_fail(ATH_INVALID, "%.60s…: the path is too long", self->entry);
}

/* What is in use is not given up for want of room. */
static ath_status mark_as_used(const fetching *self) {
  char lock[ATH_PATH_MAX];
  ATH_TRY(beside(self, ".lock", lock));
  int handle = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (handle < 0) return ath_fail_errno(errno, "%s", lock);
  flock(handle, LOCK_SH); /* until the process ends */
  futimens(handle, NULL);
  return ATH_OK;
}

static ath_status fetch_missing(fetching *self) {
  ath_transfer transfer, *before = ath_transfer_attended();
  ath_transfer_init(&transfer, "fetching", self->location, false);
  transfer.total = self->missing;
  ath_transfer_attend(&transfer);
  ath_status status = ath_parallel(self->missing_count, FETCH_THREADS, fetch_one, self);
  ath_transfer_attend(before);
  ath_transfer_finish(&transfer, status == ATH_OK);
  return status;
}

static ath_status bring_up_to_date(fetching *self) {
  ATH_TRY(look(self));
  ATH_TRY(find_missing(self));
  if (self->missing_count > 0) {
    ATH_TRY(ath_cache_make_room(self->entry, self->missing));
    ATH_TRY(fetch_missing(self));
  }
  return remove_others(self);
}

/* Of several processes that want the same one fetches, and the others wait: they would remove each
 * other's unfinished files. */
static ath_status fetch(fetching *self) {
  char path[ATH_PATH_MAX];
  int lock;
  ATH_TRY(beside(self, ".fetching", path));
  ATH_TRY(mark_as_used(self));
  ATH_TRY(ath_lock_wait(path, NULL, &lock));
  ath_status status = bring_up_to_date(self);
  if (lock >= 0) close(lock);
  return status;
}

ath_status ath_cache_fetch(const char *location, bool deep, char path[ATH_LOCATION_MAX]) {
  char entry[ATH_PATH_MAX], base[ATH_PATH_MAX];
  if (!ath_location_is_remote(location)) {
    if (strlen(location) >= ATH_LOCATION_MAX)
      return ath_fail(ATH_INVALID, "%.60s…: the path is too long", location);
    memcpy(path, location, strlen(location) + 1);
    return ATH_OK;
  }
  ATH_TRY(entry_of(location, ".copy", entry, base));
  fetching self = {.location = location, .entry = entry, .base = base, .deep = deep};
  ath_status status = fetch(&self);
  if (status == ATH_OK) status = ath_path_join(path, entry, base);
  for (size_t i = 0; i < self.count; i++) free(self.files[i].name);
  free(self.files);
  return status;
}

ath_status ath_cache_place(const char *location, char path[ATH_LOCATION_MAX]) {
  char entry[ATH_PATH_MAX], base[ATH_PATH_MAX];
  ATH_TRY(entry_of(location, ".work", entry, base));
  ATH_TRY(ath_folder_create(entry));
  return ath_path_join(path, entry, base);
}
