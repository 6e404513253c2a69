/* cpu.c: the embedded CPU engine's table. */
#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/execute.h"
#include "backends/cpu/state.h"
#include "kernels/kernels.h"

typedef struct cpu_backend {
  ath_backend base;
  char name[96];
} cpu_backend;

static bool accepts(const char *device) { return strcmp(device, "cpu") == 0; }

/* The kernels are chosen here, so that a wrong ATHANOR_ISA is told before any work is done; nodes
 * that ask for them later cannot fail. */
static ath_status open(const char *device, const ath_mesh *mesh, ath_backend **out) {
  char text[64];
  const ath_kernels *kernels;
  if (ath_mesh_devices(mesh) > 1)
    return ath_fail(ATH_UNSUPPORTED, "mesh %s: the device %s is one device; xla:cpu can be as many "
                    "as wanted", ath_mesh_text(mesh, text), device);
  ATH_TRY(ath_kernels_get(&kernels));
  cpu_backend *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the CPU engine");
  self->base.table = &ath_cpu_backend;
  int threads = omp_get_max_threads();
  snprintf(self->name, sizeof self->name, "cpu (%s, %d thread%s)", kernels->isa, threads,
           threads == 1 ? "" : "s");
  *out = &self->base;
  return ATH_OK;
}

static void close(ath_backend *self) { free(self); }

static const char *name(const ath_backend *self) { return ((const cpu_backend *)self)->name; }

static ath_status profile_check(const ath_backend *self) {
  (void)self;
  return ath_fail(ATH_UNSUPPORTED, "the device cpu has no profile for TensorBoard; "
                  "bench_train_step mini --profile prints its time by operation");
}

const ath_backend_table ath_cpu_backend = {
  .accepts = accepts,
  .f32_only = true,
  .history = 1,
  .open = open,
  .close = close,
  .name = name,
  .profile_check = profile_check,
  .state_create = ath_cpu_state_create,
  .state_destroy = ath_cpu_state_destroy,
  .state_write = ath_cpu_state_write,
  .state_read = ath_cpu_state_read,
  .state_variable = ath_cpu_state_variable,
  .program_create = ath_cpu_program_create,
  .program_destroy = ath_cpu_program_destroy,
  .program_set_input = ath_cpu_program_set_input,
  .program_run = ath_cpu_program_run,
  .program_wait = ath_cpu_program_wait,
  .program_get_output = ath_cpu_program_get_output,
  .program_get_stats = ath_cpu_program_get_stats,
  .program_profile = ath_cpu_program_profile,
  .program_profile_print = ath_cpu_program_profile_print,
};
