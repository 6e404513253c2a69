/* xla_program.c: reading the compiler's optimised program. */
#include "plan/xla_program.h"

#include <assert.h>
#include <string.h>

#include "formats/wire.h"

enum { SHAPE_DEPTH_MAX = 16, MESH_AXES_MAX = 16, IDS_MAX = 1 << 20 };

static ath_status no_memory(const void *pointer) {
  return pointer != NULL ? ATH_OK : ATH_NO_MEMORY; /* the arena has set the text */
}

/* A field that is no bytes has nothing inside, whatever its number promises. */
static ath_status next_field(ath_wire *message, ath_wire_field *field) {
  static const char nothing[1];
  *field = (ath_wire_field){.inside = ath_wire_make(nothing, 0)};
  return ath_wire_next(message, field);
}

static ath_status read_text(ath_arena *arena, const ath_wire_field *field, const char **out) {
  size_t length = ath_wire_left(&field->inside);
  *out = ath_arena_string_n(arena, (const char *)field->inside.at, length);
  return no_memory(*out);
}

/* --- whole numbers ------------------------------------------------------------------------- */

/* Adds the numbers of a repeated field, which comes packed or one by one. */
static ath_status read_ids(ath_arena *arena, const ath_wire_field *field, const int64_t **out,
                           int *count) {
  if (field->kind != ATH_WIRE_BYTES && field->kind != ATH_WIRE_VARINT)
    return ath_fail(ATH_CORRUPT, "a list of ids is of kind %d", (int)field->kind);
  size_t more = field->kind == ATH_WIRE_BYTES ? ath_wire_left(&field->inside) : 1;
  if (more > IDS_MAX || *count > IDS_MAX)
    return ath_fail(ATH_CORRUPT, "an instruction has more than %d ids", IDS_MAX);
  int64_t *ids = ath_arena_alloc(arena, ((size_t)*count + more) * sizeof *ids);
  ATH_TRY(no_memory(ids));
  if (*count > 0) memcpy(ids, *out, (size_t)*count * sizeof *ids);
  *out = ids;
  ath_wire left = field->inside;
  if (field->kind == ATH_WIRE_VARINT) ids[(*count)++] = (int64_t)field->value;
  else
    while (ath_wire_left(&left) > 0) {
      uint64_t value;
      ATH_TRY(ath_wire_varint(&left, &value));
      ids[(*count)++] = (int64_t)value;
    }
  return ATH_OK;
}

/* The number in field `wanted` of a message; `missing` where it has none. */
static ath_status read_number(ath_wire message, uint32_t wanted, int64_t missing, int64_t *out) {
  *out = missing;
  while (ath_wire_left(&message) > 0) {
    ath_wire_field field;
    ATH_TRY(next_field(&message, &field));
    if (field.number == wanted && field.kind == ATH_WIRE_VARINT) *out = (int64_t)field.value;
  }
  return ATH_OK;
}

/* --- shapes -------------------------------------------------------------------------------- */

/* Bits of an element, by the numbers of PrimitiveType (xla_data.proto); 0 for what has none. */
static int element_bits(int64_t type) {
  static const uint8_t bits[] = {
    [1] = 8,   [2] = 8,   [3] = 16,  [4] = 32,  [5] = 64,  [6] = 8,   [7] = 16,
    [8] = 32,  [9] = 64,  [10] = 16, [11] = 32, [12] = 64, [15] = 64, [16] = 16,
    [18] = 128, [19] = 8, [20] = 8,  [21] = 4,  [22] = 4,  [23] = 8,  [24] = 8, [25] = 8,
  };
  return type >= 0 && type < (int64_t)sizeof bits ? bits[type] : 0;
}

static ath_status read_dimensions(ath_wire dims, double *elements) {
  while (ath_wire_left(&dims) > 0) {
    uint64_t size;
    ATH_TRY(ath_wire_varint(&dims, &size));
    *elements *= (double)size;
  }
  return ATH_OK;
}

/* Adds a shape's bytes; of a tuple, those of its parts. */
static ath_status read_shape(ath_wire shape, int depth, int64_t *bytes) {
  if (depth > SHAPE_DEPTH_MAX)
    return ath_fail(ATH_CORRUPT, "shapes are nested deeper than %d", SHAPE_DEPTH_MAX);
  double elements = 1;
  int64_t type = 0;
  while (ath_wire_left(&shape) > 0) {
    ath_wire_field field;
    ATH_TRY(next_field(&shape, &field));
    if (field.number == 2) type = (int64_t)field.value;
    else if (field.number == 3 && field.kind == ATH_WIRE_BYTES)
      ATH_TRY(read_dimensions(field.inside, &elements));
    else if (field.number == 3) elements *= (double)field.value;
    else if (field.number == 4) ATH_TRY(read_shape(field.inside, depth + 1, bytes));
  }
  double own = elements * element_bits(type) / 8;
  if (own + (double)*bytes > 9e15)
    return ath_fail(ATH_CORRUPT, "a shape of %.3g bytes", own + (double)*bytes);
  *bytes += (int64_t)own;
  return ATH_OK;
}

