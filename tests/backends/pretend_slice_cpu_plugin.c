/* pretend_slice_cpu_plugin.c: a CPU plugin (its path is in PRETEND_PLUGIN) as one host of a slice.
 *
 * The CPU's devices are shared out among the processes, which find one another as with CUDA's
 * plugin (options node_id and num_nodes, and the store's callbacks), or as on a TPU slice, by
 * themselves (PRETEND_PLACE="1 of 2"). A process sees all devices and has only its own: their
 * buffers, their partitions' results. Behind that each process runs the whole program on all
 * devices. What the others gave to theirs it reads from PRETEND_FOLDER: every buffer made from the
 * host's memory is written there under its number, and processes make theirs in the same order. So
 * every process computes the same bits as one process with all devices, if and only if the engine
 * gave each device what belongs to it. A value that does not come within PRETEND_SECONDS is a
 * failure.
 *
 * With PRETEND_MIXED a process's devices are not neighbours in the slice's own numbering. */
#include <dlfcn.h>
#include <pjrt_c_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICES_MAX = 16, RANK_MAX = 8, OPTIONS_MAX = 16, PAUSE = 2000, TEXT = 300 };

static const PJRT_Api *real; /* the plugin behind this one */

static struct {
  int process, processes, each, count; /* devices of a process, of all */
  PJRT_Device *const *all;
  PJRT_DeviceDescription *descriptions[DEVICES_MAX];
  PJRT_Device *own[DEVICES_MAX];
  long made; /* buffers from the host's memory */
  PJRT_Client *client;
} slice;

#define ARGS(variable, name, ...) \
  PJRT_##name##_Args variable = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__}

/* --- failures ------------------------------------------------------------------------------ */

typedef struct failure {
  char text[TEXT];
  struct failure *next;
} failure;
static failure *failures; /* of this plugin's making; they stay until the end */

static PJRT_Error *fail(const char *format, const char *name) {
  failure *self = calloc(1, sizeof *self);
  snprintf(self->text, sizeof self->text, format, name);
  self->next = failures;
  failures = self;
  return (PJRT_Error *)self;
}

static const failure *find_failure(const PJRT_Error *error) {
  const failure *f = failures;
  while (f != NULL && (const void *)f != (const void *)error) f = f->next;
  return f;
}

static void error_destroy(PJRT_Error_Destroy_Args *args) {
  if (find_failure(args->error) == NULL) real->PJRT_Error_Destroy(args);
}

static void error_message(PJRT_Error_Message_Args *args) {
  const failure *f = find_failure(args->error);
  if (f == NULL) {
    real->PJRT_Error_Message(args);
    return;
  }
  args->message = f->text;
  args->message_size = strlen(f->text);
}

static PJRT_Error *error_get_code(PJRT_Error_GetCode_Args *args) {
  if (find_failure(args->error) == NULL) return real->PJRT_Error_GetCode(args);
  args->code = PJRT_Error_Code_UNAVAILABLE;
  return NULL;
}

/* --- devices ------------------------------------------------------------------------------- */

static int owner_of(int device) {
  return getenv("PRETEND_MIXED") != NULL ? device % slice.processes : device / slice.each;
}

static int number_of(const PJRT_Device *device) {
  int i = 0;
  while (i < slice.count && slice.all[i] != device) i++;
  return i;
}

static PJRT_Error *look_at_devices(PJRT_Client *client) {
  ARGS(list, Client_Devices, .client = client);
  PJRT_Error *error = real->PJRT_Client_Devices(&list);
  if (error != NULL) return error;
  slice.all = list.devices;
  slice.count = (int)list.num_devices;
  slice.each = slice.count / slice.processes;
  if (slice.count > DEVICES_MAX || slice.count % slice.processes != 0)
    return fail("%s: the devices do not divide", "pretend slice");
  for (int i = 0, own = 0; i < slice.count; i++) {
    ARGS(of, Device_GetDescription, .device = slice.all[i]);
    error = real->PJRT_Device_GetDescription(&of);
    if (error != NULL) return error;
    slice.descriptions[i] = of.device_description;
    if (owner_of(i) == slice.process) slice.own[own++] = slice.all[i];
  }
  return NULL;
}

