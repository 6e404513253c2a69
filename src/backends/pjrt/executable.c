/* executable.c: compiled programs: compiling, running, their bytes and their memory. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/pjrt/api.h"
#include "backends/pjrt/compile_options.h"

enum { OPTIONS_BYTES_MAX = 1 << 20, COUNT_MAX = 1 << 20 };

/* --- making ------------------------------------------------------------------------------ */

static ath_status ask_counts(ath_pjrt_executable *self) {
  ATH_PJRT_ARGS(outputs, Executable_NumOutputs, .executable = self->executable);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Executable_NumOutputs, &outputs));
  ATH_PJRT_ARGS(partitions, Executable_NumPartitions, .executable = self->executable);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Executable_NumPartitions, &partitions));
  size_t lists = partitions.num_partitions;
  if (self->loaded != NULL) { /* of several processes each runs its own devices' partitions */
    ATH_PJRT_ARGS(devices, LoadedExecutable_AddressableDevices, .executable = self->loaded);
    ATH_TRY(ATH_PJRT_CALL(self->plugin, LoadedExecutable_AddressableDevices, &devices));
    lists = devices.num_addressable_devices;
  }
  if (outputs.num_outputs > COUNT_MAX || lists < 1 || lists > COUNT_MAX)
    return ath_fail(ATH_INVALID, "%s: a program with %zu results on %zu devices",
                    self->plugin->path, outputs.num_outputs, lists);
  self->result_count = (int)outputs.num_outputs;
  self->partitions = (int)lists;
  return ATH_OK;
}

static ath_status make_result_lists(ath_pjrt_executable *self) {
  size_t lists = (size_t)self->partitions, results = (size_t)self->result_count;
  self->results = calloc(lists * results + 1, sizeof *self->results);
  self->result_lists = calloc(lists, sizeof *self->result_lists);
  self->argument_lists = calloc(lists, sizeof *self->argument_lists);
  if (self->results == NULL || self->result_lists == NULL || self->argument_lists == NULL)
    return ath_fail(ATH_NO_MEMORY, "no memory for a program");
  for (size_t i = 0; i < lists; i++) self->result_lists[i] = self->results + i * results;
  return ATH_OK;
}

static ath_status fill_in(ath_pjrt_executable *self) {
  if (self->executable == NULL) {
    ATH_PJRT_ARGS(args, LoadedExecutable_GetExecutable, .loaded_executable = self->loaded);
    ATH_TRY(ATH_PJRT_CALL(self->plugin, LoadedExecutable_GetExecutable, &args));
    self->executable = args.executable;
  }
  ATH_TRY(ask_counts(self));
  return self->loaded != NULL ? make_result_lists(self) : ATH_OK;
}

