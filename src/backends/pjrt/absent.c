/* absent.c: the client in a build without pjrt_c_api.h. There is no plugin, so of the other objects
 * there are none either: what takes one is never reached. */
#include <assert.h>

#include "backends/pjrt/client.h"

ath_status ath_pjrt_plugin_load(const char *device, bool ahead_of_time, ath_pjrt_plugin **out) {
  (void)ahead_of_time;
  *out = NULL;
  return ath_fail(ATH_UNSUPPORTED, "device %s: this build has no XLA devices, because pjrt_c_api.h "
                  "was not there; run scripts/setup.sh build and build again", device);
}

/* Every other call of client.h: `result` is what it would give. */
#define NEVER(type, name, result, ...)                \
  type name(__VA_ARGS__) {                            \
    assert(!"no plugin can have been loaded");        \
    return result;                                    \
  }
#define NOTHING(name, type)                           \
  void name(type *self) {                             \
    (void)self;                                       \
    assert(self == NULL);                             \
  }
#pragma GCC diagnostic ignored "-Wunused-parameter"

void ath_pjrt_plugin_version(const ath_pjrt_plugin *self, int *major, int *minor) {
  assert(!"no plugin can have been loaded");
}
NEVER(const char *, ath_pjrt_plugin_path, NULL, const ath_pjrt_plugin *self)
NEVER(const char *, ath_pjrt_plugin_attribute, NULL, const ath_pjrt_plugin *self,
      const char *name)
NEVER(ath_status, ath_pjrt_client_create, ATH_UNSUPPORTED, ath_pjrt_plugin *plugin,
      const ath_pjrt_option *options, size_t count, ath_pjrt_client **out)
NEVER(ath_status, ath_pjrt_client_join, ATH_UNSUPPORTED, ath_pjrt_plugin *plugin,
      const ath_pjrt_option *options, size_t count, ath_store *store, ath_pjrt_client **out)
NOTHING(ath_pjrt_client_destroy, ath_pjrt_client)
NEVER(const char *, ath_pjrt_client_platform, NULL, const ath_pjrt_client *self)
NEVER(int, ath_pjrt_client_device_count, 0, const ath_pjrt_client *self)
NEVER(int, ath_pjrt_client_global_count, 0, const ath_pjrt_client *self)
NEVER(int, ath_pjrt_client_process, 0, const ath_pjrt_client *self)
NEVER(int, ath_pjrt_client_process_count, 1, const ath_pjrt_client *self)
NEVER(const char *, ath_pjrt_client_device_kind, NULL, const ath_pjrt_client *self, int device)
NEVER(ath_status, ath_pjrt_client_device_memory, ATH_UNSUPPORTED, const ath_pjrt_client *self,
      int device, int64_t *limit, int64_t *used)
NEVER(ath_status, ath_pjrt_compile, ATH_UNSUPPORTED, ath_pjrt_client *client, const char *text,
      size_t length, const ath_pjrt_compile_options *options, ath_pjrt_executable **out)
NEVER(ath_status, ath_pjrt_executable_serialize, ATH_UNSUPPORTED, ath_pjrt_executable *self,
      ath_buffer *out)
NEVER(ath_status, ath_pjrt_executable_load, ATH_UNSUPPORTED, ath_pjrt_client *client,
      const void *bytes, size_t size, ath_pjrt_executable **out)
NOTHING(ath_pjrt_executable_destroy, ath_pjrt_executable)
NEVER(int, ath_pjrt_executable_result_count, 0, const ath_pjrt_executable *self)
NEVER(int, ath_pjrt_executable_partitions, 0, const ath_pjrt_executable *self)
NEVER(ath_status, ath_pjrt_execute, ATH_UNSUPPORTED, ath_pjrt_executable *self,
      ath_pjrt_buffer *const *arguments, int argument_count, ath_pjrt_buffer **results)
NEVER(ath_status, ath_pjrt_executable_memory, ATH_UNSUPPORTED, const ath_pjrt_executable *self,
      ath_pjrt_memory *out)
NEVER(ath_status, ath_pjrt_executable_program, ATH_UNSUPPORTED, const ath_pjrt_executable *self,
      ath_buffer *out)
NEVER(ath_status, ath_pjrt_buffer_create, ATH_UNSUPPORTED, ath_pjrt_client *client, int device,
      const ath_type *type, const void *data, ath_pjrt_buffer **out)
NEVER(ath_status, ath_pjrt_buffer_read, ATH_UNSUPPORTED, ath_pjrt_buffer *self, void *data,
      size_t bytes)
NEVER(ath_status, ath_pjrt_buffer_wait, ATH_UNSUPPORTED, ath_pjrt_buffer *self)
NOTHING(ath_pjrt_buffer_destroy, ath_pjrt_buffer)
NEVER(ath_status, ath_pjrt_topology_create, ATH_UNSUPPORTED, ath_pjrt_plugin *plugin,
      const char *name, const ath_pjrt_option *options, size_t count, ath_pjrt_topology **out)
NOTHING(ath_pjrt_topology_destroy, ath_pjrt_topology)
NEVER(int, ath_pjrt_topology_device_count, 0, const ath_pjrt_topology *self)
NEVER(const char *, ath_pjrt_topology_device_kind, NULL, const ath_pjrt_topology *self)
NEVER(int64_t, ath_pjrt_topology_memory_limit, -1, const ath_pjrt_topology *self)
NEVER(ath_status, ath_pjrt_topology_compile, ATH_UNSUPPORTED, ath_pjrt_topology *self,
      const char *text, size_t length, const ath_pjrt_compile_options *options,
      ath_pjrt_executable **out)
NEVER(ath_status, ath_pjrt_profile_start, ATH_UNSUPPORTED, ath_pjrt_plugin *plugin,
      ath_pjrt_profile **out)
NEVER(ath_status, ath_pjrt_profile_stop, ATH_UNSUPPORTED, ath_pjrt_profile *self, ath_buffer *out)
NOTHING(ath_pjrt_profile_abandon, ath_pjrt_profile)
NEVER(bool, ath_pjrt_profile_is_there, false, const ath_pjrt_plugin *plugin)
