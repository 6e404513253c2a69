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

static ath_pjrt_option number_option(const char *name, int64_t value) {
  return (ath_pjrt_option){.name = name, .kind = ATH_PJRT_INTEGER, .integer = value};
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

/* A CPU is as many devices as the mesh wants, within reason. Those that find other processes
 * through a store want to be told how many there are; a TPU finds them by itself. */
static ath_status create_client(ath_xla_backend *self, const char *device, ath_store *store) {
  ath_pjrt_option options[3];
  size_t count = 0;
  bool cpu = is_for_cpu(self, device);
  if (cpu && self->devices > CPU_DEVICES_MAX)
    return ath_fail(ATH_INVALID, "a mesh of %d devices, and a CPU can be at most %d", self->devices,
                    CPU_DEVICES_MAX);
  if (strcmp(device, "tpu") == 0) store = NULL;
  if (cpu) options[count++] = number_option("cpu_device_count", self->devices);
  if (strcmp(device, "cuda") == 0)
    options[count++] = (ath_pjrt_option){.name = "memory_fraction", .kind = ATH_PJRT_FLOAT,
                                         .number = (float)ATH_PJRT_CUDA_MEMORY};
  if (store != NULL) {
    options[count++] = number_option("node_id", store->rank);
    options[count++] = number_option("num_nodes", store->size);
  }
  return ath_pjrt_client_join(self->plugin, options, count, store, &self->client);
}

/* Of several processes each must have a part of the work; there should be `launched`. */
static ath_status check_group(const ath_xla_backend *self, const char *device, int launched) {
  char text[64];
  int found = ath_pjrt_client_device_count(self->client);
  int all = ath_pjrt_client_global_count(self->client);
  if (launched > 1 && launched != self->processes)
    return ath_fail(ATH_UNSUPPORTED, "device %s: %d processes were started, but its plugin %s has "
                    "not joined them: it finds %d devices, %d of them in this process", device,
                    launched, ath_pjrt_plugin_path(self->plugin), all, found);
  if (self->processes == 1 || all == self->devices) return ATH_OK;
  return ath_fail(ATH_INVALID, "mesh %s has %d devices, but the %d processes have %d together, %d "
                  "each: a mesh takes all of them", ath_mesh_text(&self->mesh, text), self->devices,
                  self->processes, all, found);
}

/* On a slice of several hosts each would work on the same by itself, if it has not joined them. */
static ath_status check_devices(const ath_xla_backend *self, const char *device, bool joined) {
  char text[64];
  int found = ath_pjrt_client_device_count(self->client);
  if (found < 1)
    return ath_fail(ATH_NOT_FOUND, "device %s: its plugin %s finds no device", device,
                    ath_pjrt_plugin_path(self->plugin));
  if (!joined && self->processes > 1)
    return ath_fail(ATH_UNSUPPORTED, "device %s: this process has %d of %d devices, the others are "
                    "those of other hosts' processes, and this is done by one process: use devices "
                    "of one host", device, found, ath_pjrt_client_global_count(self->client));
  if (self->processes > 1 || found >= self->devices) return ATH_OK;
  return ath_fail(ATH_INVALID, "mesh %s has %d devices, but %s has %d",
                  ath_mesh_text(&self->mesh, text), self->devices, device, found);
}

/* Alone, a mesh takes the first of the devices. */
static void find_place(ath_xla_backend *self) {
  self->process = ath_pjrt_client_process(self->client);
  self->processes = ath_pjrt_client_process_count(self->client);
  self->here = self->processes > 1 ? ath_pjrt_client_device_count(self->client) : self->devices;
  self->first = self->process * self->here;
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

static ath_status open_device(ath_xla_backend *self, const char *device, bool joins,
                              ath_store *store) {
  ATH_TRY(limit_threads());
  ATH_TRY(ath_pjrt_plugin_load(device, false, &self->plugin));
  ATH_TRY(create_client(self, device, store));
  find_place(self);
  ATH_TRY(check_devices(self, device, joins));
  if (joins) ATH_TRY(check_group(self, device, store != NULL ? store->size : 1));
  make_name(self, device);
  ATH_TRY(find_cache(self));
  return ath_xla_describe_machine(self);
}

static void close_device(ath_backend *base) {
  ath_xla_backend *self = (ath_xla_backend *)base;
  ath_pjrt_profile_abandon(self->profile);
  ath_xla_gather_end(self);
  ath_pjrt_client_destroy(self->client);
  free(self->machine);
  free(self);
}

static ath_status open_or_join(const char *device, const ath_mesh *mesh, bool joins,
                               ath_store *store, ath_backend **out) {
  ath_xla_backend *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a device");
  *self = (ath_xla_backend){.base.table = &ath_xla_backend_table, .mesh = *mesh,
                            .devices = ath_mesh_devices(mesh)};
  ath_status status = open_device(self, device, joins, store);
  if (status == ATH_OK) *out = &self->base;
  else close_device(&self->base);
  return status;
}

static ath_status open(const char *device, const ath_mesh *mesh, ath_backend **out) {
  return open_or_join(device, mesh, false, NULL, out);
}

static ath_status join(const char *device, const ath_mesh *mesh, ath_store *store,
                       ath_backend **out) {
  return open_or_join(device, mesh, true, store, out);
}

static ath_group group(const ath_backend *base) {
  const ath_xla_backend *self = (const ath_xla_backend *)base;
  return (ath_group){self->process, self->processes};
}

static void share(const ath_backend *self, int *first, int *count) {
  ath_xla_share((const ath_xla_backend *)self, first, count);
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
  .join = join,
  .group = group,
  .share = share,
  .tell = ath_xla_tell,
  .hear = ath_xla_hear,
  .state_gather = ath_xla_state_gather,
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