ath_status ath_pjrt_executable_wrap(ath_pjrt_plugin *plugin, PJRT_LoadedExecutable *loaded,
                                    PJRT_Executable *executable, ath_pjrt_executable **out) {
  assert(loaded != NULL || executable != NULL);
  ath_pjrt_executable *self = calloc(1, sizeof *self);
  if (self == NULL) {
    if (executable != NULL)
      ATH_PJRT_RELEASE(plugin, Executable_Destroy, .executable = executable);
    if (loaded != NULL) ATH_PJRT_RELEASE(plugin, LoadedExecutable_Destroy, .executable = loaded);
    return ath_fail(ATH_NO_MEMORY, "no memory for a program");
  }
  *self = (ath_pjrt_executable){.plugin = plugin, .loaded = loaded, .executable = executable};
  ath_status status = fill_in(self);
  if (status != ATH_OK) {
    ath_pjrt_executable_destroy(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_pjrt_executable_destroy(ath_pjrt_executable *self) {
  if (self == NULL) return;
  if (self->executable != NULL)
    ATH_PJRT_RELEASE(self->plugin, Executable_Destroy, .executable = self->executable);
  if (self->loaded != NULL)
    ATH_PJRT_RELEASE(self->plugin, LoadedExecutable_Destroy, .executable = self->loaded);
  free(self->arguments);
  free(self->results);
  free(self->argument_lists);
  free(self->result_lists);
  free(self);
}

/* Takes over a loaded program, whose partition i must be on the client's device i: where the caller
 * puts its arguments. */
static ath_status wrap_loaded(ath_pjrt_client *client, PJRT_LoadedExecutable *loaded,
                              ath_pjrt_executable **out) {
  ath_pjrt_executable *self;
  ATH_TRY(ath_pjrt_executable_wrap(client->plugin, loaded, NULL, &self));
  ATH_PJRT_ARGS(args, LoadedExecutable_AddressableDevices, .executable = loaded);
  ath_status status = ATH_PJRT_CALL(client->plugin, LoadedExecutable_AddressableDevices, &args);
  for (int i = 0; i < self->partitions && status == ATH_OK; i++)
    if (i >= client->device_count || args.addressable_devices[i] != client->devices[i])
      status = ath_fail(ATH_MISMATCH, "%s: a program for other devices than these %d",
                        client->plugin->path, client->device_count);
  if (status != ATH_OK) {
    ath_pjrt_executable_destroy(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

ath_status ath_pjrt_compile(ath_pjrt_client *client, const char *text, size_t length,
                            const ath_pjrt_compile_options *options, ath_pjrt_executable **out) {
  *out = NULL;
  if (options->partitions > client->global_count)
    return ath_fail(ATH_UNSUPPORTED, "a program for %d devices, and here are %d (%s)",
                    options->partitions, client->global_count, client->platform);
  bool global = options->partitions > client->device_count;
  ath_buffer bytes = ath_buffer_make(OPTIONS_BYTES_MAX);
  ath_status status = ath_pjrt_compile_options_assign(
      options, global ? client->global_ids : client->ids, &bytes);
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE, .code = (char *)text,
                          .code_size = length, .format = "mlir", .format_size = strlen("mlir")};
  ATH_PJRT_ARGS(args, Client_Compile, .client = client->client, .program = &program,
                .compile_options = bytes.bytes, .compile_options_size = bytes.length);
  if (status == ATH_OK) status = ATH_PJRT_CALL(client->plugin, Client_Compile, &args);
  ath_buffer_free(&bytes);
  if (status != ATH_OK) return status;
  return wrap_loaded(client, args.executable, out);
}

int ath_pjrt_executable_result_count(const ath_pjrt_executable *self) {
  return self->result_count;
}

int ath_pjrt_executable_partitions(const ath_pjrt_executable *self) { return self->partitions; }

/* --- bytes ------------------------------------------------------------------------------- */

ath_status ath_pjrt_executable_serialize(ath_pjrt_executable *self, ath_buffer *out) {
  ATH_PJRT_ARGS(args, Executable_Serialize, .executable = self->executable);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Executable_Serialize, &args));
  ath_status status = ath_buffer_append(out, args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_executable_deleter != NULL)
    args.serialized_executable_deleter(args.serialized_executable);
  return status;
}

ath_status ath_pjrt_executable_load(ath_pjrt_client *client, const void *bytes, size_t size,
                                    ath_pjrt_executable **out) {
  *out = NULL;
  ATH_PJRT_ARGS(args, Executable_DeserializeAndLoad, .client = client->client,
                .serialized_executable = bytes, .serialized_executable_size = size);
  ATH_TRY(ATH_PJRT_CALL(client->plugin, Executable_DeserializeAndLoad, &args));
  return wrap_loaded(client, args.loaded_executable, out);
}

ath_status ath_pjrt_executable_program(const ath_pjrt_executable *self, ath_buffer *out) {
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE};
  ATH_PJRT_ARGS(args, Executable_OptimizedProgram, .executable = self->executable,
                .program = &program);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Executable_OptimizedProgram, &args));
  ATH_TRY(ath_buffer_reserve(out, program.code_size));
  program.code = out->bytes + out->length;
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Executable_OptimizedProgram, &args));
  out->length += program.code_size;
  out->bytes[out->length] = '\0';
  return ATH_OK;
}