static PJRT_Error *client_addressable_devices(PJRT_Client_AddressableDevices_Args *args) {
  args->addressable_devices = slice.own;
  args->num_addressable_devices = (size_t)slice.each;
  return NULL;
}

static PJRT_Error *client_process_index(PJRT_Client_ProcessIndex_Args *args) {
  args->process_index = slice.process;
  return NULL;
}

static PJRT_Error *description_process_index(PJRT_DeviceDescription_ProcessIndex_Args *args) {
  for (int i = 0; i < slice.count; i++)
    if (slice.descriptions[i] == args->device_description) args->process_index = owner_of(i);
  return NULL;
}

/* --- joining ------------------------------------------------------------------------------- */

static PJRT_Error *make_error(PJRT_Error_Code code, const char *text, size_t size) {
  char copy[TEXT];
  (void)code;
  snprintf(copy, sizeof copy, "%.*s", (int)size, text);
  return fail("the store: %s", copy);
}
static PJRT_CallbackError callback_error = make_error;

/* Each puts its number, and waits for everybody's. */
static PJRT_Error *meet(PJRT_Client_Create_Args *args) {
  char key[32];
  int length = snprintf(key, sizeof key, "pretend/%d", slice.process);
  PJRT_KeyValuePutCallback_Args put = {
    .struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE, .key = key,
    .key_size = (size_t)length, .value = key, .value_size = (size_t)length,
    .callback_error = &callback_error, .user_arg = args->kv_put_user_arg};
  PJRT_Error *error = args->kv_put_callback(&put);
  for (int p = 0; p < slice.processes && error == NULL; p++) {
    length = snprintf(key, sizeof key, "pretend/%d", p);
    PJRT_KeyValueGetCallback_Args get = {
      .struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE, .key = key,
      .key_size = (size_t)length, .timeout_in_ms = 60000, .callback_error = &callback_error,
      .user_arg = args->kv_get_user_arg};
    error = args->kv_get_callback(&get);
    if (error != NULL) return error;
    bool same = get.value_size == (size_t)length && memcmp(get.value, key, get.value_size) == 0;
    get.value_deleter_callback(get.value);
    if (!same) return fail("the store has another value under %s", key);
  }
  return error;
}

static bool is_named(const PJRT_NamedValue *option, const char *name) {
  return option->name_size == strlen(name) && memcmp(option->name, name, option->name_size) == 0;
}

/* Takes out what the CPU's plugin does not know. */
static size_t take_place(const PJRT_Client_Create_Args *args, PJRT_NamedValue *rest) {
  size_t count = 0;
  const char *place = getenv("PRETEND_PLACE");
  slice.processes = 1;
  if (place != NULL) sscanf(place, "%d of %d", &slice.process, &slice.processes);
  for (size_t i = 0; i < args->num_options && count < OPTIONS_MAX; i++) {
    const PJRT_NamedValue *option = &args->create_options[i];
    if (is_named(option, "node_id")) slice.process = (int)option->int64_value;
    else if (is_named(option, "num_nodes")) slice.processes = (int)option->int64_value;
    else rest[count++] = *option;
  }
  return count;
}

static PJRT_Error *client_create(PJRT_Client_Create_Args *args) {
  PJRT_NamedValue rest[OPTIONS_MAX];
  ARGS(alone, Client_Create, .create_options = rest);
  alone.num_options = take_place(args, rest);
  PJRT_Error *error = args->kv_put_callback != NULL ? meet(args) : NULL;
  if (error == NULL) error = real->PJRT_Client_Create(&alone);
  if (error != NULL) return error;
  args->client = slice.client = alone.client;
  return look_at_devices(alone.client);
}

/* --- buffers ------------------------------------------------------------------------------- */

/* What the engine takes for a buffer on one of this process's devices: with it go those of the
 * other processes on theirs. */
