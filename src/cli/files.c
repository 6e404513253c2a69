/* files.c: the text files that arguments name: as they are, by patterns, or standard input. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/resize.h"
#include "cli/cli.h"
#include "storage/file.h"

static ath_status no_memory(void) { return ath_fail(ATH_NO_MEMORY, "no memory for file names"); }

static ath_status add_path(ath_cli_files *self, const char *path) {
  if (self->count == self->capacity) {
    size_t capacity = self->capacity * 2 + 16;
    if (!ath_resize(&self->paths, capacity * sizeof *self->paths)) return no_memory();
    self->capacity = capacity;
  }
  self->paths[self->count++] = path;
  return ATH_OK;
}

/* The list keeps its own copy of a path that a pattern gave. */
static ath_status add_matched(ath_cli_files *self, const char *path) {
  if (self->matched_count == self->matched_capacity) {
    size_t capacity = self->matched_capacity * 2 + 16;
    if (!ath_resize(&self->matched, capacity * sizeof *self->matched)) return no_memory();
    self->matched_capacity = capacity;
  }
  char *copy = strdup(path);
  if (copy == NULL) return no_memory();
  self->matched[self->matched_count++] = copy;
  return add_path(self, copy);
}

static ath_status add_pattern(ath_cli_files *self, const char *pattern) {
  glob_t found = {0};
  int failed = glob(pattern, GLOB_ERR, NULL, &found);
  ath_status status = ATH_OK;
  if (failed == GLOB_NOMATCH)
    status = ath_fail(ATH_NOT_FOUND, "%s: no file matches", pattern);
  else if (failed != 0)
    status = failed == GLOB_NOSPACE ? no_memory() : ath_fail_errno(errno, "%s", pattern);
  for (size_t i = 0; failed == 0 && i < found.gl_pathc && status == ATH_OK; i++)
    status = add_matched(self, found.gl_pathv[i]);
  globfree(&found);
  return status;
}

ath_status ath_cli_files_add(ath_cli_files *self, const char *argument) {
  if (strcmp(argument, "-") == 0) return add_path(self, "/dev/stdin");
  if (strpbrk(argument, "*?[") == NULL || ath_path_exists(argument))
    return add_path(self, argument);
  return add_pattern(self, argument);
}

/* "dataset-10-…" comes after "dataset-2-…". */
static int by_version(const void *a, const void *b) {
  return strverscmp(*(char *const *)a, *(char *const *)b);
}

static bool is_record_file(const char *name) {
  return strstr(name, "tfrecord") != NULL && strstr(name, ".tmp-") == NULL;
}

static ath_status add_folder(ath_cli_files *self, const char *folder) {
  char **names;
  size_t count, before = self->count;
  ATH_TRY(ath_folder_list(folder, &names, &count));
  if (count > 0) qsort(names, count, sizeof *names, by_version);
  ath_status status = ATH_OK;
  for (size_t i = 0; i < count && status == ATH_OK; i++) {
    char path[ATH_PATH_MAX];
    if (!is_record_file(names[i])) continue;
    status = ath_path_join(path, folder, names[i]);
    if (status == ATH_OK && !ath_path_is_folder(path)) status = add_matched(self, path);
  }
  ath_folder_list_free(names, count);
  char train[ATH_PATH_MAX];
  if (status == ATH_OK) status = ath_path_join(train, folder, "train");
  if (status == ATH_OK && self->count == before)
    status = ath_fail(ATH_NOT_FOUND, "%s: no file with \"tfrecord\" in its name in this folder%s",
                      folder, ath_path_is_folder(train) ? "; name its train/ or validation/" : "");
  return status;
}

ath_status ath_cli_files_add_records(ath_cli_files *self, const char *argument) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_cli_locate(ATH_CLI_DATA, argument, path));
  if (ath_path_is_folder(path)) return add_folder(self, path);
  return strcmp(path, argument) == 0 ? ath_cli_files_add(self, argument) : add_matched(self, path);
}

void ath_cli_files_free(ath_cli_files *self) {
  for (size_t i = 0; i < self->matched_count; i++) free(self->matched[i]);
  free(self->matched);
  free(self->paths);
  *self = (ath_cli_files){0};
}
