/* compile.c: executables, from the cache on disk or from the device's compiler. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/pjrt/engine.h"
#include "backends/pjrt/key.h"
#include "backends/pjrt/overrides.h"
#include "base/clock.h"
#include "base/log.h"

/* A 12-layer step is 30 to 250 MB on a TPU. */
#define EXECUTABLE_LIMIT ((size_t)2 << 30)
#define CACHE_LIMIT ((uint64_t)8 << 30)
enum { MATERIAL_LIMIT = 1 << 30, PROCESSOR_LIMIT = 1 << 16 };

/* --- what executables depend on ------------------------------------------------------------ */

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

/* A program compiled for several processes says which devices it is for, by the slice's numbers. */
static ath_status add_assignment(const ath_xla_backend *self, ath_buffer *material) {
  for (int i = 0; i < ath_pjrt_client_global_count(self->client); i++) {
    int64_t id = ath_pjrt_client_global_id(self->client, i);
    ATH_TRY(ath_cache_key_part(material, "device of all processes", &id, sizeof id));
  }
  return ATH_OK;
}

/* The CPU's compiler makes code for this very processor and cuts work by its threads. */
static ath_status add_device(const ath_xla_backend *self, ath_buffer *material) {
  const char *platform = ath_pjrt_client_platform(self->client);
  char devices[16];
  snprintf(devices, sizeof devices, "%d", ath_pjrt_client_device_count(self->client));
  ATH_TRY(ath_key_add_text("platform", platform, material));
  ATH_TRY(ath_key_add_text("kind", ath_pjrt_client_device_kind(self->client, 0), material));
  ATH_TRY(ath_key_add_text("devices", devices, material));
  if (self->processes > 1) ATH_TRY(add_assignment(self, material));
  if (strcmp(platform, "cpu") != 0) return ATH_OK;
  ATH_TRY(ath_key_add_text("NPROC", getenv("NPROC"), material));
  return add_processor(material);
}

ath_status ath_xla_describe_machine(ath_xla_backend *self) {
  ath_buffer material = ath_buffer_make(MATERIAL_LIMIT);
  ath_status status = ath_key_add_plugin(self->plugin, &material);
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
                           const ath_pjrt_compile_options *options, char key[ATH_SHA256_TEXT]) {
  ath_buffer material = ath_buffer_make(MATERIAL_LIMIT);
  ath_status status =
      ath_cache_key_part(&material, "machine", self->machine, self->machine_size);
  if (status == ATH_OK) status = ath_key_add_options(options, &material);
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

/* Compilers of several processes may work together, and would wait for one that found its program:
 * so either all take it from their caches or none does. */
static ath_status find_for_all(ath_xla_backend *self, const char *key, ath_pjrt_executable **out) {
  bool all;
  *out = NULL;
  if (*key != '\0') ATH_TRY(find(self, key, out));
  ATH_TRY(ath_xla_all(self, *out != NULL, &all));
  if (all) return ATH_OK;
  ath_pjrt_executable_destroy(*out);
  *out = NULL;
  return ATH_OK;
}

/* Of several processes the first keeps what was compiled: the others may share its cache. */
static ath_status find_or_compile(ath_xla_backend *self, const ath_buffer *text,
                                  const ath_pjrt_compile_options *options,
                                  ath_pjrt_executable **out) {
  char key[ATH_SHA256_TEXT] = "";
  if (*self->cache != '\0') ATH_TRY(make_key(self, text, options, key));
  ATH_TRY(find_for_all(self, key, out));
  if (*out != NULL) return ATH_OK;
  ATH_TRY(compile(self, text, options, out));
  if (*key != '\0' && self->process == 0) keep(self, key, *out);
  return ATH_OK;
}

ath_status ath_xla_compile(ath_xla_backend *self, const ath_buffer *text,
                           ath_pjrt_executable **out) {
  ath_xla_overrides overrides;
  ATH_TRY(ath_xla_overrides_read(&overrides));
  const ath_pjrt_compile_options options = ath_xla_overrides_options(&overrides, self->devices);
  return ath_xla_overrides_context(&overrides, find_or_compile(self, text, &options, out));
}

void ath_xla_tell_compilations(ath_xla_backend *self) {
  const ath_xla_compilations c = self->untold;
  if (c.compiled + c.found == 0) return;
  self->untold = (ath_xla_compilations){0};
  ath_log(ATH_LOG_INFO, "%s: %d program%s compiled in %.2f s, %d taken from the cache in %.2f s",
          self->name, c.compiled, c.compiled == 1 ? "" : "s", c.compile_seconds, c.found,
          c.find_seconds);
}
