/* plugins.c: where big libraries lie that are not Debian's. */
#include "storage/plugins.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* Where Python keeps installed wheels; ~ is the home folder, $ that of an active environment. */
static const char *const site_folders[] = {
  "$/lib/python3*/site-packages", "~/.local/lib/python3*/site-packages",
  "/usr/local/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages",
  "/usr/lib/python3/dist-packages",
};

const char *ath_plugins_variable(const char *name) {
  const char *value = getenv(name);
  return value != NULL && *value != '\0' ? value : NULL;
}

ath_status ath_plugins_folder(char out[ATH_PATH_MAX]) {
  const char *data = ath_plugins_variable("XDG_DATA_HOME"), *home = ath_plugins_variable("HOME");
  if (data != NULL && *data == '/') return ath_path_join(out, data, "athanor/plugins");
  if (home == NULL)
    return ath_fail(ATH_NOT_FOUND, "no folder for plugins: neither HOME nor XDG_DATA_HOME is set");
  return ath_path_join(out, home, ".local/share/athanor/plugins");
}

ath_status ath_plugins_file(const char *file, char out[ATH_PATH_MAX]) {
  char folder[ATH_PATH_MAX];
  ATH_TRY(ath_plugins_folder(folder));
  return ath_path_join(out, folder, file);
}

/* --- the usual places of a wheel ---------------------------------------------------------- */

/* Puts the folder that a leading ~ or $ stands for; false when there is none, or no room. */
static bool expand(const char *pattern, const char *file, char out[ATH_PATH_MAX]) {
  const char *base = "";
  if (*pattern == '~') base = ath_plugins_variable("HOME");
  if (*pattern == '$') base = ath_plugins_variable("VIRTUAL_ENV");
  if (base == NULL) return false;
  if (*pattern == '~' || *pattern == '$') pattern++;
  return snprintf(out, ATH_PATH_MAX, "%s%s/%s", base, pattern, file) < ATH_PATH_MAX;
}

/* The last path that fits a pattern, which is that of the newest Python. */
static bool match(const char *pattern, char out[ATH_PATH_MAX]) {
  glob_t found = {0};
  bool any = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0 &&
             strlen(found.gl_pathv[found.gl_pathc - 1]) < ATH_PATH_MAX;
  if (any) snprintf(out, ATH_PATH_MAX, "%s", found.gl_pathv[found.gl_pathc - 1]);
  globfree(&found);
  return any;
}

bool ath_plugins_installed(const char *file, char out[ATH_PATH_MAX]) {
  char pattern[ATH_PATH_MAX];
  if (*file == '/') return match(file, out);
  for (size_t i = 0; i < sizeof site_folders / sizeof *site_folders; i++)
    if (expand(site_folders[i], file, pattern) && match(pattern, out)) return true;
  return false;
}
