/* client.h: the PJRT C API, loaded at run time, behind calls that return ath_status.
 *
 * Only the files that include api.h (api.c, plugin.c, client.c, executable.c, buffer.c, topology.c,
 * profile.c) see pjrt_c_api.h; the rest of the backend knows these types. Every struct handed to a
 * plugin is zeroed and carries its size; a function that an older plugin lacks (beyond its
 * struct_size, or NULL) is ATH_UNSUPPORTED and named; an error becomes a status with the plugin's
 * own text and the call that failed, and is released. Objects belong to one thread at a time. A
 * plugin is never unloaded. Facts about plugins: ../shared/design/pjrt.md. */
#ifndef ATHANOR_BACKENDS_PJRT_CLIENT_H
#define ATHANOR_BACKENDS_PJRT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"
#include "athanor/tensor.h"
#include "backends/processes.h"
#include "base/buffer.h"

typedef struct ath_pjrt_plugin ath_pjrt_plugin;
typedef struct ath_pjrt_client ath_pjrt_client;
typedef struct ath_pjrt_executable ath_pjrt_executable;
typedef struct ath_pjrt_buffer ath_pjrt_buffer;
typedef struct ath_pjrt_topology ath_pjrt_topology;

/* --- plugin ------------------------------------------------------------------------------ */

/* Finds and loads the plugin for a device name: "xla:cpu", "cuda", "tpu", or a path ending in
 * ".so". The places, in order: the variable ATHANOR_PJRT_CPU|CUDA|TPU (a path, then the only
 * place), the user's data folder where `athanor plugins install` puts it, the usual places of an
 * installed wheel. Not found: ATH_NOT_FOUND with every place looked at and the command that
 * installs it. Another major version of the API: ATH_UNSUPPORTED. A file that is cut short, no
 * library, or for another machine is refused before it is loaded; a failed initialisation fails in
 * the same way at every later load. Before libtpu is loaded its
 * environment is set so that it neither asks a metadata server nor locks (`ahead_of_time`; load
 * before starting threads), or it is looked whether there is a TPU at all (otherwise;
 * ATH_UNSUPPORTED without one). */
ath_status ath_pjrt_plugin_load(const char *device, bool ahead_of_time, ath_pjrt_plugin **out)
    ATH_MUST_CHECK;
const char *ath_pjrt_plugin_path(const ath_pjrt_plugin *self);
void ath_pjrt_plugin_version(const ath_pjrt_plugin *self, int *major, int *minor);
/* An attribute as text ("xla_version", "stablehlo_current_version"), or NULL. */
const char *ath_pjrt_plugin_attribute(const ath_pjrt_plugin *self, const char *name);

/* Create options of a client or a topology. */
typedef struct ath_pjrt_option {
  const char *name;
  enum { ATH_PJRT_STRING, ATH_PJRT_INTEGER, ATH_PJRT_FLOAT, ATH_PJRT_BOOL, ATH_PJRT_INTEGERS } kind;
  const char *string;
  int64_t integer;
  float number;
  const int64_t *integers;
  size_t count;
} ath_pjrt_option;

/* --- client ------------------------------------------------------------------------------ */

/* The share of its memory that a GPU gives a client of ours, and that a plan may count on. */
#define ATH_PJRT_CUDA_MEMORY 0.9

/* ATH_MISMATCH where the plugin was loaded for one named device and is another's. */
ath_status ath_pjrt_client_create(ath_pjrt_plugin *plugin, const ath_pjrt_option *options,
                                  size_t count, ath_pjrt_client **out) ATH_MUST_CHECK;
/* The same by one of several processes, all of which call this: the client then has the devices of
 * all, of which those of this process are addressable. The plugin finds the others through the
 * store, which must be there until the client is destroyed; CUDA's wants the options node_id and
 * num_nodes besides, the store's rank and size. A TPU's needs no store: libtpu finds its slice.
 * ATH_UNSUPPORTED where processes have different numbers of devices. From then on whatever waits
 * for a device gives up after half an hour, or ATHANOR_PROCESS_TIMEOUT seconds, with ATH_IO: a
 * process that is gone leaves the others' devices waiting. */
ath_status ath_pjrt_client_join(ath_pjrt_plugin *plugin, const ath_pjrt_option *options,
                                size_t count, ath_store *store, ath_pjrt_client **out)
    ATH_MUST_CHECK;
void ath_pjrt_client_destroy(ath_pjrt_client *self); /* NULL is allowed; after its objects */
const char *ath_pjrt_client_platform(const ath_pjrt_client *self); /* "cpu", "tpu", "cuda" */
int ath_pjrt_client_device_count(const ath_pjrt_client *self);     /* addressable by this process */
int ath_pjrt_client_global_count(const ath_pjrt_client *self);     /* those of all processes */
/* Which of the processes this is, as the plugin counts them: 0 of 1 where it is alone. */
int ath_pjrt_client_process(const ath_pjrt_client *self);
int ath_pjrt_client_process_count(const ath_pjrt_client *self);
/* The slice's own number of a device of all processes, in the order in which a program over all
 * takes them: process by process. */
int64_t ath_pjrt_client_global_id(const ath_pjrt_client *self, int device);
/* "TPU v4", "cpu"; the client's own. */
const char *ath_pjrt_client_device_kind(const ath_pjrt_client *self, int device);
/* Bytes the device has and has in use; ATH_UNSUPPORTED on the CPU. */
ath_status ath_pjrt_client_device_memory(const ath_pjrt_client *self, int device, int64_t *limit,
                                         int64_t *used) ATH_MUST_CHECK;

