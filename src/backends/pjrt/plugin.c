/* plugin.c: loading a plugin, once a process, and what it says of itself. */
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backends/pjrt/api.h"
#include "backends/pjrt/library.h"
#include "backends/pjrt/tpu.h"

enum { ATTRIBUTES_MAX = 256 };

/* All that were loaded: one initialisation a process is allowed, and none is ever unloaded. */
static ath_pjrt_plugin *loaded;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* --- the table of functions -------------------------------------------------------------- */

/* Functions that error and clean-up paths call without asking. */
static const struct {
  const char *name;
  size_t offset;
} required[] = {
#define REQUIRED(name) {#name, offsetof(PJRT_Api, name)}
  REQUIRED(PJRT_Error_Destroy), REQUIRED(PJRT_Error_Message), REQUIRED(PJRT_Error_GetCode),
  REQUIRED(PJRT_Event_Destroy), REQUIRED(PJRT_Event_Await),
#undef REQUIRED
};

static ath_status check_table(const PJRT_Api *api, const char *path) {
  if (api == NULL) return ath_fail(ATH_INVALID, "%s: GetPjrtApi gives nothing", path);
  if (api->struct_size < offsetof(PJRT_Api, PJRT_Error_Destroy))
    return ath_fail(ATH_INVALID, "%s: its table of %zu bytes is no PJRT API", path,
                    api->struct_size);
  int major = api->pjrt_api_version.major_version, minor = api->pjrt_api_version.minor_version;
  if (major != PJRT_API_MAJOR)
    return ath_fail(ATH_UNSUPPORTED, "%s: its PJRT API is %d.%d; this build speaks %d.x", path,
                    major, minor, PJRT_API_MAJOR);
  for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
    void (*function)(void) = NULL;
    if (required[i].offset + sizeof function <= api->struct_size)
      memcpy(&function, (const char *)api + required[i].offset, sizeof function);
    if (function == NULL)
      return ath_fail(ATH_UNSUPPORTED, "%s: the plugin has no %s (its API is %d.%d)", path,
                      required[i].name, major, minor);
  }
  return ATH_OK;
}

static ath_status open_table(const char *path, const PJRT_Api **out) {
  ATH_TRY(ath_library_check(path));
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    const char *why = dlerror();
    return ath_fail(ATH_UNSUPPORTED, "cannot load the plugin: %s", why != NULL ? why : path);
  }
  const PJRT_Api *(*get)(void);
  void *symbol = dlsym(handle, "GetPjrtApi");
  if (symbol == NULL)
    return ath_fail(ATH_INVALID, "%s: no PJRT plugin: it has no function GetPjrtApi", path);
  memcpy(&get, &symbol, sizeof get);
  *out = get();
  return check_table(*out, path);
}

/* --- attributes -------------------------------------------------------------------------- */

static ath_status read_attributes(ath_pjrt_plugin *self) {
  if (!ATH_PJRT_HAS(self, Plugin_Attributes)) return ATH_OK;
  ATH_PJRT_ARGS(args, Plugin_Attributes, 0);
  ATH_TRY(ATH_PJRT_CALL(self, Plugin_Attributes, &args));
  size_t count = args.num_attributes < ATTRIBUTES_MAX ? args.num_attributes : ATTRIBUTES_MAX;
  if (count == 0) return ATH_OK;
  self->attributes = calloc(count, sizeof *self->attributes);
  if (self->attributes == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for attributes");
  const PJRT_NamedValue *value = args.attributes;
  for (size_t i = 0; i < count; i++, value = ath_pjrt_next_value(value)) {
    ath_pjrt_attribute *attribute = &self->attributes[self->attribute_count++];
    snprintf(attribute->name, sizeof attribute->name, "%.*s", (int)value->name_size, value->name);
    ath_pjrt_value_text(value, attribute->text, sizeof attribute->text);
  }
  return ATH_OK;
}

const char *ath_pjrt_plugin_attribute(const ath_pjrt_plugin *self, const char *name) {
  for (size_t i = 0; i < self->attribute_count; i++)
    if (strcmp(self->attributes[i].name, name) == 0) return self->attributes[i].text;
  return NULL;
}

const char *ath_pjrt_plugin_path(const ath_pjrt_plugin *self) { return self->path; }

void ath_pjrt_plugin_version(const ath_pjrt_plugin *self, int *major, int *minor) {
  *major = self->api->pjrt_api_version.major_version;
  *minor = self->api->pjrt_api_version.minor_version;
}

/* --- loading ----------------------------------------------------------------------------- */

/* libtpu under any name: what it is, only its environment decides before it is loaded. */
static bool is_libtpu(const char *device, const char *path) {
  const char *slash = strrchr(path, '/');
  return strcmp(device, "tpu") == 0 || strcmp(slash != NULL ? slash + 1 : path, "libtpu.so") == 0;
}

/* Plugins write each client and each old spelling to standard error, unless told otherwise before
 * they are loaded; their errors still show. */
static ath_status quieten(void) {
  return setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0) == 0
             ? ATH_OK
             : ath_fail_errno(errno, "cannot set TF_CPP_MIN_LOG_LEVEL");
}

