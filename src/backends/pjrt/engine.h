/* engine.h: the XLA engine, as its files share it: backend.c opens a device, state.c keeps the
 * variables in its memory, shards.c cuts values into the parts of a mesh's devices, gather.c brings
 * together what lies on several processes' devices, compile.c makes executables, program.c runs
 * them.
 *
 * Everything is given to the device in order and without waiting; only reading an output or a
 * variable waits. */
#ifndef ATHANOR_BACKENDS_PJRT_ENGINE_H
#define ATHANOR_BACKENDS_PJRT_ENGINE_H

#include "backends/backend_table.h"
#include "backends/pjrt/client.h"
#include "backends/pjrt/mesh.h"
#include "base/hash_map.h"
#include "storage/file.h"

/* Outputs of so many runs are kept, so that the host reads those of one run while the device works
 * on the next. */
enum { ATH_XLA_HISTORY = 2 };

/* How programs came to be, told once before they are first run. */
typedef struct ath_xla_compilations {
  int compiled, found; /* by the compiler, in the cache */
  double compile_seconds, find_seconds;
} ath_xla_compilations;

typedef struct ath_xla_backend {
  ath_backend base;
  ath_pjrt_plugin *plugin;
  ath_pjrt_client *client;
  ath_mesh mesh;
  int devices;     /* of the mesh, those of all processes */
  int first, here; /* this process's among them */
  int process, processes;
  char name[256];
  char cache[ATH_PATH_MAX]; /* "": compile always */
  char *machine;            /* what an executable depends on beside its program */
  size_t machine_size;
  ath_xla_compilations untold;
  ath_pjrt_profile *profile; /* while one is recorded */
  struct ath_xla_gathering *gatherings;
  ath_pjrt_buffer *told[ATH_XLA_HISTORY]; /* what the processes said last, and before that */
} ath_xla_backend;

/* --- compile.c --- */

/* Notes down what all executables of this device depend on: plugin, device, processor. */
ath_status ath_xla_describe_machine(ath_xla_backend *self) ATH_MUST_CHECK;
/* An executable for StableHLO text, from the cache or the compiler. */
ath_status ath_xla_compile(ath_xla_backend *self, const ath_buffer *text,
                           ath_pjrt_executable **out) ATH_MUST_CHECK;
/* Logs what was compiled since the last time, if anything. */
void ath_xla_tell_compilations(ath_xla_backend *self);

/* --- shards.c --- */

/* Lists of buffers, [here], have one for each of this process's devices. */

/* A value's parts as new buffers: none is left after a failure. */
ath_status ath_xla_put(const ath_xla_backend *self, const ath_split *split, const ath_type *type,
                       const void *data, ath_pjrt_buffer **out) ATH_MUST_CHECK;
/* The same for an input; of one that is cut, `data` are the rows of this process's share. */
ath_status ath_xla_put_input(const ath_xla_backend *self, const ath_type *type, const void *data,
                             ath_pjrt_buffer **out) ATH_MUST_CHECK;
/* The parts of a batch that this process's devices work on: `count` from `first` on. */
void ath_xla_share(const ath_xla_backend *self, int *first, int *count);
/* Elements of an input that this process has. */
int64_t ath_xla_input_count(const ath_xla_backend *self, const ath_type *type);
/* Whether this process's devices have all parts of a value. */
bool ath_xla_is_here(const ath_xla_backend *self, const ath_split *split);
/* Waits for the parts, and puts them together in `data`. They must all be here. */
ath_status ath_xla_fetch(const ath_xla_backend *self, const ath_split *split,
                         const ath_type *type, ath_pjrt_buffer *const *buffers, void *data)
    ATH_MUST_CHECK;
/* Destroys the first `count` of a value's buffers, of which any may be NULL, and forgets them. */
void ath_xla_release(const ath_xla_backend *self, ath_pjrt_buffer **buffers, int count);

/* --- gather.c: what all processes call, in the same order --- */

/* See group.h. */
ath_status ath_xla_tell(ath_backend *self, const int32_t *words);
ath_status ath_xla_hear(ath_backend *self, int ago, int32_t *words);
/* Whether all processes say yes. */
ath_status ath_xla_all(ath_xla_backend *self, bool yes, bool *all) ATH_MUST_CHECK;
/* A value whose parts lie on the devices of several processes, whole on each device, as new
 * buffers; nothing is waited for. */
ath_status ath_xla_gather(ath_xla_backend *self, const ath_split *split, const ath_type *type,
                          ath_pjrt_buffer *const *parts, ath_pjrt_buffer **out) ATH_MUST_CHECK;
void ath_xla_gather_end(ath_xla_backend *self);

/* --- state.c --- */

/* A variable in the devices' memory. Runs use its buffers up and put others in their place. */
typedef struct ath_xla_variable {
  char *name;
  ath_type type;
  ath_split split;
  ath_pjrt_buffer **buffers; /* [here]; the first is NULL: zeros that no run has needed yet */
  bool is_gathered;          /* since it was last written, by all processes … */
  void *gathered;            /* … of which process 0 keeps the value */
} ath_xla_variable;

typedef struct ath_xla_state {
  ath_state base;
  ath_xla_backend *backend;
  ath_hash_map *indices; /* name → place in variables */
  ath_xla_variable *variables;
  size_t count, capacity;
  int ahead; /* runs given to the device since one was last waited for */
} ath_xla_state;

ath_status ath_xla_state_create(ath_backend *backend, ath_state **out);
void ath_xla_state_destroy(ath_state *self);
ath_status ath_xla_state_write(ath_state *self, const char *name, const void *data, size_t bytes);
ath_status ath_xla_state_read(const ath_state *self, const char *name, void *data, size_t bytes);
ath_status ath_xla_state_gather(ath_state *self);
bool ath_xla_state_variable(const ath_state *self, size_t index, const char **name,
                            ath_type *type);

/* The place of a variable, made if the state has none of this name. ATH_MISMATCH where the state's
 * is of another type. */
ath_status ath_xla_state_bind(ath_xla_state *self, const char *name, const ath_type *type,
                              size_t *index) ATH_MUST_CHECK;
/* The buffers of a variable, [here], which stay the state's. */
ath_status ath_xla_state_buffers(ath_xla_state *self, size_t index, ath_pjrt_buffer *const **out)
    ATH_MUST_CHECK;

/* Puts a run's result, [here], in the place of a variable's buffers. */
void ath_xla_state_adopt(ath_xla_state *self, size_t index, ath_pjrt_buffer *const *buffers);

/* --- program.c, run.c --- */

ath_status ath_xla_program_create(const ath_graph *graph, ath_state *state, ath_program **out);
void ath_xla_program_destroy(ath_program *self);
ath_status ath_xla_program_set_input(ath_program *self, const char *name, const void *data);
ath_status ath_xla_program_run(ath_program *self);
ath_status ath_xla_program_wait(ath_program *self);
ath_status ath_xla_program_get_output(ath_program *self, int runs_ago, const char *name,
                                      void *data);
ath_program_stats ath_xla_program_get_stats(const ath_program *self);
void ath_xla_program_profile(ath_program *self, bool on);
ath_status ath_xla_program_profile_print(const ath_program *self, ath_buffer *out);

#endif
