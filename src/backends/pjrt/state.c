/* state.c: the variables of the XLA engine, in the devices' memory. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backends/pjrt/engine.h"

enum { MAX_VARIABLES = 1 << 20 };

ath_status ath_xla_state_create(ath_backend *backend, ath_state **out) {
  ath_xla_state *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the variables");
  self->base.table = backend->table;
  self->backend = (ath_xla_backend *)backend;
  ath_status status = ath_hash_map_create(MAX_VARIABLES, &self->indices);
  if (status == ATH_OK) *out = &self->base;
  else free(self);
  return status;
}

void ath_xla_state_destroy(ath_state *base) {
  ath_xla_state *self = (ath_xla_state *)base;
  for (size_t i = 0; i < self->count; i++) {
    ath_xla_release(self->backend, self->variables[i].buffers, self->backend->here);
    free(self->variables[i].buffers);
    free(self->variables[i].gathered);
    free(self->variables[i].name);
  }
  ath_hash_map_destroy(self->indices);
  free(self->variables);
  free(self);
}

static ath_xla_variable *find(const ath_xla_state *self, const char *name) {
  int32_t index;
  if (!ath_hash_map_get(self->indices, name, strlen(name), &index)) return NULL;
  assert(index >= 0 && (size_t)index < self->count);
  return &self->variables[index];
}

static ath_status make_room(ath_xla_state *self) {
  if (self->count < self->capacity) return ATH_OK;
  size_t capacity = self->capacity == 0 ? 64 : 2 * self->capacity;
  ath_xla_variable *larger = realloc(self->variables, capacity * sizeof *larger);
  if (larger == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu variables", capacity);
  self->variables = larger;
  self->capacity = capacity;
  return ATH_OK;
}

/* Nothing goes to the device yet: most variables are written before the first run. */
static ath_status add(ath_xla_state *self, const char *name, const ath_type *type) {
  ATH_TRY(make_room(self));
  ath_xla_variable added = {.name = strdup(name), .type = *type,
                            .split = ath_mesh_variable(&self->backend->mesh, name, type)};
  added.buffers = calloc((size_t)self->backend->here, sizeof *added.buffers);
  ath_status status = added.name != NULL && added.buffers != NULL
                          ? ATH_OK
                          : ath_fail(ATH_NO_MEMORY, "no memory for variable %s", name);
  if (status == ATH_OK)
    status = ath_hash_map_set(self->indices, name, strlen(name), (int32_t)self->count);
  if (status == ATH_OK) {
    self->variables[self->count++] = added;
  } else {
    free(added.name);
    free(added.buffers);
  }
  return status;
}

ath_status ath_xla_state_bind(ath_xla_state *self, const char *name, const ath_type *type,
                              size_t *index) {
  char texts[2][96];
  if (find(self, name) == NULL) ATH_TRY(add(self, name, type));
  const ath_xla_variable *found = find(self, name);
  assert(found != NULL);
  if (!ath_type_equal(&found->type, type))
    return ath_fail(ATH_MISMATCH, "variable %s is %s in the graph, but %s in the state", name,
                    ath_type_text(type, texts[0]), ath_type_text(&found->type, texts[1]));
  *index = (size_t)(found - self->variables);
  return ATH_OK;
}

static ath_status upload_zeros(const ath_xla_state *self, ath_xla_variable *variable) {
  void *zeros = calloc(1, ath_type_bytes(&variable->type));
  if (zeros == NULL)
    return ath_fail(ATH_NO_MEMORY, "variable %s: no memory for %zu bytes", variable->name,
                    ath_type_bytes(&variable->type));
  ath_status status = ath_xla_put(self->backend, &variable->split, &variable->type, zeros,
                                  variable->buffers);
  free(zeros);
  return ath_context(status, "variable %s", variable->name);
}

ath_status ath_xla_state_buffers(ath_xla_state *self, size_t index,
                                 ath_pjrt_buffer *const **out) {
  assert(index < self->count);
  ath_xla_variable *variable = &self->variables[index];
  if (variable->buffers[0] == NULL) ATH_TRY(upload_zeros(self, variable));
  *out = variable->buffers;
  return ATH_OK;
}

void ath_xla_state_adopt(ath_xla_state *self, size_t index, ath_pjrt_buffer *const *buffers) {
  ath_xla_variable *variable = &self->variables[index];
  ath_xla_release(self->backend, variable->buffers, self->backend->here);
  memcpy(variable->buffers, buffers, (size_t)self->backend->here * sizeof *buffers);
  free(variable->gathered);
  variable->gathered = NULL;
  variable->is_gathered = false;
}

