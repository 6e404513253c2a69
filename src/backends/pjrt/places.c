/* places.c: where the plugin of a device is looked for. */
#include "backends/pjrt/places.h"

#include <string.h>

#include "storage/plugins.h"

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

const ath_pjrt_kind *ath_pjrt_kind_find(const char *device) {
  for (const ath_pjrt_kind *kind = ath_pjrt_kinds; kind->device != NULL; kind++)
    if (strcmp(kind->device, device) == 0) return kind;
  return NULL;
}

ath_status ath_pjrt_folder_file(const ath_pjrt_kind *kind, char out[ATH_PATH_MAX]) {
  return ath_plugins_file(kind->file, out);
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
  const char *set = ath_plugins_variable(kind->variable);
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
    if (!ath_plugins_installed(kind->installed[i], found)) continue;
    memcpy(out, found, sizeof found);
    return ATH_OK;
  }
  return not_found(kind, out);
}
