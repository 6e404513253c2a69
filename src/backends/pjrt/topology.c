/* topology.c: slices that are not there, and compiling for them. */
#include <stdlib.h>
#include <string.h>

#include "backends/pjrt/api.h"
#include "backends/pjrt/compile_options.h"

enum { OPTIONS_BYTES_MAX = 1 << 20, DEVICES_MAX = 1 << 20, ATTRIBUTES_MAX = 256 };

struct ath_pjrt_topology {
  ath_pjrt_plugin *plugin;
  PJRT_TopologyDescription *topology;
  char *kind;
  int device_count;
  int64_t memory_limit;
};

static ath_status read_devices(ath_pjrt_topology *self) {
  ATH_PJRT_ARGS(args, TopologyDescription_GetDeviceDescriptions, .topology = self->topology);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, TopologyDescription_GetDeviceDescriptions, &args));
  if (args.num_descriptions == 0 || args.num_descriptions > DEVICES_MAX)
    return ath_fail(ATH_UNSUPPORTED, "%s: a topology of %zu devices", self->plugin->path,
                    args.num_descriptions);
  self->device_count = (int)args.num_descriptions;
  ATH_PJRT_ARGS(kind, DeviceDescription_Kind, .device_description = args.descriptions[0]);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, DeviceDescription_Kind, &kind));
  self->kind = ath_pjrt_string(kind.device_kind, kind.device_kind_size);
  return self->kind != NULL ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory for a name");
}

static bool has_name(const PJRT_NamedValue *value, const char *name) {
  return value->name_size == strlen(name) && memcmp(value->name, name, value->name_size) == 0;
}

/* Optional: a plugin that does not say leaves it at −1. */
static void read_memory_limit(ath_pjrt_topology *self) {
  self->memory_limit = -1;
  ATH_PJRT_ARGS(args, TopologyDescription_Attributes, .topology = self->topology);
  if (ATH_PJRT_CALL(self->plugin, TopologyDescription_Attributes, &args) != ATH_OK) return;
  const PJRT_NamedValue *value = args.attributes;
  for (size_t i = 0; i < args.num_attributes && i < ATTRIBUTES_MAX; i++) {
    if (has_name(value, "device_memory_bytes_limit") && value->type == PJRT_NamedValue_kInt64)
      self->memory_limit = value->int64_value;
    value = ath_pjrt_next_value(value);
  }
}

static ath_status open_topology(ath_pjrt_topology *self, const char *name,
                                const ath_pjrt_option *options, size_t count) {
  PJRT_NamedValue *values;
  ATH_TRY(ath_pjrt_options_make(options, count, &values));
  ATH_PJRT_ARGS(args, TopologyDescription_Create, .topology_name = name,
                .topology_name_size = strlen(name), .create_options = values,
                .num_options = count);
  ath_status status = ATH_PJRT_CALL(self->plugin, TopologyDescription_Create, &args);
  free(values);
  ATH_TRY_CONTEXT(status, "topology \"%s\"", name);
  self->topology = args.topology;
  ATH_TRY(read_devices(self));
  read_memory_limit(self);
  return ATH_OK;
}

ath_status ath_pjrt_topology_create(ath_pjrt_plugin *plugin, const char *name,
                                    const ath_pjrt_option *options, size_t count,
                                    ath_pjrt_topology **out) {
  *out = NULL;
  ath_pjrt_topology *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a topology");
  self->plugin = plugin;
  ath_status status = open_topology(self, name, options, count);
  if (status != ATH_OK) {
    ath_pjrt_topology_destroy(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_pjrt_topology_destroy(ath_pjrt_topology *self) {
  if (self == NULL) return;
  if (self->topology != NULL)
    ATH_PJRT_RELEASE(self->plugin, TopologyDescription_Destroy, .topology = self->topology);
  free(self->kind);
  free(self);
}

int ath_pjrt_topology_device_count(const ath_pjrt_topology *self) { return self->device_count; }

const char *ath_pjrt_topology_device_kind(const ath_pjrt_topology *self) { return self->kind; }

int64_t ath_pjrt_topology_memory_limit(const ath_pjrt_topology *self) {
  return self->memory_limit;
}

ath_status ath_pjrt_topology_compile(ath_pjrt_topology *self, const char *text, size_t length,
                                     const ath_pjrt_compile_options *options,
                                     ath_pjrt_executable **out) {
  *out = NULL;
  if (options->partitions > self->device_count)
    return ath_fail(ATH_INVALID, "a program for %d devices, and the topology has %d",
                    options->partitions, self->device_count);
  ath_buffer bytes = ath_buffer_make(OPTIONS_BYTES_MAX);
  ath_status status = ath_pjrt_compile_options_write(options, &bytes);
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE, .code = (char *)text,
                          .code_size = length, .format = "mlir", .format_size = strlen("mlir")};
  ATH_PJRT_ARGS(args, Compile, .topology = self->topology, .program = &program,
                .compile_options = bytes.bytes, .compile_options_size = bytes.length);
  if (status == ATH_OK) status = ATH_PJRT_CALL(self->plugin, Compile, &args);
  ath_buffer_free(&bytes);
  if (status != ATH_OK) return status;
  return ath_pjrt_executable_wrap(self->plugin, NULL, args.executable, out);
}
