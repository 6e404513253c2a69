/* files.c: the local files that a push is made of. */
#include "hub/files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/file.h"

enum { FILES_MAX = 1 << 20, NAMES_MAX = 256 << 20, DEPTH_MAX = 32 };

void ath_hub_files_free(ath_hub_files *self) {
  free(self->items);
  ath_arena_destroy(self->memory);
  *self = (ath_hub_files){0};
}

static int64_t time_of_change(const struct stat *info) {
  return (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

static ath_status grow(ath_hub_files *self) {
  if (self->memory == NULL) ATH_TRY(ath_arena_create(NAMES_MAX, &self->memory));
  if (self->count < self->capacity) return ATH_OK;
  size_t capacity = self->capacity > 0 ? 2 * self->capacity : 64;
  ath_hub_file *more = NULL;
  if (capacity <= FILES_MAX) more = realloc(self->items, capacity * sizeof *more);
  if (more == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for more than %zu files of a push",
                                    self->count);
  self->items = more;
  self->capacity = capacity;
  return ATH_OK;
}

/* Names of one source differ from one another: only the `others` before it are looked at. */
static ath_status add_file(ath_hub_files *self, size_t others, const char *local,
                           const char *remote, const struct stat *info) {
  if (strlen(remote) >= ATH_HUB_PATH_MAX || !ath_hub_is_safe_path(remote))
    return ath_fail(ATH_INVALID, "%s: \"%.200s\" cannot be a file's name on the Hub", local,
                    remote);
  for (size_t i = 0; i < others; i++)
    if (strcmp(self->items[i].remote, remote) == 0)
      return ath_fail(ATH_USAGE, "%s and %s would both become %s on the Hub",
                      self->items[i].local, local, remote);
  ATH_TRY(grow(self));
  ath_hub_file file = {.local = ath_arena_string(self->memory, local),
                       .remote = ath_arena_string(self->memory, remote),
                       .size = (uint64_t)info->st_size, .changed = time_of_change(info)};
  if (file.local == NULL || file.remote == NULL) return ATH_NO_MEMORY;
  self->items[self->count++] = file;
  return ATH_OK;
}

/* --- folders ------------------------------------------------------------------------------ */

typedef struct walk {
  ath_hub_files *files;
  const ath_hub_source *source;
  size_t others;
  int depth;
} walk;

static ath_status walk_folder(walk *self, const char *folder, const char *name);

static bool is_left_out(const char *name) {
  return strcmp(name, ".git") == 0 || strcmp(name, ".cache") == 0 ||
         strcmp(name, ".athanor") == 0;
}

/* `name` is the entry's name relative to the source's folder. */
static ath_status walk_entry(walk *self, const char *path, const char *name) {
  const ath_hub_source *source = self->source;
  struct stat info;
  char remote[ATH_PATH_MAX];
  if (lstat(path, &info) != 0) return ath_fail_errno(errno, "%s", path);
  if (S_ISDIR(info.st_mode)) return walk_folder(self, path, name);
  if (stat(path, &info) != 0) return ath_fail_errno(errno, "%s", path);
  if (!S_ISREG(info.st_mode) || !ath_hub_is_wanted(source->include, source->exclude, name))
    return ATH_OK;
  bool below = source->remote != NULL && *source->remote != '\0';
  if (below) ATH_TRY(ath_path_join(remote, source->remote, name));
  return add_file(self->files, self->others, path, below ? remote : name, &info);
}

static ath_status walk_folder(walk *self, const char *folder, const char *name) {
  char **names, path[ATH_PATH_MAX], below[ATH_PATH_MAX];
  size_t count;
  if (self->depth == DEPTH_MAX)
    return ath_fail(ATH_INVALID, "%s: more than %d folders deep", folder, DEPTH_MAX);
  ATH_TRY(ath_folder_list(folder, &names, &count));
  ath_status status = ATH_OK;
  self->depth++;
  for (size_t i = 0; i < count && status == ATH_OK; i++) {
    if (is_left_out(names[i])) continue;
    status = ath_path_join(path, folder, names[i]);
    if (status == ATH_OK && *name != '\0') status = ath_path_join(below, name, names[i]);
    if (status == ATH_OK) status = walk_entry(self, path, *name != '\0' ? below : names[i]);
  }
  self->depth--;
  ath_folder_list_free(names, count);
  return status;
}

ath_status ath_hub_files_add(ath_hub_files *self, const ath_hub_source *source) {
  struct stat info;
  walk walker = {.files = self, .source = source, .others = self->count};
  if (stat(source->local, &info) != 0) return ath_fail_errno(errno, "%s", source->local);
  if (S_ISDIR(info.st_mode)) return walk_folder(&walker, source->local, "");
  const char *slash = strrchr(source->local, '/'), *remote = source->remote;
  if (remote == NULL || *remote == '\0') remote = slash != NULL ? slash + 1 : source->local;
  return add_file(self, self->count, source->local, remote, &info);
}

/* --- contents ----------------------------------------------------------------------------- */

ath_status ath_hub_file_open(const ath_hub_file *self, int *file) {
  struct stat info;
  *file = open(self->local, O_RDONLY | O_CLOEXEC);
  if (*file < 0) return ath_fail_errno(errno, "%s", self->local);
  ath_status status = fstat(*file, &info) == 0 ? ATH_OK : ath_fail_errno(errno, "%s", self->local);
  if (status == ATH_OK && ((uint64_t)info.st_size != self->size ||
                           time_of_change(&info) != self->changed))
    status = ath_fail(ATH_MISMATCH, "%s: changed while it was being pushed; push again",
                      self->local);
  if (status == ATH_OK) return ATH_OK;
  close(*file);
  *file = -1;
  return status;
}

ath_status ath_hub_file_hash(ath_hub_file *self, bool large) {
  ath_hub_digest digest;
  int file;
  if (self->hashed && self->large == large) return ATH_OK;
  ATH_TRY(ath_hub_file_open(self, &file));
  ath_hub_digest_begin(&digest, large, self->size);
  ath_status status = ath_hub_digest_file(&digest, file, self->local, self->size);
  close(file);
  ATH_TRY(status);
  ath_hub_digest_end(&digest, self->oid);
  self->large = large;
  self->hashed = true;
  return ATH_OK;
}
