/* places.c: where the plugin of a device is looked for. */
#include "backends/pjrt/places.h"

#include <assert.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

enum { SEARCHED_TEXT_MAX = 900 };

const ath_pjrt_kind ath_pjrt_kinds[] = {
  {"xla:cpu", "cpu", "ATHANOR_PJRT_CPU", "cpu/pjrt_c_api_cpu_plugin.so",
   {"lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so", "fastatomstruct_xla_cpu/libpjrt_cpu.so",
    "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"}},
  {"tpu", "tpu", "ATHANOR_PJRT_TPU", "tpu/libtpu.so",
   {"libtpu/libtpu.so", "/usr/lib/libtpu.so", "/lib/libtpu.so"}},
  {"cuda", "cuda", "ATHANOR_PJRT_CUDA", "cuda/xla_cuda_plugin.so",
   {"jax_plugins/xla_cuda13/xla_cuda_plugin.so", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"}},
  {0},
};

/* Where Python keeps installed wheels; ~ is the home folder, $ that of an active environment. */
static const char *const site_folders[] = {
  "$/lib/python3*/site-packages", "~/.local/lib/python3*/site-packages",
  "/usr/local/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages",
  "/usr/lib/python3/dist-packages",
};

const ath_pjrt_kind *ath_pjrt_kind_find(const char *device) {
  for (const ath_pjrt_kind *kind = ath_pjrt_kinds; kind->device != NULL; kind++)
    if (strcmp(kind->device, device) == 0) return kind;
  return NULL;
}

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value != NULL && *value != '\0' ? value : NULL;
}

ath_status ath_pjrt_folder(char out[ATH_PATH_MAX]) {
  const char *data = variable("XDG_DATA_HOME"), *home = variable("HOME");
  if (data != NULL && *data == '/') return ath_path_join(out, data, "athanor/plugins");
  if (home == NULL)
    return ath_fail(ATH_NOT_FOUND, "no folder for plugins: neither HOME nor XDG_DATA_HOME is set");
  return ath_path_join(out, home, ".local/share/athanor/plugins");
}

ath_status ath_pjrt_folder_file(const ath_pjrt_kind *kind, char out[ATH_PATH_MAX]) {
  char folder[ATH_PATH_MAX];
  ATH_TRY(ath_pjrt_folder(folder));
  return ath_path_join(out, folder, kind->file);
}

/* --- the usual places of a wheel ---------------------------------------------------------- */

/* Puts the folder that a leading ~ or $ stands for; false when there is none, or no room. */
static bool expand(const char *pattern, const char *file, char out[ATH_PATH_MAX]) {
  const char *base = "";
  if (*pattern == '~') base = variable("HOME");
  if (*pattern == '$') base = variable("VIRTUAL_ENV");
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

static bool find_installed(const char *file, char out[ATH_PATH_MAX]) {
  char pattern[ATH_PATH_MAX];
  if (*file == '/') return match(file, out);
  for (size_t i = 0; i < sizeof site_folders / sizeof *site_folders; i++)
    if (expand(site_folders[i], file, pattern) && match(pattern, out)) return true;
  return false;
}

/* --- the search --------------------------------------------------------------------------- */

static ath_status not_found(const ath_pjrt_kind *kind, const char *own) {
  char searched[SEARCHED_TEXT_MAX];
  size_t n = 0;
  for (size_t i = 0; kind->installed[i] != NULL && n < sizeof searched; i++)
    n += (size_t)snprintf(searched + n, sizeof searched - n, ", %s%s",
                          *kind->installed[i] == '/' ? "" : "*/site-packages/",
                          kind->installed[i]);
  return ath_fail(ATH_NOT_FOUND,
                  "no plugin for the device %s; \"athanor plugins install %s\" installs it. "
                  "Looked at: the variable %s (not set), %s%s", kind->device, kind->name,
                  kind->variable, own, n > 0 ? searched : "");
}

ath_status ath_pjrt_find(const ath_pjrt_kind *kind, char out[ATH_PATH_MAX]) {
  const char *set = variable(kind->variable);
  if (set != NULL) {
    if (!ath_path_exists(set))
      return ath_fail(ATH_NOT_FOUND, "%s: no such file; the variable %s names it as the plugin "
                      "for the device %s", set, kind->variable, kind->device);
    return snprintf(out, ATH_PATH_MAX, "%s", set) < ATH_PATH_MAX
               ? ATH_OK
               : ath_fail(ATH_INVALID, "the path in %s is too long", kind->variable);
  }
  ATH_TRY(ath_pjrt_folder_file(kind, out));
  if (ath_path_exists(out)) return ATH_OK;
  char found[ATH_PATH_MAX];
  for (size_t i = 0; kind->installed[i] != NULL; i++) {
    if (!find_installed(kind->installed[i], found)) continue;
    memcpy(out, found, sizeof found);
    return ATH_OK;
  }
  return not_found(kind, out);
}