/* --- programs ---------------------------------------------------------------------------- */

typedef struct ath_pjrt_compile_options {
  int partitions;      /* devices of the mesh; SPMD partitioning is on above 1 */
  bool shardy;         /* sdy.* instead of mhlo.sharding */
  /* Compiler options by name (env_option_overrides): never through the environment. */
  const ath_pjrt_option *overrides;
  size_t override_count;
} ath_pjrt_compile_options;

/* Appends the bytes of a CompileOptionsProto. */
ath_status ath_pjrt_compile_options_write(const ath_pjrt_compile_options *options, ath_buffer *out)
    ATH_MUST_CHECK;

/* Compiles StableHLO text and loads it: partition i runs on addressable device i. With more
 * partitions than this process has devices, those of all processes take one each, process 0 first;
 * each process compiles the same, and has its own devices' partitions. */
ath_status ath_pjrt_compile(ath_pjrt_client *client, const char *text, size_t length,
                            const ath_pjrt_compile_options *options, ath_pjrt_executable **out)
    ATH_MUST_CHECK;
/* The compiled program's bytes, and the way back, for a cache on disk. */
ath_status ath_pjrt_executable_serialize(ath_pjrt_executable *self, ath_buffer *out)
    ATH_MUST_CHECK;
ath_status ath_pjrt_executable_load(ath_pjrt_client *client, const void *bytes, size_t size,
                                    ath_pjrt_executable **out) ATH_MUST_CHECK;
void ath_pjrt_executable_destroy(ath_pjrt_executable *self);
int ath_pjrt_executable_result_count(const ath_pjrt_executable *self);
int ath_pjrt_executable_partitions(const ath_pjrt_executable *self); /* of this process */

/* Runs without waiting. arguments[partition * argument_count + i], results likewise with
 * result_count: new buffers, which the caller destroys. Donated arguments are used up, but must
 * still be destroyed. A run that fails later says so when a result of it is read. */
ath_status ath_pjrt_execute(ath_pjrt_executable *self, ath_pjrt_buffer *const *arguments,
                            int argument_count, ath_pjrt_buffer **results) ATH_MUST_CHECK;

/* Bytes per device, from the compiler; −1 where the plugin does not say. */
typedef struct ath_pjrt_memory {
  int64_t arguments, results, aliased, temporary, code, peak;
} ath_pjrt_memory;
ath_status ath_pjrt_executable_memory(const ath_pjrt_executable *self, ath_pjrt_memory *out)
    ATH_MUST_CHECK;
/* The optimised program (HloModuleProto inside "hlo_with_config"), as the plugin gives it. */
ath_status ath_pjrt_executable_program(const ath_pjrt_executable *self, ath_buffer *out)
    ATH_MUST_CHECK;

/* --- profile ------------------------------------------------------------------------------- */

typedef struct ath_pjrt_profile ath_pjrt_profile;

bool ath_pjrt_profile_is_there(const ath_pjrt_plugin *plugin);
/* Begins to record what the plugin and its devices do; one at a time. ATH_UNSUPPORTED where it has
 * no profiler (the CPU's). */
ath_status ath_pjrt_profile_start(ath_pjrt_plugin *plugin, ath_pjrt_profile **out) ATH_MUST_CHECK;
/* Ends it, destroys it, and appends the XSpace message: the content of a file
 * plugins/profile/RUN/HOST.xplane.pb below a folder of TensorBoard. */
ath_status ath_pjrt_profile_stop(ath_pjrt_profile *self, ath_buffer *out) ATH_MUST_CHECK;
/* Ends it without looking at what was recorded; NULL is allowed. */
void ath_pjrt_profile_abandon(ath_pjrt_profile *self);

/* --- buffers ----------------------------------------------------------------------------- */

/* A copy of host memory on a device. The host's memory may be reused at once. */
ath_status ath_pjrt_buffer_create(ath_pjrt_client *client, int device, const ath_type *type,
                                  const void *data, ath_pjrt_buffer **out) ATH_MUST_CHECK;
/* Waits for the buffer, and copies it, row-major, into `bytes` bytes. */
ath_status ath_pjrt_buffer_read(ath_pjrt_buffer *self, void *data, size_t bytes) ATH_MUST_CHECK;
/* Waits until the buffer is computed; the run's error, if it failed. */
ath_status ath_pjrt_buffer_wait(ath_pjrt_buffer *self) ATH_MUST_CHECK;
void ath_pjrt_buffer_destroy(ath_pjrt_buffer *self); /* NULL is allowed */

/* --- compiling without the device --------------------------------------------------------- */

/* A slice that need not be there: "v5e:2x4". */
ath_status ath_pjrt_topology_create(ath_pjrt_plugin *plugin, const char *name,
                                    const ath_pjrt_option *options, size_t count,
                                    ath_pjrt_topology **out) ATH_MUST_CHECK;
void ath_pjrt_topology_destroy(ath_pjrt_topology *self);
int ath_pjrt_topology_device_count(const ath_pjrt_topology *self);
const char *ath_pjrt_topology_device_kind(const ath_pjrt_topology *self);
/* device_memory_bytes_limit, or −1. */
int64_t ath_pjrt_topology_memory_limit(const ath_pjrt_topology *self);
/* The result can be asked for memory, program and bytes, not run. Out of the chip's memory:
 * ATH_NO_MEMORY with the compiler's text. */
ath_status ath_pjrt_topology_compile(ath_pjrt_topology *self, const char *text, size_t length,
                                     const ath_pjrt_compile_options *options,
                                     ath_pjrt_executable **out) ATH_MUST_CHECK;

#endif