/* --- instructions -------------------------------------------------------------------------- */

/* The device's part of a configuration is JSON; of it one number, "estimated_cycles":"605158". */
static int64_t find_cycles(ath_wire config) {
  static const char key[] = "\"estimated_cycles\":\"";
  const char *end = (const char *)config.end;
  const char *at = memmem(config.at, ath_wire_left(&config), key, sizeof key - 1);
  if (at == NULL) return -1;
  int64_t cycles = 0;
  for (at += sizeof key - 1; at < end && *at >= '0' && *at <= '9' && cycles < INT64_MAX / 16; at++)
    cycles = 10 * cycles + (*at - '0');
  return cycles;
}

/* A literal that is one s32: field 4, packed or not. */
static ath_status read_literal(ath_wire literal, int64_t *out) {
  while (ath_wire_left(&literal) > 0) {
    ath_wire_field field;
    ATH_TRY(next_field(&literal, &field));
    if (field.number != 4) continue;
    uint64_t value = field.value;
    if (field.kind == ATH_WIRE_BYTES) {
      ATH_TRY(ath_wire_varint(&field.inside, &value));
      if (ath_wire_left(&field.inside) > 0) return ATH_OK; /* several */
    }
    *out = (int32_t)value;
  }
  return ATH_OK;
}

/* Devices of a mesh's axes that a collective goes along: {1 mesh {1 axis {1 name 2 size}}
 * 2 reference {1 number of the axis}}. */
static ath_status read_mesh_group(ath_wire message, int64_t *group) {
  int64_t sizes[MESH_AXES_MAX];
  int axes = 0;
  while (ath_wire_left(&message) > 0) {
    ath_wire_field field, axis;
    ATH_TRY(next_field(&message, &field));
    if (field.number == 1)
      while (ath_wire_left(&field.inside) > 0) {
        ATH_TRY(next_field(&field.inside, &axis));
        if (axis.number == 1 && axes < MESH_AXES_MAX)
          ATH_TRY(read_number(axis.inside, 2, 1, &sizes[axes++]));
      }
    if (field.number != 2) continue;
    int64_t index;
    ATH_TRY(read_number(field.inside, 1, 0, &index));
    if (index >= 0 && index < axes) *group = (*group > 0 ? *group : 1) * sizes[index];
  }
  return ATH_OK;
}

/* The size of the first of a list of groups: {1 packed ids}. */
static ath_status read_group(ath_arena *arena, ath_wire message, int64_t *group) {
  while (ath_wire_left(&message) > 0 && *group == 0) {
    ath_wire_field field;
    const int64_t *ids = NULL;
    int count = 0;
    ATH_TRY(next_field(&message, &field));
    if (field.number == 1) ATH_TRY(read_ids(arena, &field, &ids, &count));
    *group = count;
  }
  return ATH_OK;
}

/* CollectiveDeviceListProto: {1 groups | 2 {1 number of groups 2 devices of each}}. */
static ath_status read_device_list(ath_arena *arena, ath_wire message, int64_t *group) {
  while (ath_wire_left(&message) > 0) {
    ath_wire_field field;
    ATH_TRY(next_field(&message, &field));
    if (field.number == 1) ATH_TRY(read_group(arena, field.inside, group));
    else if (field.number == 2) ATH_TRY(read_number(field.inside, 2, 0, group));
  }
  return ATH_OK;
}

static ath_status read_metadata(ath_arena *arena, ath_wire message, ath_xla_instruction *out) {
  while (ath_wire_left(&message) > 0) {
    ath_wire_field field;
    ATH_TRY(next_field(&message, &field));
    if (field.number == 2) ATH_TRY(read_text(arena, &field, &out->op_name));
    else if (field.number == 4) out->line = (int64_t)field.value;
  }
  return ATH_OK;
}