typedef struct shared_buffer {
  PJRT_Buffer *of[DEVICES_MAX]; /* [process]; NULL: not yet read from the folder */
  long number;
} shared_buffer;

static shared_buffer *shared(PJRT_Buffer *buffer) { return (shared_buffer *)buffer; }
static PJRT_Buffer *own(PJRT_Buffer *buffer) { return shared(buffer)->of[slice.process]; }

typedef struct file_header {
  PJRT_Buffer_Type type;
  size_t rank, bytes;
  int64_t dims[RANK_MAX];
} file_header;

static void path_of(char *out, int process, long number, const char *ending) {
  snprintf(out, TEXT, "%s/%d.%ld%s", getenv("PRETEND_FOLDER"), process, number, ending);
}

/* The types of the engine. */
static size_t bytes_of(PJRT_Buffer_Type type) { return type == PJRT_Buffer_Type_BF16 ? 2 : 4; }

static PJRT_Error *publish(const PJRT_Client_BufferFromHostBuffer_Args *args, long number) {
  char hidden[TEXT], path[TEXT];
  file_header header = {.type = args->type, .rank = args->num_dims, .bytes = bytes_of(args->type)};
  for (size_t i = 0; i < args->num_dims; i++)
    header.bytes *= (size_t)(header.dims[i] = args->dims[i]);
  path_of(hidden, slice.process, number, ".tmp");
  path_of(path, slice.process, number, "");
  FILE *file = fopen(hidden, "wb");
  if (file == NULL) return fail("cannot write %s", hidden);
  bool whole = fwrite(&header, sizeof header, 1, file) == 1 &&
               fwrite(args->data, 1, header.bytes, file) == header.bytes;
  if (fclose(file) != 0 || !whole || rename(hidden, path) != 0)
    return fail("cannot write %s", path);
  return NULL;
}

static PJRT_Error *buffer_from_host(PJRT_Client_BufferFromHostBuffer_Args *args) {
  int device = number_of(args->device);
  if (device == slice.count || owner_of(device) != slice.process)
    return fail("%s on another process's device", "a buffer");
  PJRT_Error *error = real->PJRT_Client_BufferFromHostBuffer(args);
  if (error != NULL) return error;
  shared_buffer *self = calloc(1, sizeof *self);
  self->of[slice.process] = args->buffer;
  self->number = slice.made++;
  args->buffer = (PJRT_Buffer *)self;
  return publish(args, self->number);
}

static FILE *open_when_there(const char *path) {
  const char *seconds = getenv("PRETEND_SECONDS");
  long pauses = (seconds != NULL ? atol(seconds) : 60) * (1000000 / PAUSE);
  FILE *file = NULL;
  for (long i = 0; i < pauses && (file = fopen(path, "rb")) == NULL; i++) usleep(PAUSE);
  return file;
}

/* Another process's buffer, on its device. */
static PJRT_Error *fetch(shared_buffer *self, int process, int device) {
  char path[TEXT];
  file_header header;
  path_of(path, process, self->number, "");
  FILE *file = open_when_there(path);
  if (file == NULL)
    return fail("%s has not come: its process is gone or does something else", path);
  void *data = NULL;
  if (fread(&header, sizeof header, 1, file) == 1) {
    data = malloc(header.bytes + 1);
    if (fread(data, 1, header.bytes, file) != header.bytes) header.bytes = 0;
  }
  fclose(file);
  ARGS(args, Client_BufferFromHostBuffer, .client = slice.client, .data = data,
       .type = header.type, .dims = header.dims, .num_dims = header.rank,
       .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
       .device = slice.all[device]);
  PJRT_Error *error = data != NULL ? real->PJRT_Client_BufferFromHostBuffer(&args)
                                   : fail("%s is cut short", path);
  free(data);
  if (error != NULL) return error;
  ARGS(event, Event_Destroy, .event = args.done_with_host_buffer);
  self->of[process] = args.buffer;
  return real->PJRT_Event_Destroy(&event);
}

