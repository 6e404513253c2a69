/* mirror_pull.c: how a mirror begins.
 *
 * A file that the record has in the version that is there stays as it is here: it may have grown
 * since. One that is there in another version comes from there, unless its content is the same.
 * One that the record has and that is there no more is deleted here. What is only here is new. */
#include "storage/mirror_pull.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "athanor/tfrecord.h"
#include "storage/file.h"
#include "storage/names.h"
#include "storage/parallel.h"
#include "storage/store.h"

enum { PULL_THREADS = 4, BLOCK = 1 << 18 };

typedef struct pull {
  const ath_mirror_options *options;
  const ath_mirror_files *record;
  ath_mirror_files there;    /* with the sizes there */
  uint32_t *crcs;            /* of each, where `has_crc` */
  bool *has_crc;
  size_t crc_capacity;
  uint64_t newest;           /* number of the folder that is brought here */
  bool found;                /* there is one */
} pull;

static ath_status add(void *context, const char *name, const ath_object_info *info) {
  pull *self = context;
  ATH_TRY(ath_name_check(name));
  if (self->there.count >= self->crc_capacity) {
    size_t capacity = 2 * self->crc_capacity + 64;
    uint32_t *crcs = realloc(self->crcs, capacity * sizeof *crcs);
    if (crcs != NULL) self->crcs = crcs;
    bool *has_crc = realloc(self->has_crc, capacity * sizeof *has_crc);
    if (has_crc != NULL) self->has_crc = has_crc;
    if (crcs == NULL || has_crc == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list");
    self->crc_capacity = capacity;
  }
  self->crcs[self->there.count] = info->crc32c;
  self->has_crc[self->there.count] = info->has_crc;
  return ath_mirror_files_add(&self->there, &(ath_mirror_file){
    .name = (char *)(uintptr_t)name, .size = info->size, .version = info->version});
}

/* "checkpoint-200/x" → 200 and "x"; false for other names. */
static bool read_number(const pull *self, const char *name, uint64_t *number, const char **inside) {
  const char *beginning = self->options->numbered;
  char *end;
  if (beginning == NULL || strncmp(name, beginning, strlen(beginning)) != 0) return false;
  name += strlen(beginning);
  if (*name < '0' || *name > '9') return false;
  *number = strtoull(name, &end, 10);
  *inside = end + 1;
  return *end == '/';
}

static void find_newest(pull *self) {
  for (size_t i = 0; i < self->there.count; i++) {
    uint64_t number;
    const char *inside;
    if (!read_number(self, self->there.items[i].name, &number, &inside)) continue;
    if (strcmp(inside, self->options->complete) != 0) continue;
    if (!self->found || number > self->newest) self->newest = number;
    self->found = true;
  }
}

static bool is_left_there(const pull *self, const char *name) {
  uint64_t number;
  const char *inside;
  return read_number(self, name, &number, &inside) && !(self->found && number == self->newest);
}

static ath_status hash_file(const char *path, uint32_t *crc) {
  ath_object *file;
  size_t count;
  char *block = malloc(BLOCK);
  if (block == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to read a file");
  ath_status status = ath_object_open(path, &file);
  *crc = 0;
  do {
    if (status == ATH_OK) status = ath_object_read(file, block, BLOCK, &count);
    if (status == ATH_OK) *crc = ath_crc32c(*crc, block, count);
  } while (status == ATH_OK && count > 0);
  ath_object_close(file);
  free(block);
  return status;
}

/* The file here as it is now; *version stays 0 unless it is that which is there. */
static ath_status look_here(const pull *self, size_t index, const char *path,
                            ath_mirror_file *file) {
  struct stat state;
  const ath_mirror_file *there = &self->there.items[index];
  if (stat(path, &state) != 0) return ATH_OK;
  const ath_mirror_file *known = ath_mirror_files_find(self->record, there->name);
  if (known != NULL && known->version == there->version) {
    *file = *known;
    return ATH_OK;
  }
  if ((uint64_t)state.st_size != there->size || !self->has_crc[index]) return ATH_OK;
  uint32_t crc = 0;
  ATH_TRY(hash_file(path, &crc));
  if (crc == self->crcs[index]) file->version = there->version;
  return ATH_OK;
}

/* Afterwards `there` has of each file that is here its state; of those left there version 0. */
static ath_status pull_one(void *context, size_t index) {
  pull *self = context;
  ath_mirror_file *there = &self->there.items[index], file = {0};
  char path[ATH_PATH_MAX], location[ATH_LOCATION_MAX];
  struct stat state;
  ATH_TRY(ath_path_join(path, self->options->folder, there->name));
  ATH_TRY(ath_location_join(location, self->options->location, there->name));
  ATH_TRY(look_here(self, index, path, &file));
  bool known = file.version != 0 && file.name != NULL;
  if (file.version == 0 && is_left_there(self, there->name)) {
    there->version = 0;
    return ATH_OK;
  }
  if (file.version == 0) {
    ATH_TRY(ath_folder_create_above(path));
    ATH_TRY(ath_object_copy(location, path));
  }
  if (known) {
    there->size = file.size;
    there->changed = file.changed;
    return ATH_OK;
  }
  if (stat(path, &state) != 0) return ath_fail_errno(errno, "%s", path);
  there->size = (uint64_t)state.st_size;
  there->changed = (uint64_t)state.st_mtim.tv_sec * 1000000000u + (uint64_t)state.st_mtim.tv_nsec;
  return ATH_OK;
}

static ath_status delete_one(void *context, size_t index) {
  const pull *self = context;
  const char *name = self->there.items[index].name, *inside;
  char location[ATH_LOCATION_MAX];
  uint64_t number;
  if (!read_number(self, name, &number, &inside)) return ATH_OK;
  ATH_TRY(ath_location_join(location, self->options->location, name));
  return ath_object_delete(location);
}

/* What is there, but for the numbered folders, which are deleted. */
static ath_status start_anew(pull *self) {
  ATH_TRY(ath_parallel(self->there.count, PULL_THREADS, delete_one, self));
  ath_mirror_files_free(&self->there);
  return ath_object_list(self->options->location, add, self);
}

static ath_status delete_gone(const pull *self) {
  for (size_t i = 0; i < self->record->count; i++) {
    char path[ATH_PATH_MAX];
    if (ath_mirror_files_find(&self->there, self->record->items[i].name) != NULL) continue;
    ATH_TRY(ath_path_join(path, self->options->folder, self->record->items[i].name));
    if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR)
      return ath_fail_errno(errno, "%s: cannot delete", path);
  }
  return ATH_OK;
}

static ath_status bring(pull *self, ath_mirror_files *files) {
  find_newest(self);
  ATH_TRY(ath_folder_create(self->options->folder));
  ATH_TRY(delete_gone(self));
  ATH_TRY(ath_parallel(self->there.count, PULL_THREADS, pull_one, self));
  for (size_t i = 0; i < self->there.count; i++)
    if (self->there.items[i].version != 0)
      ATH_TRY(ath_mirror_files_add(files, &self->there.items[i]));
  return ATH_OK;
}

ath_status ath_mirror_pull(const ath_mirror_options *options, const char *record,
                           ath_mirror_files *files) {
  ath_mirror_files known = {0};
  pull self = {.options = options, .record = &known};
  ath_status status = ath_mirror_files_read(&known, record);
  if (status == ATH_OK) status = ath_object_list(options->location, add, &self);
  if (status == ATH_OK && options->fresh) status = start_anew(&self);
  if (status == ATH_OK) status = bring(&self, files);
  if (status == ATH_OK) status = ath_mirror_files_write(files, record);
  ath_mirror_files_free(&self.there);
  ath_mirror_files_free(&known);
  free(self.crcs);
  free(self.has_crc);
  return status;
}