static ath_status initialize(ath_pjrt_plugin *self) {
  ATH_PJRT_ARGS(args, Plugin_Initialize, 0);
  if (ATH_PJRT_HAS(self, Plugin_Initialize))
    ATH_TRY(ATH_PJRT_CALL(self, Plugin_Initialize, &args));
  return read_attributes(self);
}

static void release(ath_pjrt_plugin *self) {
  free(self->attributes);
  free(self->path);
  free(self);
}

/* One whose initialisation fails stays, with its failure: a second try is not allowed. */
static ath_status load_new(const char *device, const char *path, bool ahead_of_time,
                           ath_pjrt_plugin **out) {
  if (is_libtpu(device, path))
    ATH_TRY(ahead_of_time ? ath_tpu_prepare_ahead_of_time() : ath_tpu_prepare(""));
  ATH_TRY(quieten());
  ath_pjrt_plugin *self = calloc(1, sizeof *self);
  char *copy = strdup(path);
  if (self == NULL || copy == NULL) {
    free(self);
    free(copy);
    return ath_fail(ATH_NO_MEMORY, "no memory for a plugin");
  }
  *self = (ath_pjrt_plugin){.path = copy, .ahead_of_time = ahead_of_time};
  ath_status status = open_table(path, &self->api);
  if (status != ATH_OK) {
    release(self);
    return status;
  }
  ath_outcome_keep(&self->start, initialize(self));
  *out = self;
  return ATH_OK;
}

static ath_status find_or_load(const char *device, const char *path, bool ahead_of_time,
                               ath_pjrt_plugin **out) {
  for (ath_pjrt_plugin *plugin = loaded; plugin != NULL; plugin = plugin->next) {
    if (strcmp(plugin->path, path) != 0) continue;
    if (is_libtpu(device, path) && plugin->ahead_of_time != ahead_of_time)
      return ath_fail(ATH_UNSUPPORTED, "%s: one process cannot both compile ahead of time and use "
                      "the TPU", path);
    *out = plugin;
    return ATH_OK;
  }
  ATH_TRY(load_new(device, path, ahead_of_time, out));
  (*out)->next = loaded;
  loaded = *out;
  return ATH_OK;
}

static ath_status load_once(const char *device, const char *path, bool ahead_of_time,
                            ath_pjrt_plugin **out) {
  ath_pjrt_plugin *plugin = NULL;
  ATH_TRY(find_or_load(device, path, ahead_of_time, &plugin));
  ATH_TRY(ath_outcome_return(&plugin->start));
  plugin->kind = ath_pjrt_kind_find(device);
  *out = plugin;
  return ATH_OK;
}

/* The path of a device's plugin; a device may be a path itself. */
static ath_status locate(const char *device, char out[ATH_PATH_MAX]) {
  const ath_pjrt_kind *kind = ath_pjrt_kind_find(device);
  if (kind != NULL) return ath_pjrt_find(kind, out);
  size_t length = strlen(device);
  if (length < 3 || strcmp(device + length - 3, ".so") != 0)
    return ath_fail(ATH_UNSUPPORTED, "no device \"%s\"; there are cpu, xla:cpu, cuda, tpu, or a "
                    "plugin's path ending in .so", device);
  if (!ath_path_exists(device)) return ath_fail(ATH_NOT_FOUND, "%s: no such plugin", device);
  if (snprintf(out, ATH_PATH_MAX, "%s%s", strchr(device, '/') == NULL ? "./" : "", device) >=
      ATH_PATH_MAX)
    return ath_fail(ATH_INVALID, "%s: the path is too long", device);
  return ATH_OK;
}

ath_status ath_pjrt_plugin_load(const char *device, bool ahead_of_time, ath_pjrt_plugin **out) {
  *out = NULL;
  /* Whether there is a TPU matters more than whether there is a plugin for it. */
  if (strcmp(device, "tpu") == 0 && !ahead_of_time) ATH_TRY(ath_tpu_prepare(""));
  char path[ATH_PATH_MAX];
  ATH_TRY(locate(device, path));
  pthread_mutex_lock(&loading);
  ath_status status = load_once(device, path, ahead_of_time, out);
  pthread_mutex_unlock(&loading);
  return status;
}
