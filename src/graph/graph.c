/* graph.c: the values of a graph, their names, and the failure that sticks to it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph_internal.h"

/* Far above any model's needs: they stop a builder whose loop has gone wrong before memory ends. */
enum { ARENA_LIMIT = 1 << 30, MAX_VALUES = 1 << 22, MAX_NAMES = 1 << 23 };
#define MAX_ELEMENTS ((int64_t)1 << 40)

ath_status ath_graph_create(ath_graph **out) {
  *out = NULL;
  ath_graph *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a graph");
  ath_status status = ath_arena_create(ARENA_LIMIT, &self->arena);
  if (status == ATH_OK) status = ath_hash_map_create(MAX_NAMES, &self->names);
  if (status != ATH_OK) {
    ath_graph_destroy(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

void ath_graph_destroy(ath_graph *self) {
  if (self == NULL) return;
  ath_hash_map_destroy(self->names);
  ath_arena_destroy(self->arena);
  free(self);
}

/* --- the failure -------------------------------------------------------------------- */

/* The text is set again, because other failures of this thread may have come in between. */
ath_status ath_graph_status(const ath_graph *self) {
  if (self->failure == ATH_OK) return ATH_OK;
  return ath_fail(self->failure, "%s", self->failure_text);
}

/* Later failures are dropped: they are nearly always consequences of the first. */
ath_value ath_graph_fail(ath_graph *self, ath_status status, const char *format, ...) {
  assert(status != ATH_OK);
  if (self->failure != ATH_OK) return ATH_NO_VALUE;
  self->failure = status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(self->failure_text, sizeof self->failure_text, format, arguments);
  va_end(arguments);
  return ATH_NO_VALUE;
}

/* --- memory and names --------------------------------------------------------------- */

void *ath_graph_alloc(ath_graph *self, size_t size) {
  void *memory = ath_arena_alloc(self->arena, size);
  if (memory == NULL) ath_graph_fail(self, ATH_NO_MEMORY, "graph: %s", ath_error_text());
  return memory;
}

bool ath_graph_grow(ath_graph *self, void **array, size_t *capacity, size_t count, size_t size) {
  assert(count <= *capacity);
  if (count < *capacity) return true;
  size_t larger = *capacity == 0 ? 64 : 2 * *capacity;
  void *memory = ath_graph_alloc(self, larger * size);
  if (memory == NULL) return false;
  if (count > 0) memcpy(memory, *array, count * size);
  *array = memory;
  *capacity = larger;
  return true;
}

/* One map for all kinds of names, the kind in front: an input and a variable may share a name. */
int ath_graph_claim(ath_graph *self, char kind, const char *name) {
  assert(name != NULL);
  size_t length = strlen(name) + 2;
  char *key = ath_graph_alloc(self, length + 1);
  if (key == NULL) return 0;
  snprintf(key, length + 1, "%c:%s", kind, name);
  int32_t times = 0;
  ath_hash_map_get(self->names, key, length, &times);
  if (ath_hash_map_set(self->names, key, length, times + 1) != ATH_OK) {
    ath_graph_fail(self, ATH_NO_MEMORY, "graph: %s", ath_error_text());
    return 0;
  }
  return times + 1;
}

/* --- values ------------------------------------------------------------------------- */

/* What is wrong with a type, or NULL. The bound keeps all later sizes inside 64 bits. */
static const char *type_fault(const ath_type *type) {
  if (type->dtype >= ATH_DTYPE_COUNT) return "has no element type";
  if (type->rank < 0 || type->rank > ATH_MAX_RANK) return "has a rank outside 0 to 5";
  int64_t count = 1;
  for (int i = 0; i < type->rank; i++) {
    if (type->dims[i] < 1) return "has a dimension below 1";
    if (type->dims[i] > MAX_ELEMENTS / count) return "has more than 2^40 elements";
    count *= type->dims[i];
  }
  return NULL;
}

/* `name` is kept as it is: it lies in the arena or is a literal. */
ath_value ath_graph_new_value(ath_graph *self, ath_value_kind kind, const char *name,
                              ath_type type) {
  if (self->failure != ATH_OK) return ATH_NO_VALUE;
  const char *fault = type_fault(&type);
  if (fault != NULL) {
    char text[96] = "its type";
    if (type.dtype < ATH_DTYPE_COUNT && type.rank >= 0 && type.rank <= ATH_MAX_RANK)
      ath_type_text(&type, text);
    return ath_graph_fail(self, ATH_INVALID, "%s: %s %s", name, text, fault);
  }
  if (self->value_count >= MAX_VALUES)
    return ath_graph_fail(self, ATH_NO_MEMORY, "%s: a graph holds at most %d values", name,
                          MAX_VALUES);
  if (!ath_graph_grow(self, (void **)&self->values, &self->value_capacity, self->value_count,
                      sizeof *self->values))
    return ATH_NO_VALUE;
  for (int i = type.rank; i < ATH_MAX_RANK; i++) type.dims[i] = 0;
  self->values[self->value_count] = (value_record){
    .kind = kind, .type = type, .name = name, .assigned = ATH_NO_VALUE};
  return (ath_value)self->value_count++;
}

/* An input or a variable: a value with a name of its own, which is copied. */
static ath_value named_value(ath_graph *self, ath_value_kind kind, const char *name,
                             ath_type type) {
  bool input = kind == ATH_VALUE_INPUT;
  if (self->failure != ATH_OK) return ATH_NO_VALUE;
  int times = ath_graph_claim(self, input ? 'i' : 'v', name);
  if (times == 0) return ATH_NO_VALUE;
  if (times > 1)
    return ath_graph_fail(self, ATH_INVALID, "%s: the graph already has %s of this name", name,
                          input ? "an input" : "a variable");
  char *copy = ath_arena_string(self->arena, name);
  if (copy == NULL) return ath_graph_fail(self, ATH_NO_MEMORY, "graph: %s", ath_error_text());
  return ath_graph_new_value(self, kind, copy, type);
}

ath_value ath_graph_input(ath_graph *self, const char *name, ath_type type) {
  return named_value(self, ATH_VALUE_INPUT, name, type);
}

ath_value ath_graph_variable(ath_graph *self, const char *name, ath_type type) {
  return named_value(self, ATH_VALUE_VARIABLE, name, type);
}

ath_value ath_graph_constant(ath_graph *self, ath_type type, double fill) {
  ath_value value = ath_graph_new_value(self, ATH_VALUE_CONSTANT, "constant", type);
  if (value != ATH_NO_VALUE) self->values[value].fill = fill;
  return value;
}

bool ath_graph_has(const ath_graph *self, ath_value value) {
  return value >= 0 && (size_t)value < self->value_count;
}

void ath_graph_assign(ath_graph *self, ath_value variable, ath_value value) {
  if (self->failure != ATH_OK) return;
  if (!ath_graph_has(self, variable) || self->values[variable].kind != ATH_VALUE_VARIABLE) {
    ath_graph_fail(self, ATH_INVALID, "assignment to value %d, which is not a variable", variable);
    return;
  }
  value_record *target = &self->values[variable];
  if (!ath_graph_has(self, value)) {
    ath_graph_fail(self, ATH_INVALID, "%s: there is no value %d to assign", target->name, value);
    return;
  }
  value_record *source = &self->values[value];
  char texts[2][96];
  if (!ath_type_equal(&target->type, &source->type))
    ath_graph_fail(self, ATH_INVALID, "%s: a variable of type %s cannot hold %s %s", target->name,
                   ath_type_text(&target->type, texts[0]), source->name,
                   ath_type_text(&source->type, texts[1]));
  else if (target->assigned != ATH_NO_VALUE)
    ath_graph_fail(self, ATH_INVALID, "%s: assigned twice, from %s and from %s", target->name,
                   self->values[target->assigned].name, source->name);
  if (self->failure != ATH_OK) return;
  target->assigned = value;
  source->uses++;
}

void ath_graph_output(ath_graph *self, const char *name, ath_value value) {
  if (self->failure != ATH_OK) return;
  if (!ath_graph_has(self, value)) {
    ath_graph_fail(self, ATH_INVALID, "output %s: there is no value %d", name, value);
    return;
  }
  int times = ath_graph_claim(self, 'o', name);
  if (times > 1) ath_graph_fail(self, ATH_INVALID, "output %s: made twice", name);
  size_t size = strlen(name) + 1;
  char *copy = times == 1 ? ath_graph_alloc(self, size) : NULL;
  if (copy == NULL || !ath_graph_grow(self, (void **)&self->outputs, &self->output_capacity,
                                      self->output_count, sizeof *self->outputs))
    return;
  memcpy(copy, name, size);
  self->outputs[self->output_count++] = (output_record){.name = copy, .value = value};
  self->values[value].uses++;
}

/* --- what others may ask ------------------------------------------------------------ */

static const value_record *record(const ath_graph *self, ath_value value) {
  assert(ath_graph_has(self, value));
  return &self->values[value];
}

/* These two also answer for ATH_NO_VALUE: builders ask for the types of their operands before they
 * know whether there has been a failure, and error texts name operands that were left out. */
ath_type ath_graph_type(const ath_graph *self, ath_value value) {
  return ath_graph_has(self, value) ? self->values[value].type : ATH_TYPE_ABSENT;
}

const char *ath_graph_value_name(const ath_graph *self, ath_value value) {
  return ath_graph_has(self, value) ? self->values[value].name : "no value";
}

size_t ath_graph_value_count(const ath_graph *self) { return self->value_count; }

ath_value_kind ath_graph_kind(const ath_graph *self, ath_value value) {
  return record(self, value)->kind;
}

const ath_node *ath_graph_producer(const ath_graph *self, ath_value value) {
  return record(self, value)->producer;
}

double ath_graph_constant_fill(const ath_graph *self, ath_value value) {
  assert(record(self, value)->kind == ATH_VALUE_CONSTANT);
  return record(self, value)->fill;
}

int ath_graph_uses(const ath_graph *self, ath_value value) { return record(self, value)->uses; }

ath_value ath_graph_assigned(const ath_graph *self, ath_value variable) {
  return record(self, variable)->assigned;
}

size_t ath_graph_output_count(const ath_graph *self) { return self->output_count; }

ath_value ath_graph_output_at(const ath_graph *self, size_t index, const char **name) {
  assert(index < self->output_count);
  *name = self->outputs[index].name;
  return self->outputs[index].value;
}