/* --- copies -------------------------------------------------------------------------------- */

/* The variable for a copy of `bytes` bytes. */
static ath_status check(const ath_xla_state *self, const char *name, size_t bytes,
                        ath_xla_variable **out) {
  char text[96];
  *out = find(self, name);
  if (*out == NULL) return ath_fail(ATH_NOT_FOUND, "there is no variable %s", name);
  if (ath_type_bytes(&(*out)->type) == bytes) return ATH_OK;
  return ath_fail(ATH_MISMATCH, "variable %s is %s, %zu bytes, not %zu", name,
                  ath_type_text(&(*out)->type, text), ath_type_bytes(&(*out)->type), bytes);
}

/* The old value stays when the new one cannot be had, as far as there is memory for both; so the
 * new one is made first, in a list of its own. */
ath_status ath_xla_state_write(ath_state *base, const char *name, const void *data, size_t bytes) {
  ath_xla_state *self = (ath_xla_state *)base;
  ath_xla_variable *found;
  ATH_TRY(check(self, name, bytes, &found));
  ath_pjrt_buffer **buffers = calloc((size_t)self->backend->here, sizeof *buffers);
  if (buffers == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for variable %s", name);
  ath_status status = ath_xla_put(self->backend, &found->split, &found->type, data, buffers);
  if (status == ATH_OK) ath_xla_state_adopt(self, (size_t)(found - self->variables), buffers);
  free(buffers);
  return ath_context(status, "variable %s", name);
}

ath_status ath_xla_state_read(const ath_state *base, const char *name, void *data, size_t bytes) {
  const ath_xla_state *self = (const ath_xla_state *)base;
  ath_xla_variable *found;
  ATH_TRY(check(self, name, bytes, &found));
  if (found->buffers[0] == NULL) {
    memset(data, 0, bytes);
    return ATH_OK;
  }
  if (ath_xla_is_here(self->backend, &found->split))
    return ath_context(
        ath_xla_fetch(self->backend, &found->split, &found->type, found->buffers, data),
        "variable %s", name);
  if (found->gathered == NULL)
    return ath_fail(ATH_INTERNAL, "variable %s is not here whole and has not been gathered", name);
  memcpy(data, found->gathered, bytes);
  return ATH_OK;
}

/* All take part, and process 0 keeps the value. */
static ath_status gather(ath_xla_state *self, ath_xla_variable *variable) {
  ath_xla_backend *backend = self->backend;
  size_t bytes = ath_type_bytes(&variable->type);
  ath_pjrt_buffer **whole = calloc((size_t)backend->here, sizeof *whole);
  void *value = backend->process == 0 ? malloc(bytes) : NULL;
  ath_status status = whole != NULL && (value != NULL || backend->process > 0)
                          ? ATH_OK
                          : ath_fail(ATH_NO_MEMORY, "no memory for %zu bytes", bytes);
  if (status == ATH_OK)
    status = ath_xla_gather(backend, &variable->split, &variable->type, variable->buffers, whole);
  if (status == ATH_OK) {
    status = value != NULL ? ath_pjrt_buffer_read(whole[0], value, bytes)
                           : ath_pjrt_buffer_wait(whole[0]);
    ath_xla_release(backend, whole, backend->here);
  }
  free(whole);
  variable->is_gathered = status == ATH_OK;
  if (status == ATH_OK) variable->gathered = value;
  else free(value);
  return ath_context(status, "variable %s", variable->name);
}

ath_status ath_xla_state_gather(ath_state *base) {
  ath_xla_state *self = (ath_xla_state *)base;
  for (size_t i = 0; i < self->count; i++) {
    ath_xla_variable *variable = &self->variables[i];
    if (!variable->is_gathered && variable->buffers[0] != NULL &&
        !ath_xla_is_here(self->backend, &variable->split))
      ATH_TRY(gather(self, variable));
  }
  return ATH_OK;
}

bool ath_xla_state_variable(const ath_state *base, size_t index, const char **name,
                            ath_type *type) {
  const ath_xla_state *self = (const ath_xla_state *)base;
  if (index >= self->count) return false;
  *name = self->variables[index].name;
  *type = self->variables[index].type;
  return true;
}
