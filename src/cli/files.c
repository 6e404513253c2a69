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

void ath_cli_files_free(ath_cli_files *self) {
  for (size_t i = 0; i < self->matched_count; i++) free(self->matched[i]);
  free(self->matched);
  free(self->paths);
  *self = (ath_cli_files){0};
}
