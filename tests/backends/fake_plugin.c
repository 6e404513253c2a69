/* fake_plugin.c: a PJRT plugin that computes nothing and misbehaves on demand.
 *
 * The variable FAKE_PJRT, read when the plugin is loaded, is a list of words:
 *
 *     nothing          GetPjrtApi gives NULL
 *     tiny             the table's size is that of a pointer
 *     small            the table ends before PJRT_Executable_OutputElementTypes
 *     major  minor     another major version; a much newer minor one
 *     null:NAME        the table has NULL for PJRT_NAME
 *     fail:NAME        PJRT_NAME gives an error, with the code of FAKE_PJRT_CODE
 *     late             runs succeed, and what is awaited fails
 *     hosts            there are six devices, of which this process has the third and fourth
 *     crash            making a client ends the process
 *     profiler         it has a profiler: that of fake_profiler.h
 *     cpu              the platform is cpu
 *
 * A program is any text; it has one result, a copy of its first argument. Live objects are counted,
 * and so is what the caller does against the rules. */
#include "fake_profiler.h"

/* What a test may look at. */
static int fake_live, fake_faults, fake_initialized, fake_failed;
static const char *fake_options = "";
int fake_live_count(void);
int fake_fault_count(void);
int fake_initialize_count(void);
int fake_fail_count(void);
const char *fake_seen_options(void);
int fake_live_count(void) { return fake_live; }
int fake_fault_count(void) { return fake_faults; }
int fake_initialize_count(void) { return fake_initialized; }
int fake_fail_count(void) { return fake_failed; }
const char *fake_seen_options(void) { return fake_options; }
const PJRT_Api *GetPjrtApi(void);

struct PJRT_Error { PJRT_Error_Code code; char text[128]; };
struct PJRT_Event { int unused; };
struct PJRT_DeviceDescription { int id; };
struct PJRT_Device { PJRT_DeviceDescription description; };
struct PJRT_Client { PJRT_Device *list[6]; PJRT_Device devices[6]; };
struct PJRT_Buffer { int64_t dims[8]; size_t rank; PJRT_Buffer_Type type; char data[64]; };
struct PJRT_Executable { int unused; };
struct PJRT_LoadedExecutable { PJRT_Client *client; };
struct PJRT_TopologyDescription { PJRT_DeviceDescription *list[1], device; };

static char words[512];
static char options_text[512];

static int asked(const char *kind, const char *name) {
  char word[128];
  snprintf(word, sizeof word, " %s%s ", kind, name);
  return strstr(words, word) != NULL;
}

static PJRT_Error *error(const char *name) {
  PJRT_Error *e = calloc(1, sizeof *e);
  const char *code = getenv("FAKE_PJRT_CODE");
  e->code = code != NULL ? (PJRT_Error_Code)atoi(code) : PJRT_Error_Code_INTERNAL;
  snprintf(e->text, sizeof e->text, "the fake\n  fails in %s", name);
  fake_live++;
  fake_failed++;
  return e;
}

static void *make(size_t size) {
  fake_live++;
  return calloc(1, size);
}

static void drop(void *object) {
  fake_live -= object != NULL;
  free(object);
}

static void rule(int kept, const char *what) {
  if (kept) return;
  fake_faults++;
  fprintf(stderr, "fake plugin: rule broken: %s\n", what);
}

