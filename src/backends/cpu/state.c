/* state.c: the variables of the CPU engine. */
#include "backends/cpu/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "base/memory.h"

enum { ALIGNMENT = 64, MAX_VARIABLES = 1 << 20 };

/* Each has memory of its own, so that programs may keep pointers while others are added. */
typedef struct variable {
  char *name;
  ath_type type;
  void *memory;
} variable;

typedef struct cpu_state {
  ath_state base;
  ath_hash_map *indices; /* name → place in variables */
  variable *variables;
  size_t count, capacity;
} cpu_state;

ath_status ath_cpu_state_create(ath_backend *backend, ath_state **out) {
  cpu_state *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for the variables");
  self->base.table = backend->table;
  ath_status status = ath_hash_map_create(MAX_VARIABLES, &self->indices);
  if (status == ATH_OK) *out = &self->base;
  else free(self);
  return status;
}

void ath_cpu_state_destroy(ath_state *base) {
  cpu_state *self = (cpu_state *)base;
  for (size_t i = 0; i < self->count; i++) {
    free(self->variables[i].name);
    free(self->variables[i].memory);
  }
  ath_hash_map_destroy(self->indices);
  free(self->variables);
  free(self);
}

static variable *find(const cpu_state *self, const char *name) {
  int32_t index;
  if (!ath_hash_map_get(self->indices, name, strlen(name), &index)) return NULL;
  assert(index >= 0 && (size_t)index < self->count);
  return &self->variables[index];
}

/* The records may move; names and memory, to which programs keep pointers, do not. */
static ath_status make_room(cpu_state *self) {
  if (self->count < self->capacity) return ATH_OK;
  size_t capacity = self->capacity == 0 ? 64 : 2 * self->capacity;
  variable *larger = realloc(self->variables, capacity * sizeof *larger);
  if (larger == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu variables", capacity);
  self->variables = larger;
  self->capacity = capacity;
  return ATH_OK;
}

/* Zeroed: what moments and accumulators begin with. The count rises last, so that a failure leaves
 * the state as it was. */
static ath_status add(cpu_state *self, const char *name, const ath_type *type, variable **out) {
  ATH_TRY(make_room(self));
  size_t bytes = (ath_type_bytes(type) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  variable made = {.name = strdup(name), .type = *type, .memory = ath_memory_alloc(bytes)};
  ath_status status = ATH_OK;
  if (made.name == NULL || made.memory == NULL)
    status = ath_fail(ATH_NO_MEMORY, "variable %s: no memory for %zu bytes; a smaller model needs "
                      "less", name, bytes);
  if (status == ATH_OK)
    status = ath_hash_map_set(self->indices, name, strlen(name), (int32_t)self->count);
  if (status != ATH_OK) {
    free(made.name);
    free(made.memory);
    return status;
  }
  memset(made.memory, 0, bytes);
  self->variables[self->count] = made;
  *out = &self->variables[self->count++];
  return ATH_OK;
}

ath_status ath_cpu_state_bind(ath_state *base, const char *name, const ath_type *type,
                              void **memory) {
  cpu_state *self = (cpu_state *)base;
  variable *found = find(self, name);
  char texts[2][96];
  if (found == NULL) ATH_TRY(add(self, name, type, &found));
  if (!ath_type_equal(&found->type, type))
    return ath_fail(ATH_MISMATCH, "variable %s is %s in the graph, but %s in the state", name,
                    ath_type_text(type, texts[0]), ath_type_text(&found->type, texts[1]));
  assert((uintptr_t)found->memory % ALIGNMENT == 0);
  *memory = found->memory;
  return ATH_OK;
}

/* The variable for a copy of `bytes` bytes. */
static ath_status check(const cpu_state *self, const char *name, size_t bytes, variable **out) {
  char text[96];
  *out = find(self, name);
  if (*out == NULL) return ath_fail(ATH_NOT_FOUND, "there is no variable %s", name);
  if (ath_type_bytes(&(*out)->type) == bytes) return ATH_OK;
  return ath_fail(ATH_MISMATCH, "variable %s is %s, %zu bytes, not %zu", name,
                  ath_type_text(&(*out)->type, text), ath_type_bytes(&(*out)->type), bytes);
}

ath_status ath_cpu_state_write(ath_state *base, const char *name, const void *data, size_t bytes) {
  variable *found;
  ATH_TRY(check((cpu_state *)base, name, bytes, &found));
  memcpy(found->memory, data, bytes);
  return ATH_OK;
}

ath_status ath_cpu_state_read(const ath_state *base, const char *name, void *data, size_t bytes) {
  variable *found;
  ATH_TRY(check((const cpu_state *)base, name, bytes, &found));
  memcpy(data, found->memory, bytes);
  return ATH_OK;
}

bool ath_cpu_state_variable(const ath_state *base, size_t index, const char **name,
                            ath_type *type) {
  const cpu_state *self = (const cpu_state *)base;
  if (index >= self->count) return false;
  *name = self->variables[index].name;
  *type = self->variables[index].type;
  return true;
}
