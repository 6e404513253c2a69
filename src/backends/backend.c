/* backend.c: the choice of an engine by name, and the way from the public calls to its table. */
#include <assert.h>
#include <string.h>

#include "backends/backend_table.h"
#include "backends/pjrt/tpu.h"

/* Every engine; the names that a new one accepts go into the text below. */
static const ath_backend_table *const tables[] = {&ath_cpu_backend, &ath_xla_backend_table};

ath_status ath_backend_open(const char *device, ath_backend **out) {
  return ath_backend_open_mesh(device, &(ath_mesh){1, 1, 1}, out);
}

static ath_status find_table(const char *device, const ath_backend_table **out) {
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (tables[i]->accepts(device)) {
      *out = tables[i];
      return ATH_OK;
    }
  return ath_fail(ATH_UNSUPPORTED, "device %s is not known; there are cpu, xla:cpu, cuda, tpu, and "
                  "the path of any PJRT plugin, which ends in .so", device);
}

ath_status ath_backend_open_mesh(const char *device, const ath_mesh *mesh, ath_backend **out) {
  const ath_backend_table *table;
  *out = NULL;
  assert(mesh->data > 0 && mesh->fsdp > 0 && mesh->model > 0);
  ATH_TRY(find_table(device, &table));
  return table->open(device, mesh, out);
}

void ath_backend_close(ath_backend *self) {
  if (self != NULL) self->table->close(self);
}

const char *ath_backend_name(const ath_backend *self) { return self->table->name(self); }

int ath_backend_history(const ath_backend *self) {
  assert(self->table->history >= 1);
  return self->table->history;
}

bool ath_backend_computes(const ath_backend *self, ath_dtype dtype) {
  return dtype != ATH_BF16 || !self->table->f32_only;
}

ath_status ath_backend_profile_check(const ath_backend *self) {
  return self->table->profile_check(self);
}

ath_status ath_backend_profile_start(ath_backend *self) {
  ATH_TRY(self->table->profile_check(self));
  return self->table->profile_start(self);
}

ath_status ath_backend_profile_stop(ath_backend *self, ath_buffer *out) {
  return self->table->profile_stop(self, out);
}

/* --- several processes ----------------------------------------------------------------- */

ath_status ath_backend_join(const char *device, const ath_mesh *mesh, ath_store *store,
                            ath_backend **out) {
  const ath_backend_table *table;
  *out = NULL;
  ATH_TRY(find_table(device, &table));
  if (table->join != NULL) return table->join(device, mesh, store, out);
  return ath_fail(ATH_UNSUPPORTED, "the device %s is one process", device);
}

bool ath_device_finds_processes(const char *device) {
  const char *end = strrchr(device, '.');
  if (strcmp(device, "tpu") == 0) return ath_tpu_is_here("");
  return end != NULL && strcmp(end, ".so") == 0 && ath_tpu_hosts() > 1;
}

ath_group ath_backend_group(const ath_backend *self) {
  return self->table->group != NULL ? self->table->group(self) : (ath_group){0, 1};
}

void ath_backend_share(const ath_backend *self, int *first, int *count) {
  assert(self->table->share != NULL);
  self->table->share(self, first, count);
}

ath_status ath_backend_tell(ath_backend *self, const int32_t words[ATH_WORDS]) {
  assert(self->table->tell != NULL);
  return self->table->tell(self, words);
}

ath_status ath_backend_hear(ath_backend *self, int ago, int32_t (*words)[ATH_WORDS]) {
  assert(self->table->hear != NULL);
  return self->table->hear(self, ago, &words[0][0]);
}

ath_status ath_state_gather(ath_state *self) {
  return self->table->state_gather != NULL ? self->table->state_gather(self) : ATH_OK;
}

/* --- state -------------------------------------------------------------------------- */

ath_status ath_state_create(ath_backend *backend, ath_state **out) {
  *out = NULL;
  return backend->table->state_create(backend, out);
}

void ath_state_destroy(ath_state *self) {
  if (self != NULL) self->table->state_destroy(self);
}

ath_status ath_state_write(ath_state *self, const char *name, const void *data, size_t bytes) {
  return self->table->state_write(self, name, data, bytes);
}

ath_status ath_state_read(const ath_state *self, const char *name, void *data, size_t bytes) {
  return self->table->state_read(self, name, data, bytes);
}

bool ath_state_variable(const ath_state *self, size_t index, const char **name, ath_type *type) {
  return self->table->state_variable(self, index, name, type);
}

/* --- programs ----------------------------------------------------------------------- */

ath_status ath_program_create(const ath_graph *graph, ath_state *state, ath_program **out) {
  *out = NULL;
  ATH_TRY(ath_graph_status(graph));
  return state->table->program_create(graph, state, out);
}

void ath_program_destroy(ath_program *self) {
  if (self != NULL) self->table->program_destroy(self);
}

ath_status ath_program_set_input(ath_program *self, const char *name, const void *data) {
  assert(data != NULL);
  return self->table->program_set_input(self, name, data);
}

ath_status ath_program_run(ath_program *self) { return self->table->program_run(self); }

ath_status ath_program_wait(ath_program *self) { return self->table->program_wait(self); }

ath_status ath_program_get_output(ath_program *self, const char *name, void *data) {
  return self->table->program_get_output(self, 0, name, data);
}

ath_status ath_program_get_earlier_output(ath_program *self, int runs_ago, const char *name,
                                          void *data) {
  assert(runs_ago >= 0 && runs_ago < self->table->history);
  return self->table->program_get_output(self, runs_ago, name, data);
}

ath_program_stats ath_program_get_stats(const ath_program *self) {
  return self->table->program_get_stats(self);
}

void ath_program_profile(ath_program *self, bool on) { self->table->program_profile(self, on); }

ath_status ath_program_profile_print(const ath_program *self, ath_buffer *out) {
  return self->table->program_profile_print(self, out);
}