ath_status ath_pjrt_executable_memory(const ath_pjrt_executable *self, ath_pjrt_memory *out) {
  *out = (ath_pjrt_memory){-1, -1, -1, -1, -1, -1};
  ATH_PJRT_ARGS(args, Executable_GetCompiledMemoryStats, .executable = self->executable);
  ath_status status = ATH_PJRT_CALL(self->plugin, Executable_GetCompiledMemoryStats, &args);
  if (status == ATH_UNSUPPORTED) return ATH_OK;
  ATH_TRY(status);
  *out = (ath_pjrt_memory){
    .arguments = args.argument_size_in_bytes, .results = args.output_size_in_bytes,
    .aliased = args.alias_size_in_bytes, .temporary = args.temp_size_in_bytes,
    .code = args.generated_code_size_in_bytes,
    .peak = args.peak_memory_in_bytes > 0 ? args.peak_memory_in_bytes : -1,
  };
  return ATH_OK;
}

/* --- running ----------------------------------------------------------------------------- */

static ath_status make_argument_lists(ath_pjrt_executable *self, int count) {
  if (count > COUNT_MAX) return ath_fail(ATH_INVALID, "%d arguments", count);
  if (count > self->argument_capacity || self->arguments == NULL) {
    size_t places = (size_t)self->partitions * (size_t)count + 1;
    PJRT_Buffer **arguments = realloc(self->arguments, places * sizeof *arguments);
    if (arguments == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %d arguments", count);
    self->arguments = arguments;
    self->argument_capacity = count;
  }
  for (int i = 0; i < self->partitions; i++)
    self->argument_lists[i] = self->arguments + (size_t)i * (size_t)count;
  return ATH_OK;
}

static void free_results(ath_pjrt_buffer **results, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(results[i]);
    results[i] = NULL;
  }
}

/* Before the run: after it, nothing may fail. */
static ath_status make_results(ath_pjrt_executable *self, ath_pjrt_buffer **results,
                               size_t count) {
  for (size_t i = 0; i < count; i++) {
    results[i] = malloc(sizeof *results[i]);
    if (results[i] == NULL) {
      free_results(results, i);
      return ath_fail(ATH_NO_MEMORY, "no memory for a result");
    }
    *results[i] = (ath_pjrt_buffer){self->plugin, NULL};
  }
  return ATH_OK;
}

ath_status ath_pjrt_execute(ath_pjrt_executable *self, ath_pjrt_buffer *const *arguments,
                            int argument_count, ath_pjrt_buffer **results) {
  if (self->loaded == NULL)
    return ath_fail(ATH_UNSUPPORTED, "a program compiled ahead of time cannot be run here");
  ATH_TRY(make_argument_lists(self, argument_count));
  size_t argument_total = (size_t)self->partitions * (size_t)argument_count;
  size_t result_total = (size_t)self->partitions * (size_t)self->result_count;
  for (size_t i = 0; i < argument_total; i++) self->arguments[i] = arguments[i]->buffer;
  ATH_TRY(make_results(self, results, result_total));

  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  ATH_PJRT_ARGS(args, LoadedExecutable_Execute, .executable = self->loaded, .options = &options,
                .argument_lists = (PJRT_Buffer *const *const *)self->argument_lists,
                .num_devices = (size_t)self->partitions, .num_args = (size_t)argument_count,
                .output_lists = self->result_lists);
  ath_status status = ATH_PJRT_CALL(self->plugin, LoadedExecutable_Execute, &args);
  if (status != ATH_OK) {
    free_results(results, result_total);
    return status;
  }
  for (size_t i = 0; i < result_total; i++) results[i]->buffer = self->results[i];
  return ATH_OK;
}