static PJRT_Error *buffer_destroy(PJRT_Buffer_Destroy_Args *args) {
  PJRT_Error *error = NULL;
  for (int p = 0; p < slice.processes && error == NULL; p++) {
    ARGS(one, Buffer_Destroy, .buffer = shared(args->buffer)->of[p]);
    if (one.buffer != NULL) error = real->PJRT_Buffer_Destroy(&one);
  }
  free(args->buffer);
  return error;
}

/* Functions that ask for one thing of one buffer. */
#define FORWARD(name, member)                                       \
  static PJRT_Error *forward_##name(PJRT_##name##_Args *args) {     \
    PJRT_Buffer *before = args->member;                             \
    args->member = own(before);                                     \
    PJRT_Error *error = real->PJRT_##name(args);                    \
    args->member = before;                                          \
    return error;                                                   \
  }
FORWARD(Buffer_ElementType, buffer)
FORWARD(Buffer_Dimensions, buffer)
FORWARD(Buffer_ReadyEvent, buffer)
FORWARD(Buffer_ToHostBuffer, src)

/* --- programs ------------------------------------------------------------------------------ */

/* The devices of a program's partitions, by number, and for each which of its process's it is. */
typedef struct places {
  int devices[DEVICES_MAX], turn[DEVICES_MAX], count;
} places;

static PJRT_Error *find_places(PJRT_LoadedExecutable *executable, places *out) {
  int turns[DEVICES_MAX] = {0};
  ARGS(args, LoadedExecutable_AddressableDevices, .executable = executable);
  PJRT_Error *error = real->PJRT_LoadedExecutable_AddressableDevices(&args);
  if (error != NULL) return error;
  out->count = (int)args.num_addressable_devices;
  for (int i = 0; i < out->count; i++) {
    out->devices[i] = number_of(args.addressable_devices[i]);
    out->turn[i] = turns[owner_of(out->devices[i])]++;
  }
  return NULL;
}

static PJRT_Error *executable_devices(PJRT_LoadedExecutable_AddressableDevices_Args *args) {
  places at;
  PJRT_Error *error = find_places(args->executable, &at);
  if (error != NULL) return error;
  PJRT_Device **list = calloc(DEVICES_MAX, sizeof *list); /* as long as the program: for ever */
  for (int i = 0; i < at.count; i++)
    if (owner_of(at.devices[i]) == slice.process)
      list[args->num_addressable_devices++] = slice.all[at.devices[i]];
  args->addressable_devices = list;
  return NULL;
}

typedef struct run {
  places at;
  size_t results;
  PJRT_Buffer **arguments[DEVICES_MAX], **outputs[DEVICES_MAX];
} run;

static PJRT_Error *gather_arguments(run *self, const PJRT_LoadedExecutable_Execute_Args *args) {
  for (int i = 0; i < self->at.count; i++) {
    int process = owner_of(self->at.devices[i]);
    self->arguments[i] = calloc(args->num_args + 1, sizeof(PJRT_Buffer *));
    for (size_t a = 0; a < args->num_args; a++) {
      shared_buffer *buffer = shared(args->argument_lists[self->at.turn[i]][a]);
      PJRT_Error *error = NULL;
      if (buffer->of[process] == NULL) error = fetch(buffer, process, self->at.devices[i]);
      if (error != NULL) return error;
      self->arguments[i][a] = buffer->of[process];
    }
  }
  return NULL;
}

static void hand_out_results(const run *self, const PJRT_LoadedExecutable_Execute_Args *args) {
  for (size_t d = 0; d < args->num_devices; d++)
    for (size_t r = 0; r < self->results; r++)
      args->output_lists[d][r] = calloc(1, sizeof(shared_buffer));
  for (int i = 0; i < self->at.count; i++)
    for (size_t r = 0; r < self->results; r++) {
      shared_buffer *buffer = shared(args->output_lists[self->at.turn[i]][r]);
      buffer->of[owner_of(self->at.devices[i])] = self->outputs[i][r];
    }
}

