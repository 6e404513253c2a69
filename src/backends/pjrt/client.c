/* client.c: a plugin's client and its devices. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backends/pjrt/api.h"

enum { DEVICES_MAX = 1 << 16 };

/* --- devices ----------------------------------------------------------------------------- */

static ath_status read_description(const ath_pjrt_client *self, PJRT_Device *device,
                                   PJRT_DeviceDescription **out) {
  ATH_PJRT_ARGS(args, Device_GetDescription, .device = device);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Device_GetDescription, &args));
  *out = args.device_description;
  return ATH_OK;
}

static ath_status read_kind(ath_pjrt_client *self, int i) {
  PJRT_DeviceDescription *description = NULL;
  ATH_TRY(read_description(self, self->devices[i], &description));
  ATH_PJRT_ARGS(args, DeviceDescription_Kind, .device_description = description);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, DeviceDescription_Kind, &args));
  self->kinds[i] = ath_pjrt_string(args.device_kind, args.device_kind_size);
  return self->kinds[i] != NULL ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory for a device");
}

static ath_status read_id(const ath_pjrt_client *self, PJRT_Device *device, int64_t *id) {
  PJRT_DeviceDescription *description = NULL;
  ATH_TRY(read_description(self, device, &description));
  ATH_PJRT_ARGS(args, DeviceDescription_Id, .device_description = description);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, DeviceDescription_Id, &args));
  *id = args.id;
  return ATH_OK;
}

static ath_status read_process(const ath_pjrt_client *self, PJRT_Device *device, int *process) {
  PJRT_DeviceDescription *description = NULL;
  ATH_TRY(read_description(self, device, &description));
  ATH_PJRT_ARGS(args, DeviceDescription_ProcessIndex, .device_description = description);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, DeviceDescription_ProcessIndex, &args));
  *process = args.process_index;
  return ATH_OK;
}

static ath_status make_ids(const ath_pjrt_client *self, PJRT_Device *const *devices, int count,
                           int64_t **out) {
  *out = calloc((size_t)count, sizeof **out);
  if (*out == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %d devices", count);
  for (int i = 0; i < count; i++) ATH_TRY(read_id(self, devices[i], &(*out)[i]));
  return ATH_OK;
}

/* Sorts the global list by process. In which order the slice numbers its devices is its own affair;
 * here each process's follow one another, so that its share of a batch is one piece. */
static ath_status sort_by_process(ath_pjrt_client *self, PJRT_Device *const *devices) {
  int count = self->global_count, sorted = 0;
  int64_t *ids = calloc((size_t)count, sizeof *ids);
  if (ids == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %d devices", count);
  ath_status status = ATH_OK;
  for (int p = 0; p < self->processes && status == ATH_OK; p++)
    for (int i = 0; i < count && status == ATH_OK; i++) {
      int process = 0;
      status = read_process(self, devices[i], &process);
      if (status == ATH_OK && process == p && sorted < count) ids[sorted++] = self->global_ids[i];
    }
  if (status == ATH_OK && sorted != count)
    status = ath_fail(ATH_UNSUPPORTED, "%s: %d of %d devices belong to one of %d processes",
                      self->plugin->path, sorted, count, self->processes);
  if (status == ATH_OK) memcpy(self->global_ids, ids, (size_t)count * sizeof *ids);
  free(ids);
  return status;
}

/* Every process has as many devices as this one, and its own are where it counts them. */
static ath_status find_processes(ath_pjrt_client *self, PJRT_Device *const *devices) {
  ATH_PJRT_ARGS(args, Client_ProcessIndex, .client = self->client);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Client_ProcessIndex, &args));
  self->process = args.process_index;
  self->processes = self->global_count / self->device_count;
  if (self->global_count % self->device_count != 0 || self->process < 0 ||
      self->process >= self->processes)
    return ath_fail(ATH_UNSUPPORTED, "%s: this is process %d and has %d of %d devices; all "
                    "processes must have equally many", self->plugin->path, self->process,
                    self->device_count, self->global_count);
  ATH_TRY(sort_by_process(self, devices));
  const int64_t *own = self->global_ids + self->process * self->device_count;
  if (memcmp(own, self->ids, (size_t)self->device_count * sizeof *own) == 0) return ATH_OK;
  return ath_fail(ATH_UNSUPPORTED, "%s: the %d devices of process %d are not those that the plugin "
                  "lists for it", self->plugin->path, self->device_count, self->process);
}

/* A program on more devices than this process has runs on those of all processes. */
static ath_status list_global_devices(ath_pjrt_client *self) {
  ATH_PJRT_ARGS(args, Client_Devices, .client = self->client);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Client_Devices, &args));
  if (args.num_devices < (size_t)self->device_count || args.num_devices > DEVICES_MAX)
    return ath_fail(ATH_UNSUPPORTED, "%s: the plugin finds %zu devices, %d of them here",
                    self->plugin->path, args.num_devices, self->device_count);
  self->global_count = (int)args.num_devices;
  ATH_TRY(make_ids(self, args.devices, self->global_count, &self->global_ids));
  if (self->global_count == self->device_count) return ATH_OK;
  ATH_TRY(find_processes(self, args.devices));
  return ath_pjrt_read_patience(&self->plugin->patience);
}

