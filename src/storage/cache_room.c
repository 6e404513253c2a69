/* cache_room.c: the limit of the cache's size. */
#include "storage/cache_room.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "storage/file.h"
#include "storage/names.h"

static const uint64_t default_size = 50000000000u;

/* "50GB", "300MiB", or bytes. */
static ath_status read_size(uint64_t *out) {
  static const struct { const char *name; double bytes; } units[] = {
    {"", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"KiB", 0x1p10},
    {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  const char *text = getenv("ATHANOR_CACHE_SIZE");
  char *end = NULL;
  *out = default_size;
  if (text == NULL || *text == '\0') return ATH_OK;
  double value = strtod(text, &end);
  for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++) {
    if (strcasecmp(end, units[i].name) != 0 || !(value >= 0 && value * units[i].bytes < 1e18))
      continue;
    *out = (uint64_t)(value * units[i].bytes);
    return ATH_OK;
  }
  return ath_fail(ATH_USAGE, "ATHANOR_CACHE_SIZE wants a number of bytes or of KB, MB, GB, TB, not "
                  "\"%s\"", text);
}

static ath_status size_of_folder(const char *folder, uint64_t *size) {
  ath_names names = {0};
  ath_status status = ath_folder_walk(folder, &names);
  *size = 0;
  for (size_t i = 0; i < names.count && status == ATH_OK; i++) {
    char path[ATH_PATH_MAX];
    struct stat state;
    status = ath_path_join(path, folder, names.items[i]);
    if (status == ATH_OK && lstat(path, &state) == 0) *size += (uint64_t)state.st_size;
  }
  ath_names_free(&names);
  return status;
}

typedef struct entry {
  char path[ATH_PATH_MAX];
  uint64_t size;
  struct timespec used;
} entry;

static void lock_path(const char *path, char out[ATH_PATH_MAX + 8]) {
  snprintf(out, ATH_PATH_MAX + 8, "%.*s.lock", (int)(strlen(path) - strlen(".copy")), path);
}

static int by_use(const void *a, const void *b) {
  const struct timespec *x = &((const entry *)a)->used, *y = &((const entry *)b)->used;
  if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
  return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static ath_status read_entry(const char *folder, const char *name, entry *out) {
  char lock[ATH_PATH_MAX + 8];
  struct stat state;
  ATH_TRY(ath_path_join(out->path, folder, name));
  lock_path(out->path, lock);
  out->used = stat(lock, &state) == 0 ? state.st_mtim : (struct timespec){0};
  return size_of_folder(out->path, &out->size);
}

static ath_status read_entries(const char *folder, char **names, size_t count, entry *entries,
                               size_t *found) {
  *found = 0;
  for (size_t i = 0; i < count; i++)
    if (ath_ends_with(names[i], ".copy"))
      ATH_TRY(read_entry(folder, names[i], &entries[(*found)++]));
  qsort(entries, *found, sizeof *entries, by_use);
  return ATH_OK;
}

/* Whoever uses a copy holds its lock. */
static ath_status remove_unused(const entry *self, uint64_t *total) {
  char lock[ATH_PATH_MAX + 8];
  lock_path(self->path, lock);
  int handle = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (handle < 0) return ath_fail_errno(errno, "%s", lock);
  ath_status status = ATH_OK;
  if (flock(handle, LOCK_EX | LOCK_NB) == 0) {
    status = ath_folder_remove(self->path);
    if (status == ATH_OK) *total -= self->size;
  }
  close(handle);
  return status;
}

ath_status ath_cache_make_room(const char *path, uint64_t bytes) {
  char folder[ATH_PATH_MAX], **names;
  size_t count, found = 0;
  uint64_t limit, total = bytes;
  ATH_TRY(read_size(&limit));
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
  ATH_TRY(ath_folder_list(folder, &names, &count));
  entry *entries = calloc(count + 1, sizeof *entries);
  ath_status status = entries != NULL ? read_entries(folder, names, count, entries, &found)
                                      : ath_fail(ATH_NO_MEMORY, "no memory for a list");
  for (size_t i = 0; i < found; i++) total += entries[i].size;
  for (size_t i = 0; i < found && total > limit && status == ATH_OK; i++)
    if (strcmp(entries[i].path, path) != 0) status = remove_unused(&entries[i], &total);
  if (status == ATH_OK && total > limit)
    status = ath_fail(ATH_NO_SPACE, "%s: %llu bytes more do not fit into the cache, whose limit is "
                      "%llu and whose other copies are in use; ATHANOR_CACHE_SIZE raises it", path,
                      (unsigned long long)bytes, (unsigned long long)limit);
  free(entries);
  ath_folder_list_free(names, count);
  return status;
}
