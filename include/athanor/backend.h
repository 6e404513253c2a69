/* backend.h: running graphs on a device.
 *
 * A backend is a function table behind these calls, so that the embedded CPU engine and PJRT
 * devices look the same. `ath_state` holds the variables in the device's memory, by name; any
 * number of programs (training, evaluation, fill-mask) share one state.
 *
 * Runs of programs over one state must not overlap; otherwise every object belongs to one thread
 * at a time. The CPU engine uses OpenMP's threads (OMP_NUM_THREADS) and allocates nothing in a
 * run. Destroy programs before their state, and states before their backend.
 *
 * The CPU engine's runs are over when they return. An XLA device is given its work and left alone:
 * a run copies the inputs and returns, at most one run of the program ahead of the device, and
 * reading an output or a variable waits for what it needs. A failure on the device is told by the
 * next call that waits. Compiled programs are kept on disk, in $XDG_CACHE_HOME/athanor/executables
 * or ~/.cache/athanor/executables (ATHANOR_COMPILE_CACHE=DIR: there; off: nowhere), up to 8 GiB, so
 * that a second start compiles nothing. ATHANOR_XLA_OPTIONS="name=value,…" sets options of the
 * compiler.
 *
 * Example
 *
 *     ath_status run_once(const ath_graph *graph, const float *x, float *loss) {
 *       ath_backend *backend = NULL;
 *       ath_state *state = NULL;
 *       ath_program *program = NULL;
 *       ath_status status = ath_backend_open("cpu", &backend);
 *       if (status == ATH_OK) status = ath_state_create(backend, &state);
 *       if (status == ATH_OK) status = ath_program_create(graph, state, &program);
 *       if (status == ATH_OK) status = ath_program_set_input(program, "x", x);
 *       if (status == ATH_OK) status = ath_program_run(program);
 *       if (status == ATH_OK) status = ath_program_get_output(program, "loss", loss);
 *       ath_program_destroy(program);
 *       ath_state_destroy(state);
 *       ath_backend_close(backend);
 *       return status;
 *     }
 */
#ifndef ATHANOR_BACKEND_H
#define ATHANOR_BACKEND_H

#include "athanor/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ath_backend ath_backend;
typedef struct ath_state ath_state;
typedef struct ath_program ath_program;

/* Devices that share one program, data * fsdp * model of them. Each batch is shared by data * fsdp
 * devices, which must divide its size. Along `data` every device holds all variables. Along `fsdp`
 * matrices and their moments are cut into parts, which are put together where they are used
 * (Rajbhandari et al. 2020, "ZeRO"; Zhao et al. 2023, "PyTorch FSDP"). Along `model` attention is
 * shared by heads and the feed-forward layers by columns (Shoeybi et al. 2019, "Megatron-LM").
 * Results depend on the mesh only by rounding; variables are written and read whole. XLA's older
 * partitioner divides the program, or with ATHANOR_PARTITIONER=shardy in the environment the new
 * one. */
typedef struct ath_mesh {
  int data, fsdp, model;
} ath_mesh;
enum { ATH_MESH_DEVICES_MAX = 65536 };

/* Reads "data=2,fsdp=4"; an axis that is left out is 1, and so is everything for NULL.
 * ATH_USAGE for any other text, "" among them. */
ath_status ath_mesh_parse(const char *text, ath_mesh *out) ATH_MUST_CHECK;
int ath_mesh_devices(const ath_mesh *mesh);
/* Equal parts of a batch, data * fsdp: the devices along `model` work on the same records. */
int ath_mesh_shares(const ath_mesh *mesh);
/* Writes "data=2,fsdp=4" into `out` and returns it; axes of one device are left out. */
const char *ath_mesh_text(const ath_mesh *mesh, char out[64]);

/* Opens a device by name: "cpu" is the embedded engine; "xla:cpu", "cuda", "tpu" and paths that end
 * in ".so" are PJRT plugins, of XLA or of who else makes one. ATH_UNSUPPORTED for an unknown name,
 * ATH_NOT_FOUND where the plugin is not installed or finds no device; there is never a silent
 * fall-back to another device. */
ath_status ath_backend_open(const char *device, ath_backend **out) ATH_MUST_CHECK;
/* The same on several devices, the default being one. ATH_INVALID, with the numbers, where there
 * are fewer; ATH_UNSUPPORTED for more than one where the device is "cpu". */
ath_status ath_backend_open_mesh(const char *device, const ath_mesh *mesh, ath_backend **out)
    ATH_MUST_CHECK;
