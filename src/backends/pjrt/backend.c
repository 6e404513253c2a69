/* backend.c: the table of the XLA engine: any device that a PJRT plugin brings. */
#include <assert.h>
#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "backends/pjrt/cache.h"
#include "backends/pjrt/engine.h"

enum { CPU_DEVICES_MAX = 256 };

/* The devices that have a name, and the path of any plugin. */
static bool accepts(const char *device) {
  size_t length = strlen(device);
  return strcmp(device, "xla:cpu") == 0 || strcmp(device, "cuda") == 0 ||
         strcmp(device, "tpu") == 0 || (length > 3 && strcmp(device + length - 3, ".so") == 0);
}

/* --- opening ------------------------------------------------------------------------------- */

static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* Which create options a plugin knows cannot be asked before its client is there; a path is taken
 * for a CPU's by its name. */
static bool is_for_cpu(const ath_xla_backend *self, const char *device) {
  return strcmp(device, "xla:cpu") == 0 ||
         strstr(file_name(ath_pjrt_plugin_path(self->plugin)), "cpu") != NULL;
}

/* The CPU plugins have as many threads as NPROC says, or else as there are processors; a number of
 * threads that was asked for (OMP_NUM_THREADS, --threads) shall hold for them too. */
static ath_status limit_threads(void) {
  cpu_set_t processors;
  char count[16];
  int wanted = omp_get_max_threads();
  if (sched_getaffinity(0, sizeof processors, &processors) == 0 &&
      CPU_COUNT(&processors) == wanted)
    return ATH_OK;
  snprintf(count, sizeof count, "%d", wanted);
  return setenv("NPROC", count, 0) == 0 ? ATH_OK : ath_fail_errno(errno, "cannot set NPROC");
}

/* A CPU is as many devices as the mesh wants, within reason. */
static ath_status create_client(ath_xla_backend *self, const char *device) {
  const ath_pjrt_option
      devices = {.name = "cpu_device_count", .kind = ATH_PJRT_INTEGER, .integer = self->devices},
      most_memory = {.name = "memory_fraction", .kind = ATH_PJRT_FLOAT,
                     .number = (float)ATH_PJRT_CUDA_MEMORY};
  bool cpu = is_for_cpu(self, device), cuda = strcmp(device, "cuda") == 0;
  const ath_pjrt_option *options = cpu ? &devices : cuda ? &most_memory : NULL;
  if (cpu && self->devices > CPU_DEVICES_MAX)
    return ath_fail(ATH_INVALID, "a mesh of %d devices, and a CPU can be at most %d", self->devices,
                    CPU_DEVICES_MAX);
  return ath_pjrt_client_create(self->plugin, options, options != NULL, &self->client);
}

/* On a slice of several hosts each would work on the same by itself. */
static ath_status check_devices(const ath_xla_backend *self, const char *device) {
  char text[64];
  int found = ath_pjrt_client_device_count(self->client);
  int all = ath_pjrt_client_global_count(self->client);
  if (found < 1)
    return ath_fail(ATH_NOT_FOUND, "device %s: its plugin %s finds no device", device,
                    ath_pjrt_plugin_path(self->plugin));
  if (all > found)
    return ath_fail(ATH_UNSUPPORTED, "device %s: this process has %d of %d devices, the others are "
                    "those of other hosts' processes, and a run is one process: use devices of one "
                    "host", device, found, all);
  if (found >= self->devices) return ATH_OK;
  return ath_fail(ATH_INVALID, "mesh %s has %d devices, but %s has %d",
                  ath_mesh_text(&self->mesh, text), self->devices, device, found);
}