static PJRT_Error *count_results(PJRT_LoadedExecutable *loaded, size_t *count) {
  ARGS(of, LoadedExecutable_GetExecutable, .loaded_executable = loaded);
  PJRT_Error *error = real->PJRT_LoadedExecutable_GetExecutable(&of);
  if (error != NULL) return error;
  ARGS(outputs, Executable_NumOutputs, .executable = of.executable);
  error = real->PJRT_Executable_NumOutputs(&outputs);
  *count = outputs.num_outputs;
  ARGS(end, Executable_Destroy, .executable = of.executable);
  PJRT_Error *ended = real->PJRT_Executable_Destroy(&end);
  return error != NULL ? error : ended;
}

static PJRT_Error *run_everywhere(run *self, const PJRT_LoadedExecutable_Execute_Args *args) {
  PJRT_Error *error = find_places(args->executable, &self->at);
  if (error == NULL) error = count_results(args->executable, &self->results);
  if (error == NULL && args->num_devices != (size_t)slice.each)
    error = fail("%s: lists for other devices than this process's", "a run");
  if (error == NULL) error = gather_arguments(self, args);
  if (error != NULL) return error;
  for (int i = 0; i < self->at.count; i++)
    self->outputs[i] = calloc(self->results + 1, sizeof(PJRT_Buffer *));
  PJRT_LoadedExecutable_Execute_Args all = *args;
  all.argument_lists = (PJRT_Buffer *const *const *)self->arguments;
  all.output_lists = self->outputs;
  all.num_devices = (size_t)self->at.count;
  error = real->PJRT_LoadedExecutable_Execute(&all);
  if (error == NULL) hand_out_results(self, args);
  return error;
}

static PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *args) {
  run self = {.results = 0};
  PJRT_Error *error = run_everywhere(&self, args);
  for (int i = 0; i < DEVICES_MAX; i++) {
    free(self.arguments[i]);
    free(self.outputs[i]);
  }
  return error;
}

/* --- the table ----------------------------------------------------------------------------- */

/* Other functions of buffers would take this plugin's for the real one's: they are left out. */
static void leave_out_buffers(PJRT_Api *api) {
  memset(&api->PJRT_Buffer_Destroy, 0,
         offsetof(PJRT_Api, PJRT_CopyToDeviceStream_Destroy) -
             offsetof(PJRT_Api, PJRT_Buffer_Destroy));
}

const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) {
  static struct { PJRT_Api api; char newer[4096]; } copy; /* a newer plugin's is longer */
  const char *path = getenv("PRETEND_PLUGIN");
  void *handle = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  const PJRT_Api *(*get)(void) = NULL;
  void *symbol = handle != NULL ? dlsym(handle, "GetPjrtApi") : NULL;
  memcpy(&get, &symbol, sizeof get);
  real = get != NULL ? get() : NULL;
  if (real == NULL || real->struct_size > sizeof copy) return NULL;
  memcpy(&copy, real, real->struct_size);
  leave_out_buffers(&copy.api);
#define OWN(name, function) copy.api.PJRT_##name = function
  OWN(Error_Destroy, error_destroy);
  OWN(Error_Message, error_message);
  OWN(Error_GetCode, error_get_code);
  OWN(Client_Create, client_create);
  OWN(Client_AddressableDevices, client_addressable_devices);
  OWN(Client_ProcessIndex, client_process_index);
  OWN(DeviceDescription_ProcessIndex, description_process_index);
  OWN(Client_BufferFromHostBuffer, buffer_from_host);
  OWN(Buffer_Destroy, buffer_destroy);
  OWN(Buffer_ElementType, forward_Buffer_ElementType);
  OWN(Buffer_Dimensions, forward_Buffer_Dimensions);
  OWN(Buffer_ReadyEvent, forward_Buffer_ReadyEvent);
  OWN(Buffer_ToHostBuffer, forward_Buffer_ToHostBuffer);
  OWN(LoadedExecutable_AddressableDevices, executable_devices);
  OWN(LoadedExecutable_Execute, execute);
#undef OWN
  return &copy.api;
}
