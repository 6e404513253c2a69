/* names.c: lists of names. */
#include "storage/names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/resize.h"
#include "storage/file.h"

enum { DEPTH_MAX = 64 };

ath_status ath_names_add(ath_names *self, const char *name) {
  if (self->count == self->capacity) {
    size_t capacity = self->capacity > 0 ? 2 * self->capacity : 64;
    if (self->count >= ATH_NAMES_MAX)
      return ath_fail(ATH_INVALID, "more than %d files", ATH_NAMES_MAX);
    if (!ath_resize(&self->items, capacity * sizeof *self->items))
      return ath_fail(ATH_NO_MEMORY, "no memory for a list of files");
    self->capacity = capacity;
  }
  char *copy = strdup(name);
  if (copy == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list of files");
  self->items[self->count++] = copy;
  return ATH_OK;
}

static int compare(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

void ath_names_sort(ath_names *self) {
  if (self->count > 1) qsort(self->items, self->count, sizeof *self->items, compare);
}

bool ath_names_contain(const ath_names *self, const char *name) {
  return self->count > 0 &&
         bsearch(&name, self->items, self->count, sizeof *self->items, compare) != NULL;
}

void ath_names_free(ath_names *self) {
  for (size_t i = 0; i < self->count; i++) free(self->items[i]);
  free(self->items);
  *self = (ath_names){0};
}

ath_status ath_name_check(const char *name) {
  for (const char *part = name; part != NULL; part = strchr(part, '/')) {
    part += part != name;
    size_t length = strcspn(part, "/");
    if (length == 0 || (length <= 2 && strncmp(part, "..", length) == 0))
      return ath_fail(ATH_INVALID, "%s: no name for a local file", name);
  }
  return ATH_OK;
}

ath_status ath_folder_create_above(const char *path) {
  char folder[ATH_PATH_MAX];
  const char *slash = strrchr(path, '/');
  if (slash == NULL || slash == path) return ATH_OK;
  if (snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path) >= (int)sizeof folder)
    return ath_fail(ATH_INVALID, "%.60s…: the path is too long", path);
  return ath_folder_create(folder);
}

/* `inside` is "" or a folder below the walk's, relative to it. */
static ath_status walk(const char *folder, const char *inside, int depth, ath_names *out);

static ath_status walk_entry(const char *folder, const char *inside, const char *entry, int depth,
                             ath_names *out) {
  char name[ATH_PATH_MAX], path[ATH_PATH_MAX];
  struct stat state;
  if (*inside == '\0') snprintf(name, sizeof name, "%s", entry);
  else ATH_TRY(ath_path_join(name, inside, entry));
  ATH_TRY(ath_path_join(path, folder, name));
  if (lstat(path, &state) != 0)
    return errno == ENOENT ? ATH_OK : ath_fail_errno(errno, "%s", path);
  return S_ISDIR(state.st_mode) ? walk(folder, name, depth + 1, out) : ath_names_add(out, name);
}

static ath_status walk(const char *folder, const char *inside, int depth, ath_names *out) {
  char path[ATH_PATH_MAX], **entries;
  size_t count;
  if (depth > DEPTH_MAX)
    return ath_fail(ATH_INVALID, "%s: more than %d folders deep", folder, DEPTH_MAX);
  if (*inside == '\0') snprintf(path, sizeof path, "%s", folder);
  else ATH_TRY(ath_path_join(path, folder, inside));
  ath_status status = ath_folder_list(path, &entries, &count);
  if (status == ATH_NOT_FOUND && depth > 0) return ATH_OK; /* gone meanwhile */
  if (status != ATH_OK) return status;
  for (size_t i = 0; i < count && status == ATH_OK; i++)
    status = walk_entry(folder, inside, entries[i], depth, out);
  ath_folder_list_free(entries, count);
  return status;
}

ath_status ath_folder_walk(const char *folder, ath_names *out) {
  ATH_TRY(walk(folder, "", 0, out));
  ath_names_sort(out);
  return ATH_OK;
}