static ath_status read_field(ath_arena *arena, const ath_wire_field *field,
                             ath_xla_instruction *out) {
  switch (field->number) {
    case 1: return read_text(arena, field, &out->name);
    case 2: return read_text(arena, field, &out->opcode);
    case 3: return read_shape(field->inside, 0, &out->bytes);
    case 7: return read_metadata(arena, field->inside, out);
    case 8: return read_literal(field->inside, &out->constant);
    case 9: out->parameter = (int64_t)field->value; return ATH_OK;
    case 28: return read_text(arena, field, &out->target);
    case 38: return read_ids(arena, field, &out->called, &out->called_count);
    case 43: out->cycles = find_cycles(field->inside); return ATH_OK;
    case 49: return out->group == 0 ? read_group(arena, field->inside, &out->group) : ATH_OK;
    case 87: return read_device_list(arena, field->inside, &out->group);
    case 93: return read_mesh_group(field->inside, &out->group);
    default: return ATH_OK;
  }
}

static ath_status read_instruction(ath_arena *arena, ath_wire message, ath_xla_instruction *out) {
  *out = (ath_xla_instruction){.name = "", .opcode = "", .op_name = "", .target = "",
                               .cycles = -1, .constant = -1};
  while (ath_wire_left(&message) > 0) {
    ath_wire_field field;
    ATH_TRY(next_field(&message, &field));
    ATH_TRY_CONTEXT(read_field(arena, &field, out), "instruction %.60s", out->name);
  }
  return ATH_OK;
}

/* --- computations -------------------------------------------------------------------------- */

/* How many of the repeated field there are, so that their array is made once. */
static ath_status count_field(ath_wire message, uint32_t number, int *count) {
  *count = 0;
  while (ath_wire_left(&message) > 0) {
    ath_wire_field field;
    ATH_TRY(next_field(&message, &field));
    *count += field.number == number && field.kind == ATH_WIRE_BYTES;
  }
  return ATH_OK;
}

static ath_status read_computation(ath_arena *arena, ath_wire message, ath_xla_computation *out) {
  int count;
  ATH_TRY(count_field(message, 2, &count));
  *out = (ath_xla_computation){.name = "", .id = -1};
  out->instructions = ath_arena_alloc(arena, (size_t)count * sizeof *out->instructions);
  ATH_TRY(no_memory(out->instructions));
  while (ath_wire_left(&message) > 0) {
    ath_wire_field field;
    ATH_TRY(next_field(&message, &field));
    if (field.number == 1) ATH_TRY(read_text(arena, &field, &out->name));
    else if (field.number == 5) out->id = (int64_t)field.value;
    else if (field.number == 2 && field.kind == ATH_WIRE_BYTES)
      ATH_TRY_CONTEXT(
          read_instruction(arena, field.inside, &out->instructions[out->count++]),
          "computation %.60s", out->name);
  }
  assert(out->count == count);
  return ATH_OK;
}

const ath_xla_computation *ath_xla_program_find(const ath_xla_program *self, int64_t id) {
  for (int i = 0; i < self->count; i++)
    if (self->computations[i].id == id) return &self->computations[i];
  return NULL;
}

static ath_status read_module(ath_arena *arena, ath_wire module, ath_xla_program *out) {
  int count;
  int64_t entry = -1;
  ATH_TRY(count_field(module, 3, &count));
  out->computations = ath_arena_alloc(arena, (size_t)count * sizeof *out->computations);
  ATH_TRY(no_memory(out->computations));
  while (ath_wire_left(&module) > 0) {
    ath_wire_field field;
    ATH_TRY(next_field(&module, &field));
    if (field.number == 6) entry = (int64_t)field.value;
    else if (field.number == 3 && field.kind == ATH_WIRE_BYTES)
      ATH_TRY(read_computation(arena, field.inside, &out->computations[out->count++]));
  }
  out->entry = ath_xla_program_find(out, entry);
  if (out->entry == NULL)
    return ath_fail(ATH_CORRUPT, "there is no entry computation, id %lld", (long long)entry);
  return ATH_OK;
}

ath_status ath_xla_program_read(const void *bytes, size_t size, ath_arena *arena,
                                ath_xla_program *out) {
  *out = (ath_xla_program){0};
  ath_wire message = ath_wire_make(bytes, size);
  while (ath_wire_left(&message) > 0) {
    ath_wire_field field;
    ATH_TRY_CONTEXT(next_field(&message, &field), "the compiler's program");
    if (field.number == 1 && field.kind == ATH_WIRE_BYTES)
      return ath_context(read_module(arena, field.inside, out), "the compiler's program");
  }
  return ath_fail(ATH_CORRUPT, "the compiler's program: there is no module in it");
}