void ath_backend_close(ath_backend *self);
/* "cpu (AVX2, 2 threads)"; the backend's own, valid until it is closed. */
const char *ath_backend_name(const ath_backend *self);
/* Of how many runs, the latest included, a program's outputs can be read: 1 on the CPU engine; more
 * where the next run may be under way while the host reads the outputs of one before. */
int ath_backend_history(const ath_backend *self);
/* Whether operations on values of this type run there: the embedded engine computes in f32 and
 * refuses bf16 (it only moves and converts it). Integers are taken everywhere. */
bool ath_backend_computes(const ath_backend *self, ath_dtype dtype);

/* A recording of what the device does, for TensorBoard's profile tab: every operation with its
 * time, as the device tells it. ATH_UNSUPPORTED, with what there is instead, where the device has
 * no profiler; those of TPUs and CUDA have one. Start and stop while nothing runs; one at a time.
 * Stop ends it also when it fails, and appends an XSpace message: the content of a file
 * plugins/profile/<name>/<host>.xplane.pb below a folder of events. */
struct ath_buffer;
ath_status ath_backend_profile_check(const ath_backend *self) ATH_MUST_CHECK;
ath_status ath_backend_profile_start(ath_backend *self) ATH_MUST_CHECK;
ath_status ath_backend_profile_stop(ath_backend *self, struct ath_buffer *out) ATH_MUST_CHECK;

/* An empty state. */
ath_status ath_state_create(ath_backend *backend, ath_state **out) ATH_MUST_CHECK;
void ath_state_destroy(ath_state *self);

/* Copies a variable from or to host memory; ATH_MISMATCH unless `bytes` is its size, ATH_NOT_FOUND
 * where there is none of this name. A variable comes to be, zeroed, with the first program that has
 * it. */
ath_status ath_state_write(ath_state *self, const char *name, const void *data, size_t bytes)
    ATH_MUST_CHECK;
ath_status ath_state_read(const ath_state *self, const char *name, void *data, size_t bytes)
    ATH_MUST_CHECK;
/* Walks the variables in the order of their creation: false when `index` is past the end. The name
 * is the state's own. */
bool ath_state_variable(const ath_state *self, size_t index, const char **name, ath_type *type);

/* Plans (and, on XLA, compiles) a graph. Variables are bound to the state's by name, and made
 * there if new; a variable of another type than the state's is ATH_MISMATCH; an operation or an
 * element type that the device lacks is ATH_UNSUPPORTED, and names the node. The graph may be
 * destroyed afterwards. */
ath_status ath_program_create(const ath_graph *graph, ath_state *state, ath_program **out)
    ATH_MUST_CHECK;
void ath_program_destroy(ath_program *self);

/* Says where the input's elements lie in host memory; they are read in the calls of the next runs,
 * so keep them until then. Every input that the program reads must be set before the first run.
 * ATH_NOT_FOUND where the program has no input of this name. */
ath_status ath_program_set_input(ath_program *self, const char *name, const void *data)
    ATH_MUST_CHECK;
/* Runs once: outputs are computed, assignments take effect. ATH_INVALID, naming the node, for an id
 * or a label outside its range, or for an input that was not set: then no output is of use, and
 * variables may be new or old. */
ath_status ath_program_run(ath_program *self) ATH_MUST_CHECK;
/* Waits until the latest run is over; ATH_OK where there was none. */
ath_status ath_program_wait(ath_program *self) ATH_MUST_CHECK;
/* Copies an output of the latest run to host memory (its whole size). Waits for it. */
ath_status ath_program_get_output(ath_program *self, const char *name, void *data)
    ATH_MUST_CHECK;
/* The same of an earlier run: `runs_ago` is 0 for the latest, and less than ath_backend_history. */
ath_status ath_program_get_earlier_output(ath_program *self, int runs_ago, const char *name,
                                          void *data) ATH_MUST_CHECK;

typedef struct ath_program_stats {
  size_t variable_bytes;  /* parameters, moments, accumulators */
  size_t workspace_bytes; /* activations and scratch, after the memory plan; 0: not known */
  size_t unplanned_bytes; /* what the same values would take without reuse of memory; 0: unknown */
  size_t nodes;
  double flops;           /* of matrix products and attention, per run */
} ath_program_stats;
ath_program_stats ath_program_get_stats(const ath_program *self);

/* Per-node time: after ath_program_profile(self, true) each run adds to it. The table lists the
 * costliest kinds of operation first, with their share. XLA fuses the nodes, and its table has one
 * line for all of them; profiled runs wait. */
void ath_program_profile(ath_program *self, bool on);
ath_status ath_program_profile_print(const ath_program *self, struct ath_buffer *out)
    ATH_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
