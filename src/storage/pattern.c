/* pattern.c: patterns of paths. */
#include "storage/pattern.h"

#include <fnmatch.h>
#include <string.h>

#include "storage/file.h"

static bool name_matches(const char *pattern, size_t pattern_length, const char *name,
                         size_t name_length) {
  char one[ATH_PATH_MAX], other[ATH_PATH_MAX];
  if (pattern_length >= sizeof one || name_length >= sizeof other) return false;
  memcpy(one, pattern, pattern_length);
  memcpy(other, name, name_length);
  one[pattern_length] = other[name_length] = '\0';
  return fnmatch(one, other, FNM_PERIOD) == 0;
}

/* Name by name. At a ** the rest is tried here first, and then one folder further down: of several
 * ** only the last one has to be taken back, since any earlier one can do no better. */
bool ath_path_matches(const char *pattern, const char *path) {
  const char *rest = NULL, *deeper = NULL;
  for (;;) {
    if (strcmp(pattern, "**") == 0) return *path != '.' && strstr(path, "/.") == NULL;
    size_t p = strcspn(pattern, "/"), n = strcspn(path, "/");
    if (p == 2 && strncmp(pattern, "**", 2) == 0 && pattern[2] == '/') {
      rest = pattern += 3;
      deeper = path;
      continue;
    }
    bool last = pattern[p] == '\0';
    if (last == (path[n] == '\0') && name_matches(pattern, p, path, n)) {
      if (last) return true;
      pattern += p + 1;
      path += n + 1;
      continue;
    }
    if (rest == NULL) return false;
    if (*deeper == '.' || strchr(deeper, '/') == NULL) return false;
    path = deeper = strchr(deeper, '/') + 1;
    pattern = rest;
  }
}