static ath_status list_devices(ath_pjrt_client *self) {
  ATH_PJRT_ARGS(args, Client_AddressableDevices, .client = self->client);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Client_AddressableDevices, &args));
  size_t count = args.num_addressable_devices;
  if (count == 0 || count > DEVICES_MAX)
    return ath_fail(ATH_UNSUPPORTED, "%s: the plugin finds %zu devices", self->plugin->path, count);
  self->devices = args.addressable_devices;
  self->kinds = calloc(count, sizeof *self->kinds);
  if (self->kinds == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu devices", count);
  self->device_count = (int)count;
  for (int i = 0; i < self->device_count; i++) ATH_TRY(read_kind(self, i));
  ATH_TRY(make_ids(self, self->devices, self->device_count, &self->ids));
  return list_global_devices(self);
}

/* --- the client -------------------------------------------------------------------------- */

static ath_status read_platform(ath_pjrt_client *self) {
  ATH_PJRT_ARGS(args, Client_PlatformName, .client = self->client);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Client_PlatformName, &args));
  self->platform = ath_pjrt_string(args.platform_name, args.platform_name_size);
  return self->platform != NULL ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory for a name");
}

/* A plugin that was named for a device by hand, or lies in another's place. */
static ath_status check_platform(const ath_pjrt_client *self) {
  const ath_pjrt_kind *wanted = self->plugin->kind, *found = ath_pjrt_kinds;
  while (found->device != NULL && strcasecmp(found->name, self->platform) != 0) found++;
  if (wanted == NULL || found->device == NULL || found == wanted) return ATH_OK;
  return ath_fail(ATH_MISMATCH, "%s: a plugin for the device %s, not for %s; \"athanor plugins "
                  "list\" tells where each is looked for (%s first)", self->plugin->path,
                  found->device, wanted->device, wanted->variable);
}

static ath_status open_client(ath_pjrt_client *self, const ath_pjrt_option *options, size_t count,
                              ath_store *store) {
  PJRT_NamedValue *values;
  ATH_TRY(ath_pjrt_options_make(options, count, &values));
  ATH_PJRT_ARGS(args, Client_Create, .create_options = values, .num_options = count);
  if (store != NULL) ath_pjrt_join(store, &args);
  ath_status status = ATH_PJRT_CALL(self->plugin, Client_Create, &args);
  free(values);
  if (status != ATH_OK) return status;
  self->client = args.client;
  ATH_TRY(read_platform(self));
  ATH_TRY(check_platform(self));
  return list_devices(self);
}

ath_status ath_pjrt_client_create(ath_pjrt_plugin *plugin, const ath_pjrt_option *options,
                                  size_t count, ath_pjrt_client **out) {
  return ath_pjrt_client_join(plugin, options, count, NULL, out);
}

/* Without a store: alone. */
ath_status ath_pjrt_client_join(ath_pjrt_plugin *plugin, const ath_pjrt_option *options,
                                size_t count, ath_store *store, ath_pjrt_client **out) {
  *out = NULL;
  ath_pjrt_client *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a client");
  self->plugin = plugin;
  self->processes = 1;
  plugin->patience = 0;
  ath_status status = open_client(self, options, count, store);
  if (status != ATH_OK) {
    ath_pjrt_client_destroy(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_pjrt_client_destroy(ath_pjrt_client *self) {
  if (self == NULL) return;
  if (self->client != NULL) ATH_PJRT_RELEASE(self->plugin, Client_Destroy, .client = self->client);
  for (int i = 0; i < self->device_count; i++) free(self->kinds[i]);
  free(self->kinds);
  free(self->ids);
  free(self->global_ids);
  free(self->platform);
  free(self);
}

const char *ath_pjrt_client_platform(const ath_pjrt_client *self) { return self->platform; }

int ath_pjrt_client_device_count(const ath_pjrt_client *self) { return self->device_count; }

int ath_pjrt_client_global_count(const ath_pjrt_client *self) { return self->global_count; }

int64_t ath_pjrt_client_global_id(const ath_pjrt_client *self, int device) {
  assert(device >= 0 && device < self->global_count);
  return self->global_ids[device];
}

int ath_pjrt_client_process(const ath_pjrt_client *self) { return self->process; }

int ath_pjrt_client_process_count(const ath_pjrt_client *self) { return self->processes; }

const char *ath_pjrt_client_device_kind(const ath_pjrt_client *self, int device) {
  assert(device >= 0 && device < self->device_count);
  return self->kinds[device];
}

ath_status ath_pjrt_client_device_memory(const ath_pjrt_client *self, int device, int64_t *limit,
                                         int64_t *used) {
  assert(device >= 0 && device < self->device_count);
  ATH_PJRT_ARGS(args, Device_MemoryStats, .device = self->devices[device]);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Device_MemoryStats, &args));
  if (!args.bytes_limit_is_set)
    return ath_fail(ATH_UNSUPPORTED, "%s: the plugin does not tell how much memory a device has",
                    self->plugin->path);
  *limit = args.bytes_limit;
  *used = args.bytes_in_use;
  return ATH_OK;
}
