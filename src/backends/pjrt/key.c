/* key.c: the parts of a key that all compiled programs share. */
#include "backends/pjrt/key.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OPTIONS_BYTES_MAX = 1 << 16 };

ath_status ath_key_add_text(const char *name, const char *text, ath_buffer *material) {
  return text != NULL ? ath_cache_key_part(material, name, text, strlen(text)) : ATH_OK;
}

ath_status ath_key_add_plugin(const ath_pjrt_plugin *plugin, ath_buffer *material) {
  static const char *const attributes[] = {"xla_version", "stablehlo_current_version",
                                           "cuda_version"};
  static const char *const variables[] = {"XLA_FLAGS", "LIBTPU_INIT_ARGS"};
  const char *path = ath_pjrt_plugin_path(plugin);
  char text[96];
  struct stat file = {0};
  int major, minor;
  if (stat(path, &file) != 0) return ath_fail_errno(errno, "%s", path);
  ath_pjrt_plugin_version(plugin, &major, &minor);
  snprintf(text, sizeof text, "%d.%d %lld %lld.%09ld", major, minor, (long long)file.st_size,
           (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
  ATH_TRY(ath_key_add_text("plugin", path, material));
  ATH_TRY(ath_key_add_text("version", text, material));
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
    ATH_TRY(ath_key_add_text(attributes[i], ath_pjrt_plugin_attribute(plugin, attributes[i]),
                             material));
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    ATH_TRY(ath_key_add_text(variables[i], getenv(variables[i]), material));
  return ATH_OK;
}

ath_status ath_key_add_options(const ath_pjrt_compile_options *options, ath_buffer *material) {
  ath_buffer bytes = ath_buffer_make(OPTIONS_BYTES_MAX);
  ath_status status = ath_pjrt_compile_options_write(options, &bytes);
  if (status == ATH_OK)
    status = ath_cache_key_part(material, "options", bytes.bytes, bytes.length);
  ath_buffer_free(&bytes);
  return status;
}
