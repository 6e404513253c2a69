/* compile.c: executables, from the cache on disk or from the device's compiler. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/pjrt/cache.h"
#include "backends/pjrt/engine.h"
#include "backends/pjrt/overrides.h"
#include "base/clock.h"
#include "base/log.h"

/* A 12-layer step is 30 to 250 MB on a TPU. */
#define EXECUTABLE_LIMIT ((size_t)2 << 30)
#define CACHE_LIMIT ((uint64_t)8 << 30)
enum { MATERIAL_LIMIT = 1 << 30, PROCESSOR_LIMIT = 1 << 16 };

/* --- what executables depend on ------------------------------------------------------------ */

static ath_status add_text(ath_buffer *material, const char *name, const char *text) {
  return text != NULL ? ath_cache_key_part(material, name, text, strlen(text)) : ATH_OK;
}

/* Versions, and the file itself: a plugin that is replaced keeps its path. */
static ath_status add_plugin(const ath_xla_backend *self, ath_buffer *material) {
  static const char *const attributes[] = {"xla_version", "stablehlo_current_version",
                                           "cuda_version"};
  const char *path = ath_pjrt_plugin_path(self->plugin);
  char text[96];
  struct stat file = {0};
  int major, minor;
  if (stat(path, &file) != 0) return ath_fail_errno(errno, "%s", path);
  ath_pjrt_plugin_version(self->plugin, &major, &minor);
  snprintf(text, sizeof text, "%d.%d %lld %lld.%09ld", major, minor, (long long)file.st_size,
           (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
  ATH_TRY(add_text(material, "plugin", path));
  ATH_TRY(add_text(material, "version", text));
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
    ATH_TRY(add_text(material, attributes[i],
                     ath_pjrt_plugin_attribute(self->plugin, attributes[i])));
  return ATH_OK;
}

/* The lines of the first processor that say what code it runs. /proc/cpuinfo names no length; what
 * is past the bound belongs to other processors. */
static ath_status add_processor(ath_buffer *material) {
  static const char *const keys[] = {"model name", "flags", "Features", "CPU part"};
  char *text = calloc(1, PROCESSOR_LIMIT);
  if (text == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list of features");
  FILE *file = fopen("/proc/cpuinfo", "r");
  size_t length = file != NULL ? fread(text, 1, PROCESSOR_LIMIT - 1, file) : 0;
  assert(length < PROCESSOR_LIMIT);
  if (file != NULL) fclose(file);
  ath_status status = ATH_OK;
  for (size_t i = 0; i < sizeof keys / sizeof *keys && status == ATH_OK; i++) {
    const char *line = strstr(text, keys[i]);
    if (line != NULL) status = ath_cache_key_part(material, keys[i], line, strcspn(line, "\n"));
  }
  free(text);
  return status;
}

/* The CPU's compiler makes code for this very processor and cuts work by its threads. */
static ath_status add_device(const ath_xla_backend *self, ath_buffer *material) {
  const char *platform = ath_pjrt_client_platform(self->client);
  char devices[16];
  snprintf(devices, sizeof devices, "%d", ath_pjrt_client_device_count(self->client));
  ATH_TRY(add_text(material, "platform", platform));
  ATH_TRY(add_text(material, "kind", ath_pjrt_client_device_kind(self->client, 0)));
  ATH_TRY(add_text(material, "devices", devices));
  ATH_TRY(add_text(material, "XLA_FLAGS", getenv("XLA_FLAGS")));
  ATH_TRY(add_text(material, "LIBTPU_INIT_ARGS", getenv("LIBTPU_INIT_ARGS")));
  if (strcmp(platform, "cpu") != 0) return ATH_OK;
  ATH_TRY(add_text(material, "NPROC", getenv("NPROC")));
  return add_processor(material);
}

ath_status ath_xla_describe_machine(ath_xla_backend *self) {
  ath_buffer material = ath_buffer_make(MATERIAL_LIMIT);
  ath_status status = add_plugin(self, &material);
  if (status == ATH_OK) status = add_device(self, &material);
  if (status != ATH_OK) {
    ath_buffer_free(&material);
    return status;
  }
  self->machine = material.bytes; /* the backend frees it */
  self->machine_size = material.length;
  return ATH_OK;
}

static ath_status make_key(const ath_xla_backend *self, const ath_buffer *text,
                           const ath_buffer *options, char key[ATH_SHA256_TEXT]) {
  ath_buffer material = ath_buffer_make(MATERIAL_LIMIT);
  ath_status status =
      ath_cache_key_part(&material, "machine", self->machine, self->machine_size);
  if (status == ATH_OK)
    status = ath_cache_key_part(&material, "options", options->bytes, options->length);
  if (status == ATH_OK) status = ath_cache_key_part(&material, "text", text->bytes, text->length);
  if (status == ATH_OK) ath_sha256_bytes(material.bytes, material.length, key);
  ath_buffer_free(&material);
  return status;
}

/* --- the cache ----------------------------------------------------------------------------- */

/* NULL where there is no entry, or none of use: the compiler is asked then. */
static ath_status find(ath_xla_backend *self, const char *key, ath_pjrt_executable **out) {
  double began = seconds_now();
  ath_buffer bytes = ath_buffer_make(EXECUTABLE_LIMIT);
  *out = NULL;
  ath_status status = ath_cache_read(self->cache, key, &bytes);
  if (status == ATH_OK)
    status = ath_pjrt_executable_load(self->client, bytes.bytes, bytes.length, out);
  ath_buffer_free(&bytes);
  if (status == ATH_OK) {
    self->untold.found++;
    self->untold.find_seconds += seconds_now() - began;
  } else if (status != ATH_NOT_FOUND) {
    ath_log(ATH_LOG_WARNING, "a compiled program in the cache is of no use (%s); it is compiled "
            "anew", ath_error_text());
  }
  return status == ATH_NO_MEMORY ? status : ATH_OK;
}

/* A program that cannot be kept is compiled again the next time: no reason to stop. */
static void keep(const ath_xla_backend *self, const char *key, ath_pjrt_executable *executable) {
  ath_buffer bytes = ath_buffer_make(EXECUTABLE_LIMIT);
  ath_status status = ath_pjrt_executable_serialize(executable, &bytes);
  if (status == ATH_OK)
    status = ath_cache_write(self->cache, key, bytes.bytes, bytes.length, CACHE_LIMIT);
  if (status != ATH_OK && status != ATH_UNSUPPORTED)
    ath_log(ATH_LOG_WARNING, "the compiled program is not kept (%s); "
            "ATHANOR_COMPILE_CACHE=DIR|off says where, or not to", ath_error_text());
  ath_buffer_free(&bytes);
}

/* --- compiling ----------------------------------------------------------------------------- */

static ath_status compile(ath_xla_backend *self, const ath_buffer *text,
                          const ath_pjrt_compile_options *options, ath_pjrt_executable **out) {
  double began = seconds_now();
  ath_log(ATH_LOG_INFO, "%s: compiling %.1f MB of StableHLO text", self->name,
          (double)text->length * 1e-6);
  ATH_TRY(ath_pjrt_compile(self->client, text->bytes, text->length, options, out));
  self->untold.compiled++;
  self->untold.compile_seconds += seconds_now() - began;
  return ATH_OK;
}

/* Both partitioners read the same annotations. */
static ath_status choose_partitioner(bool *shardy) {
  const char *name = getenv("ATHANOR_PARTITIONER");
  *shardy = name != NULL && strcmp(name, "shardy") == 0;
  if (*shardy || name == NULL || *name == '\0' || strcmp(name, "gspmd") == 0) return ATH_OK;
  return ath_fail(ATH_USAGE, "ATHANOR_PARTITIONER is \"%.40s\"; there are gspmd and shardy", name);
}

ath_status ath_xla_compile(ath_xla_backend *self, const ath_buffer *text,
                           ath_pjrt_executable **out) {
  ath_xla_overrides overrides;
  bool shardy;
  ATH_TRY(ath_xla_overrides_read(&overrides));
  ATH_TRY(choose_partitioner(&shardy));
  const ath_pjrt_compile_options options = {
    .partitions = self->devices, .shardy = shardy && self->devices > 1,
    .overrides = overrides.items, .override_count = overrides.count};
  if (*self->cache == '\0') return compile(self, text, &options, out);
  char key[ATH_SHA256_TEXT];
  ath_buffer bytes = ath_buffer_make(PROCESSOR_LIMIT);
  ath_status status = ath_pjrt_compile_options_write(&options, &bytes);
  if (status == ATH_OK) status = make_key(self, text, &bytes, key);
  ath_buffer_free(&bytes);
  ATH_TRY(status);
  ATH_TRY(find(self, key, out));
  if (*out != NULL) return ATH_OK;
  ATH_TRY(compile(self, text, &options, out));
  keep(self, key, *out);
  return ATH_OK;
}

void ath_xla_tell_compilations(ath_xla_backend *self) {
  const ath_xla_compilations c = self->untold;
  if (c.compiled + c.found == 0) return;
  self->untold = (ath_xla_compilations){0};
  ath_log(ATH_LOG_INFO, "%s: %d program%s compiled in %.2f s, %d taken from the cache in %.2f s",
          self->name, c.compiled, c.compiled == 1 ? "" : "s", c.compile_seconds, c.found,
          c.find_seconds);
}