/* "xla:cpu (cpu, PJRT 0.115, pjrt_c_api_cpu_plugin.so)", with the mesh if it is more than one. */
static void make_name(ath_xla_backend *self, const char *device) {
  int major, minor;
  ath_pjrt_plugin_version(self->plugin, &major, &minor);
  const char *file = file_name(ath_pjrt_plugin_path(self->plugin));
  char devices[96] = "", mesh[64];
  if (self->devices > 1)
    snprintf(devices, sizeof devices, "%d devices, %s, ", self->devices,
             ath_mesh_text(&self->mesh, mesh));
  snprintf(self->name, sizeof self->name, "%s (%s%s, PJRT %d.%d, %s)",
           strchr(device, '/') != NULL ? ath_pjrt_client_platform(self->client) : device, devices,
           ath_pjrt_client_device_kind(self->client, 0), major, minor, file);
}

static ath_status find_cache(ath_xla_backend *self) {
  bool on;
  ATH_TRY(ath_cache_folder(self->cache, &on));
  if (!on) self->cache[0] = '\0';
  return ATH_OK;
}

static ath_status open_device(ath_xla_backend *self, const char *device) {
  ATH_TRY(limit_threads());
  ATH_TRY(ath_pjrt_plugin_load(device, false, &self->plugin));
  ATH_TRY(create_client(self, device));
  ATH_TRY(check_devices(self, device));
  make_name(self, device);
  ATH_TRY(find_cache(self));
  return ath_xla_describe_machine(self);
}

static void close_device(ath_backend *base) {
  ath_xla_backend *self = (ath_xla_backend *)base;
  ath_pjrt_profile_abandon(self->profile);
  ath_pjrt_client_destroy(self->client);
  free(self->machine);
  free(self);
}

static ath_status open(const char *device, const ath_mesh *mesh, ath_backend **out) {
  ath_xla_backend *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a device");
  *self = (ath_xla_backend){.base.table = &ath_xla_backend_table, .mesh = *mesh,
                            .devices = ath_mesh_devices(mesh)};
  ath_status status = open_device(self, device);
  if (status == ATH_OK) *out = &self->base;
  else close_device(&self->base);
  return status;
}

static const char *name(const ath_backend *self) { return ((const ath_xla_backend *)self)->name; }

/* --- profile ------------------------------------------------------------------------------- */

static ath_status profile_check(const ath_backend *base) {
  const ath_xla_backend *self = (const ath_xla_backend *)base;
  if (ath_pjrt_profile_is_there(self->plugin)) return ATH_OK;
  return ath_fail(ATH_UNSUPPORTED, "%s: this plugin has no profiler; those of the devices tpu and "
                  "cuda have one", self->name);
}

static ath_status profile_start(ath_backend *base) {
  ath_xla_backend *self = (ath_xla_backend *)base;
  assert(self->profile == NULL);
  return ath_pjrt_profile_start(self->plugin, &self->profile);
}

static ath_status profile_stop(ath_backend *base, ath_buffer *out) {
  ath_xla_backend *self = (ath_xla_backend *)base;
  ath_pjrt_profile *profile = self->profile;
  assert(profile != NULL);
  self->profile = NULL;
  return ath_pjrt_profile_stop(profile, out);
}

const ath_backend_table ath_xla_backend_table = {
  .accepts = accepts,
  .history = 2,
  .open = open,
  .close = close_device,
  .name = name,
  .profile_check = profile_check,
  .profile_start = profile_start,
  .profile_stop = profile_stop,
  .state_create = ath_xla_state_create,
  .state_destroy = ath_xla_state_destroy,
  .state_write = ath_xla_state_write,
  .state_read = ath_xla_state_read,
  .state_variable = ath_xla_state_variable,
  .program_create = ath_xla_program_create,
  .program_destroy = ath_xla_program_destroy,
  .program_set_input = ath_xla_program_set_input,
  .program_run = ath_xla_program_run,
  .program_wait = ath_xla_program_wait,
  .program_get_output = ath_xla_program_get_output,
  .program_get_stats = ath_xla_program_get_stats,
  .program_profile = ath_xla_program_profile,
  .program_profile_print = ath_xla_program_profile_print,
};