/* A function of the table: checks the size and the extensions, fails when asked to. */
#define FAKE(name)                                                                       \
  static PJRT_Error *name##_body(PJRT_##name##_Args *args);                              \
  static PJRT_Error *name(PJRT_##name##_Args *args) {                                    \
    rule(args->struct_size == PJRT_##name##_Args_STRUCT_SIZE, #name ": struct_size");    \
    rule(args->extension_start == NULL, #name ": extension_start");                      \
    if (asked("fail:", #name)) return error(#name);                                      \
    return name##_body(args);                                                            \
  }                                                                                      \
  static PJRT_Error *name##_body(PJRT_##name##_Args *args)

/* Destroys also when it is asked to fail: what it has to say then changes nothing. */
#define DESTROY(name, member)                                                            \
  static PJRT_Error *name(PJRT_##name##_Args *args) {                                    \
    rule(args->struct_size == PJRT_##name##_Args_STRUCT_SIZE, #name ": struct_size");    \
    drop(args->member);                                                                  \
    return asked("fail:", #name) ? error(#name) : NULL;                                  \
  }

/* --- errors and events -------------------------------------------------------------------- */

static void Error_Destroy(PJRT_Error_Destroy_Args *args) { drop(args->error); }

static void Error_Message(PJRT_Error_Message_Args *args) {
  args->message = args->error->text;
  args->message_size = strlen(args->error->text);
}

FAKE(Error_GetCode) {
  args->code = args->error->code;
  return NULL;
}

FAKE(Event_Await) {
  (void)args;
  return asked("late", "") ? error("an event") : NULL;
}

/* "never": not before fake_call_back is called. */
static PJRT_Event_OnReady_Args postponed;

FAKE(Event_OnReady) {
  if (asked("never", "")) postponed = *args;
  else args->callback(asked("late", "") ? error("an event") : NULL, args->user_arg);
  return NULL;
}

int fake_call_back(void);
int fake_call_back(void) {
  if (postponed.callback == NULL) return 0;
  postponed.callback(asked("late", "") ? error("an event") : NULL, postponed.user_arg);
  return 1;
}

DESTROY(Event_Destroy, event)

/* --- the plugin --------------------------------------------------------------------------- */

/* Longer than this header's, as a newer plugin's are: the step from one to the next is its size. */
typedef struct long_value { PJRT_NamedValue value; char more[40]; } long_value;

static const int64_t version[3] = {9, 8, 7};
static const long_value attributes[2] = {
  {{.struct_size = sizeof(long_value), .name = "xla_version", .name_size = 11,
    .type = PJRT_NamedValue_kInt64, .int64_value = 42, .value_size = 1}, {1, 2, 3}},
  {{.struct_size = sizeof(long_value), .name = "stablehlo_current_version, and more",
    .name_size = 25, .type = PJRT_NamedValue_kInt64List, .int64_array_value = version,
    .value_size = 3}, {1, 2, 3}},
};

FAKE(Plugin_Initialize) {
  (void)args;
  fake_initialized++;
  return NULL;
}

FAKE(Plugin_Attributes) {
  rule(fake_initialized == 1, "attributes before initialisation, or several of them");
  args->attributes = &attributes[0].value;
  args->num_attributes = 2;
  return NULL;
}

/* --- client and devices ------------------------------------------------------------------- */

static void see_options(const PJRT_NamedValue *options, size_t count) {
  size_t n = 0;
  for (size_t i = 0; i < count && n < sizeof options_text; i++) {
    const PJRT_NamedValue *v = &options[i];
    rule(v->struct_size == PJRT_NamedValue_STRUCT_SIZE, "an option's struct_size");
    n += (size_t)snprintf(options_text + n, sizeof options_text - n, "%.*s/%d/%zu;",
                          (int)v->name_size, v->name, (int)v->type, v->value_size);
  }
  fake_options = options_text;
}

/* --- what a plugin does with a store ------------------------------------------------------ */

static PJRT_Error *callback_error(PJRT_Error_Code code, const char *text, size_t length) {
  PJRT_Error *e = error("a callback");
  e->code = code;
  snprintf(e->text, sizeof e->text, "%.*s", (int)length, text);
  return e;
}

static PJRT_CallbackError make_callback_error = callback_error;

static PJRT_Error *put_own(PJRT_Client_Create_Args *args, int node) {
  char key[] = {'n', '\0', (char)node};
  PJRT_KeyValuePutCallback_Args put = {
    .struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE, .key = key, .key_size = sizeof key,
    .value = key, .value_size = sizeof key, .callback_error = &make_callback_error,
    .user_arg = args->kv_put_user_arg};
  return args->kv_put_callback(&put);
}

static PJRT_Error *get_from(PJRT_Client_Create_Args *args, int node) {
  char key[] = {'n', '\0', (char)node};
  PJRT_KeyValueGetCallback_Args get = {
    .struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE, .key = key, .key_size = sizeof key,
    .timeout_in_ms = 300, .callback_error = &make_callback_error,
    .user_arg = args->kv_get_user_arg};
  PJRT_Error *e = args->kv_get_callback(&get);
  if (e != NULL) return e;
  rule(get.value_size == sizeof key && memcmp(get.value, key, sizeof key) == 0, "a value got");
  get.value_deleter_callback(get.value);
  return NULL;
}

/* As CUDA's plugin: each puts what it has, and waits for what the others put. */
static PJRT_Error *join(PJRT_Client_Create_Args *args) {
  PJRT_KeyValueTryGetCallback_Args absent = {
    .struct_size = PJRT_KeyValueTryGetCallback_Args_STRUCT_SIZE, .key = "no", .key_size = 2,
    .callback_error = &make_callback_error, .user_arg = args->kv_try_get_user_arg};
  PJRT_Error *e = args->kv_try_get_callback(&absent);
  rule(e != NULL && e->code == PJRT_Error_Code_NOT_FOUND, "an absent key is NOT_FOUND");
  drop(e);
  e = put_own(args, 0);
  for (int node = 0; node < 2 && e == NULL; node++) e = get_from(args, node);
  return e;
}

FAKE(Client_Create) {
  if (asked("crash", "")) abort();
  if (asked("join", "")) {
    rule(args->kv_get_callback != NULL, "a plugin that joins processes has a store");
    PJRT_Error *e = join(args);
    if (e != NULL) return e;
  } else {
    rule(args->kv_get_callback == NULL, "a lone process has no store");
  }
  see_options(args->create_options, args->num_options);
  PJRT_Client *client = make(sizeof *client);
  for (int i = 0; i < 6; i++) {
    client->devices[i].description.id = 70 + i;
    client->list[i] = &client->devices[i];
  }
  args->client = client;
  return NULL;
}

DESTROY(Client_Destroy, client)

FAKE(Client_PlatformName) {
  int cpu = asked("cpu", "");
  args->platform_name = cpu ? "cpus and more" : "fakes and more"; /* no NUL where it ends */
  args->platform_name_size = cpu ? 3 : 4;
  return NULL;
}

FAKE(Client_Devices) {
  args->devices = args->client->list;
  args->num_devices = asked("hosts", "") ? 6 : 2;
  return NULL;
}

static PJRT_Device *const *own_devices(PJRT_Client *client) {
  return client->list + (asked("hosts", "") ? 2 : 0);
}

FAKE(Client_AddressableDevices) {
  args->addressable_devices = own_devices(args->client);
  args->num_addressable_devices = 2;
  return NULL;
}

FAKE(Device_GetDescription) {
  args->device_description = &args->device->description;
  return NULL;
}

FAKE(DeviceDescription_Kind) {
  args->device_kind = "fake chip, and more";
  args->device_kind_size = 9;
  return NULL;
}

FAKE(DeviceDescription_Id) {
  args->id = args->device_description->id;
  return NULL;
}

/* Of the six devices of "hosts" each process has two. */
FAKE(Client_ProcessIndex) {
  args->process_index = 1;
  return NULL;
}

FAKE(DeviceDescription_ProcessIndex) {
  int place = args->device_description->id - 70;
  args->process_index = asked("mixed", "") ? (place + 2) % 6 / 2 : place / 2;
  return NULL;
}

FAKE(Device_MemoryStats) {
  args->bytes_in_use = 3;
  args->bytes_limit = 1000;
  args->bytes_limit_is_set = true;
  return NULL;
}

/* --- buffers ------------------------------------------------------------------------------ */

FAKE(Client_BufferFromHostBuffer) {
  PJRT_Buffer *buffer = make(sizeof *buffer);
  size_t bytes = 4;
  buffer->rank = args->num_dims;
  buffer->type = args->type;
  for (size_t i = 0; i < args->num_dims; i++) bytes *= (size_t)(buffer->dims[i] = args->dims[i]);
  rule(bytes <= sizeof buffer->data, "the fake's buffers hold 64 bytes");
  memcpy(buffer->data, args->data, bytes);
  args->buffer = buffer;
  args->done_with_host_buffer = make(sizeof(PJRT_Event));
  return NULL;
}

DESTROY(Buffer_Destroy, buffer)

FAKE(Buffer_ElementType) {
  args->type = args->buffer->type;
  return NULL;
}

FAKE(Buffer_Dimensions) {
  args->dims = args->buffer->dims;
  args->num_dims = args->buffer->rank;
  return NULL;
}

FAKE(Buffer_ToHostBuffer) {
  const PJRT_Buffer_MemoryLayout *layout = args->host_layout;
  rule(layout != NULL, "a layout for the host must be given");
  rule(layout->struct_size == PJRT_Buffer_MemoryLayout_STRUCT_SIZE, "a layout's struct_size");
  rule(layout->tiled.minor_to_major_size == args->src->rank && layout->tiled.num_tiles == 0,
       "a layout of the buffer's rank without tiles");
  for (size_t i = 0; i < args->src->rank; i++)
    rule(layout->tiled.minor_to_major[i] == (int64_t)(args->src->rank - 1 - i), "row-major order");
  memcpy(args->dst, args->src->data, args->dst_size);
  args->event = make(sizeof(PJRT_Event));
  return NULL;
}

FAKE(Buffer_ReadyEvent) {
  args->event = make(sizeof(PJRT_Event));
  return NULL;
}

/* --- programs ----------------------------------------------------------------------------- */

static char compiled_options[128];
static size_t compiled_size;
const char *fake_compile_options(size_t *size);
const char *fake_compile_options(size_t *size) {
  *size = compiled_size;
  return compiled_options;
}

static void see_program(const PJRT_Program *program, size_t options_size) {
  rule(program->struct_size == PJRT_Program_STRUCT_SIZE, "a program's struct_size");
  rule(program->format_size == 4 && memcmp(program->format, "mlir", 4) == 0, "format mlir");
  rule(options_size > 0, "compile options are never empty");
}

FAKE(Client_Compile) {
  see_program(args->program, args->compile_options_size);
  compiled_size = args->compile_options_size;
  memcpy(compiled_options, args->compile_options,
         compiled_size < sizeof compiled_options ? compiled_size : sizeof compiled_options);
  args->executable = make(sizeof *args->executable);
  args->executable->client = args->client;
  return NULL;
}

FAKE(Compile) {
  see_program(args->program, args->compile_options_size);
  args->executable = make(sizeof *args->executable);
  return NULL;
}

DESTROY(LoadedExecutable_Destroy, executable)
DESTROY(Executable_Destroy, executable)

FAKE(LoadedExecutable_GetExecutable) {
  args->executable = make(sizeof *args->executable);
  return NULL;
}

FAKE(LoadedExecutable_AddressableDevices) {
  args->addressable_devices = own_devices(args->executable->client);
  args->num_addressable_devices = asked("hosts", "") ? 2 : 1;
  return NULL;
}

FAKE(Executable_NumOutputs) {
  args->num_outputs = 1;
  return NULL;
}

FAKE(Executable_NumPartitions) {
  args->num_partitions = 1;
  return NULL;
}

FAKE(LoadedExecutable_Execute) {
  rule(args->options->struct_size == PJRT_ExecuteOptions_STRUCT_SIZE, "execute options' size");
  rule(args->num_devices == 1 && args->num_args >= 1, "one list of arguments");
  PJRT_Buffer *result = make(sizeof *result);
  *result = *args->argument_lists[0][0];
  args->output_lists[0][0] = result;
  return NULL;
}

static void free_serialized(PJRT_SerializedExecutable *object) { drop(object); }

FAKE(Executable_Serialize) {
  args->serialized_bytes = "bytes";
  args->serialized_bytes_size = 5;
  args->serialized_executable = make(1);
  args->serialized_executable_deleter = free_serialized;
  return NULL;
}

FAKE(Executable_OptimizedProgram) {
  if (args->program->code != NULL) memcpy(args->program->code, "program", 7);
  args->program->code_size = 7;
  return NULL;
}

FAKE(Executable_GetCompiledMemoryStats) {
  args->argument_size_in_bytes = 1;
  args->output_size_in_bytes = 2;
  args->alias_size_in_bytes = 3;
  args->temp_size_in_bytes = 4;
  args->generated_code_size_in_bytes = 5;
  return NULL;
}

/* --- topologies --------------------------------------------------------------------------- */

FAKE(TopologyDescription_Create) {
  see_options(args->create_options, args->num_options);
  PJRT_TopologyDescription *topology = make(sizeof *topology);
  topology->list[0] = &topology->device;
  args->topology = topology;
  return NULL;
}

DESTROY(TopologyDescription_Destroy, topology)

FAKE(TopologyDescription_GetDeviceDescriptions) {
  args->descriptions = args->topology->list;
  args->num_descriptions = 1;
  return NULL;
}

static const long_value topology_attributes[2] = {
  {{.struct_size = sizeof(long_value), .name = "other", .name_size = 5,
    .type = PJRT_NamedValue_kBool, .bool_value = true, .value_size = 1}, {1}},
  {{.struct_size = sizeof(long_value), .name = "device_memory_bytes_limit", .name_size = 25,
    .type = PJRT_NamedValue_kInt64, .int64_value = 123456789012, .value_size = 1}, {1}},
};

FAKE(TopologyDescription_Attributes) {
  args->attributes = &topology_attributes[0].value;
  args->num_attributes = 2;
  return NULL;
}

/* --- the table ---------------------------------------------------------------------------- */

static PJRT_Error *never(void) {
  fprintf(stderr, "fake plugin: a function beyond the table's size was called\n");
  abort();
}

/* Every entry that a smaller table does not have would end the process. */
static void fill_rest(PJRT_Api *api, size_t from) {
  PJRT_Error *(*trap)(void) = never;
  for (size_t at = from; at + sizeof trap <= sizeof *api; at += sizeof trap)
    memcpy((char *)api + at, &trap, sizeof trap);
}

const PJRT_Api *GetPjrtApi(void) {
  static PJRT_Api api;
  const char *variable = getenv("FAKE_PJRT");
  snprintf(words, sizeof words, " %s ", variable != NULL ? variable : "");
  if (asked("nothing", "")) return NULL;
  api = (PJRT_Api){.struct_size = PJRT_Api_STRUCT_SIZE,
                   .pjrt_api_version = {.struct_size = PJRT_Api_Version_STRUCT_SIZE,
                                        .minor_version = PJRT_API_MINOR}};
#define ENTRY(name) api.PJRT_##name = asked("null:", #name) ? NULL : name
  ENTRY(Error_Destroy); ENTRY(Error_Message); ENTRY(Error_GetCode);
  ENTRY(Event_Await); ENTRY(Event_OnReady); ENTRY(Event_Destroy);
  ENTRY(Plugin_Initialize); ENTRY(Plugin_Attributes);
  ENTRY(Client_Create); ENTRY(Client_Destroy); ENTRY(Client_PlatformName);
  ENTRY(Client_AddressableDevices); ENTRY(Client_Devices); ENTRY(Client_ProcessIndex);
  ENTRY(DeviceDescription_ProcessIndex);
  ENTRY(Device_GetDescription); ENTRY(DeviceDescription_Kind);
  ENTRY(DeviceDescription_Id); ENTRY(Device_MemoryStats); ENTRY(Client_BufferFromHostBuffer);
  ENTRY(Buffer_Destroy); ENTRY(Buffer_ElementType); ENTRY(Buffer_Dimensions);
  ENTRY(Buffer_ToHostBuffer); ENTRY(Buffer_ReadyEvent); ENTRY(Client_Compile); ENTRY(Compile);
  ENTRY(LoadedExecutable_Destroy); ENTRY(Executable_Destroy);
  ENTRY(LoadedExecutable_GetExecutable); ENTRY(LoadedExecutable_AddressableDevices);
  ENTRY(Executable_NumOutputs); ENTRY(Executable_NumPartitions);
  ENTRY(LoadedExecutable_Execute); ENTRY(Executable_Serialize);
  ENTRY(Executable_OptimizedProgram); ENTRY(Executable_GetCompiledMemoryStats);
  ENTRY(TopologyDescription_Create); ENTRY(TopologyDescription_Destroy);
  ENTRY(TopologyDescription_GetDeviceDescriptions); ENTRY(TopologyDescription_Attributes);
#undef ENTRY
  if (asked("profiler", "")) api.extension_start = fake_profiler_extension(NULL);
  if (asked("tiny", "")) api.struct_size = sizeof(void *);
  if (asked("small", "")) {
    api.struct_size = offsetof(PJRT_Api, PJRT_Executable_OutputElementTypes);
    fill_rest(&api, api.struct_size);
  }
  if (asked("major", "")) api.pjrt_api_version.major_version = PJRT_API_MAJOR + 1;
  if (asked("minor", "")) {
    api.pjrt_api_version.minor_version = 9999;
    api.struct_size += 4096; /* it has functions that this build does not know */
  }
  return &api;
}
