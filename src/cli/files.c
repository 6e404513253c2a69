/* files.c: the files that arguments name: as they are, by patterns, in folders, or elsewhere. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/resize.h"
#include "cli/cli.h"
#include "storage/file.h"
#include "storage/names.h"
#include "storage/pattern.h"

enum { FOLDER_DEPTH_MAX = 32 };

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

/* What is no data by custom: of tools, and what the Hub has beside a dataset. */
static bool is_aside(const char *name) {
  return *name == '.' || *name == '_' || strcmp(name, "README.md") == 0 ||
         strcmp(name, "dataset_infos.json") == 0;
}

/* Of a folder all files in it, and in its folders. */
static ath_status add_folder(ath_cli_files *self, const char *folder, int depth) {
  char **names, path[ATH_PATH_MAX];
  size_t count;
  if (depth == FOLDER_DEPTH_MAX)
    return ath_fail(ATH_INVALID, "%s: more than %d folders in one another", folder, depth);
  ATH_TRY(ath_folder_list(folder, &names, &count));
  ath_status status = ATH_OK;
  for (size_t i = 0; i < count && status == ATH_OK; i++) {
    if (is_aside(names[i])) continue;
    status = ath_path_join(path, folder, names[i]);
    if (status != ATH_OK) break;
    status = ath_path_is_folder(path) ? add_folder(self, path, depth + 1) : add_matched(self, path);
  }
  ath_folder_list_free(names, count);
  return status;
}

/* `path` may be a buffer of the caller's. */
static ath_status add_found(ath_cli_files *self, const char *path) {
  size_t before = self->count;
  if (!ath_path_is_folder(path)) return add_matched(self, path);
  ATH_TRY(add_folder(self, path, 0));
  return self->count > before ? ATH_OK : ath_fail(ATH_NOT_FOUND, "%s: no files in it", path);
}

/* What matches below the folder before the first special character. */
static ath_status add_deep_pattern(ath_cli_files *self, const char *pattern) {
  char folder[ATH_PATH_MAX], path[ATH_PATH_MAX];
  const char *special = strpbrk(pattern, "*?["), *rest = special;
  size_t before = self->count;
  ath_names names = {0};
  while (rest > pattern && rest[-1] != '/') rest--;
  size_t length = (size_t)(rest - pattern);
  if (length >= sizeof folder)
    return ath_fail(ATH_INVALID, "%.80s…: the path is too long", pattern);
  snprintf(folder, sizeof folder, "%.*s", (int)length, pattern);
  ath_status status = ath_folder_walk(length > 0 ? folder : ".", &names);
  for (size_t i = 0; i < names.count && status == ATH_OK; i++) {
    if (!ath_path_matches(rest, names.items[i])) continue;
    status = length > 0 ? ath_path_join(path, folder, names.items[i]) : ATH_OK;
    if (status == ATH_OK) status = add_matched(self, length > 0 ? path : names.items[i]);
  }
  ath_names_free(&names);
  if (status == ATH_OK && self->count == before)
    status = ath_fail(ATH_NOT_FOUND, "%s: no file matches", pattern);
  return status;
}

static ath_status add_pattern(ath_cli_files *self, const char *pattern) {
  glob_t found = {0};
  if (strstr(pattern, "**/") != NULL) return add_deep_pattern(self, pattern);
  int failed = glob(pattern, GLOB_ERR, NULL, &found);
  ath_status status = ATH_OK;
  if (failed == GLOB_NOMATCH)
    status = ath_fail(ATH_NOT_FOUND, "%s: no file matches", pattern);
  else if (failed != 0)
    status = failed == GLOB_NOSPACE ? no_memory() : ath_fail_errno(errno, "%s", pattern);
  for (size_t i = 0; failed == 0 && i < found.gl_pathc && status == ATH_OK; i++)
    status = add_found(self, found.gl_pathv[i]);
  globfree(&found);
  return status;
}

static ath_status add_remote(ath_cli_files *self, const char *location) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_cli_locate(ATH_CLI_DATA, location, path));
  return ath_path_exists(path) ? add_found(self, path) : add_pattern(self, path);
}

ath_status ath_cli_files_add_text(ath_cli_files *self, const char *text) {
  return add_path(self, text);
}

ath_status ath_cli_files_add(ath_cli_files *self, const char *argument) {
  if (strcmp(argument, "-") == 0) {
    ath_cli_note_copy("/dev/stdin", "standard input");
    return add_path(self, "/dev/stdin");
  }
  if (ath_path_is_folder(argument)) return add_found(self, argument);
  if (ath_path_exists(argument)) return add_path(self, argument);
  if (strncmp(argument, "gs://", 5) == 0 || strncmp(argument, "hf://", 5) == 0)
    return add_remote(self, argument);
  return strpbrk(argument, "*?[") == NULL ? add_path(self, argument) : add_pattern(self, argument);
}

/* "dataset-10-…" comes after "dataset-2-…". */
static int by_version(const void *a, const void *b) {
  return strverscmp(*(char *const *)a, *(char *const *)b);
}

static bool is_record_file(const char *name) {
  return strstr(name, "tfrecord") != NULL && strstr(name, ".tmp-") == NULL;
}

static ath_status add_record_folder(ath_cli_files *self, const char *folder) {
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
  if (ath_path_is_folder(path)) return add_record_folder(self, path);
  return strcmp(path, argument) == 0 ? ath_cli_files_add(self, argument) : add_matched(self, path);
}

void ath_cli_files_free(ath_cli_files *self) {
  for (size_t i = 0; i < self->matched_count; i++) free(self->matched[i]);
  free(self->matched);
  free(self->paths);
  *self = (ath_cli_files){0};
}
