/* mesh.c: which part of which value lies on which device of a mesh. */
#include "backends/pjrt/mesh.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Matrices with fewer elements are held whole by everyone: a message costs more than they do. */
enum { SMALL = 1024 };

static int axis_size(const ath_mesh *mesh, int axis) {
  assert(axis >= 0 && axis < ATH_MESH_AXES);
  return axis == 0 ? mesh->data : axis == 1 ? mesh->fsdp : mesh->model;
}

int ath_mesh_along(const ath_mesh *mesh, unsigned axes) {
  int count = 1;
  for (int a = 0; a < ATH_MESH_AXES; a++)
    if (axes & (1u << a)) count *= axis_size(mesh, a);
  return count;
}

/* --- the rule ------------------------------------------------------------------------------ */

/* The dimension that `model` cuts, or −1. Heads lie side by side in the rows of the joint matrix of
 * queries, keys and values, and in the columns of the matrix after attention. */
static int model_dimension(const char *name) {
  static const struct { const char *end; int dimension; } rules[] = {
    {"attention.self.qkv.weight", 0}, {"attention.self.qkv.bias", 0},
    {"intermediate.dense.weight", 0}, {"intermediate.dense.bias", 0},
    {".output.dense.weight", 1}, /* attention's as well */
    {"word_embeddings.weight", 0}, {"lm_head.bias", 0},
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (ath_ends_with(name, rules[i].end)) return rules[i].dimension;
  return -1;
}

/* The largest dimension, the first of equals, that no axis cuts yet and that divides; or −1. The
 * rows of attention's joint matrix come last, since queries, keys and values are taken out of them:
 * parts that lie across devices would travel. */
static int fsdp_dimension(const ath_mesh *mesh, const char *name, const ath_type *type,
                          const ath_split *split) {
  bool joint = ath_ends_with(name, "attention.self.qkv.weight");
  int best = -1;
  int64_t most = 0;
  if (type->rank < 2 || ath_type_count(type) < SMALL) return -1;
  for (int d = 0; d < type->rank; d++) {
    int64_t size = joint && d == 0 ? 1 : type->dims[d];
    if (split->axes[d] != 0 || type->dims[d] % mesh->fsdp != 0 || size <= most) continue;
    best = d;
    most = size;
  }
  return best;
}

ath_split ath_mesh_variable(const ath_mesh *mesh, const char *name, const ath_type *type) {
  ath_split split = {0};
  int by_model = model_dimension(name);
  if (mesh->model > 1 && by_model >= 0 && by_model < type->rank &&
      type->dims[by_model] % mesh->model == 0)
    split.axes[by_model] = ATH_AXIS_MODEL;
  int by_fsdp = mesh->fsdp > 1 ? fsdp_dimension(mesh, name, type, &split) : -1;
  if (by_fsdp >= 0) split.axes[by_fsdp] = ATH_AXIS_FSDP;
  return split;
}

ath_split ath_mesh_input(const ath_mesh *mesh, const ath_type *type) {
  ath_split split = {0};
  int parts = ath_mesh_shares(mesh);
  if (type->rank > 0 && parts > 1 && type->dims[0] % parts == 0)
    split.axes[0] = ATH_AXIS_DATA | ATH_AXIS_FSDP;
  return split;
}

/* --- text ---------------------------------------------------------------------------------- */

/* The mesh's axes of more than one device, in the order in which a split uses them: those of
 * dimension 0, of dimension 1, …, and at the end those along which all is the same. */
typedef struct order {
  int axes[ATH_MESH_AXES];
  int count;
} order;

static void append_axes(order *self, const ath_mesh *mesh, unsigned axes) {
  for (int a = 0; a < ATH_MESH_AXES; a++)
    if ((axes & (1u << a)) && axis_size(mesh, a) > 1) self->axes[self->count++] = a;
  assert(self->count <= ATH_MESH_AXES);
}

static unsigned used_axes(const ath_split *split, int rank) {
  unsigned used = 0;
  for (int d = 0; d < rank; d++) {
    assert((used & split->axes[d]) == 0); /* no axis cuts twice */
    used |= split->axes[d];
  }
  return used;
}

static bool is_sorted(const order *self) {
  for (int i = 1; i < self->count; i++)
    if (self->axes[i] < self->axes[i - 1]) return false;
  return true;
}

/* "[4]" where devices come in their own order, else "[2,2]T(1,0)": axes of one device have no place
 * in the list, so that an axis's number there is how many before it have more. */
static ath_status print_devices(const order *used, const ath_mesh *mesh, ath_buffer *out) {
  int place[ATH_MESH_AXES] = {0}, places = 0;
  if (is_sorted(used)) return ath_buffer_format(out, "[%d]", ath_mesh_devices(mesh));
  for (int a = 0; a < ATH_MESH_AXES; a++) {
    place[a] = places;
    if (axis_size(mesh, a) == 1) continue;
    ATH_TRY(ath_buffer_format(out, "%s%d", places++ > 0 ? "," : "[", axis_size(mesh, a)));
  }
  ATH_TRY(ath_buffer_string(out, "]T("));
  for (int i = 0; i < used->count; i++)
    ATH_TRY(ath_buffer_format(out, "%s%d", i > 0 ? "," : "", place[used->axes[i]]));
  return ath_buffer_string(out, ")");
}

ath_status ath_split_print(const ath_split *split, const ath_mesh *mesh, int rank,
                           ath_buffer *out) {
  unsigned used = used_axes(split, rank), all = (1u << ATH_MESH_AXES) - 1;
  int same = ath_mesh_along(mesh, all & ~used);
  order devices = {0};
  if (same == ath_mesh_devices(mesh)) return ath_buffer_string(out, "{replicated}");
  for (int d = 0; d < rank; d++) {
    append_axes(&devices, mesh, split->axes[d]);
    ATH_TRY(ath_buffer_format(out, "%s%d", d == 0 ? "{devices=[" : ",",
                              ath_mesh_along(mesh, split->axes[d])));
  }
  append_axes(&devices, mesh, all & ~used);
  if (same > 1) ATH_TRY(ath_buffer_format(out, ",%d", same));
  ATH_TRY(ath_buffer_string(out, "]<="));
  ATH_TRY(print_devices(&devices, mesh, out));
  return ath_buffer_string(out, same > 1 ? " last_tile_dim_replicate}" : "}");
}

/* --- parts --------------------------------------------------------------------------------- */

/* The device's place along an axis. */
static int coordinate(const ath_mesh *mesh, int device, int axis) {
  for (int a = ATH_MESH_AXES - 1; a > axis; a--) device /= axis_size(mesh, a);
  return device % axis_size(mesh, axis);
}

/* Which part of a dimension a device holds, counted row-major over the axes that cut it. */
static int part_number(const ath_mesh *mesh, int device, unsigned axes) {
  int number = 0;
  for (int a = 0; a < ATH_MESH_AXES; a++)
    if (axes & (1u << a)) number = number * axis_size(mesh, a) + coordinate(mesh, device, a);
  return number;
}

ath_type ath_split_type(const ath_split *split, const ath_mesh *mesh, const ath_type *whole) {
  ath_type part = *whole;
  for (int d = 0; d < whole->rank; d++) {
    assert(whole->dims[d] % ath_mesh_along(mesh, split->axes[d]) == 0);
    part.dims[d] /= ath_mesh_along(mesh, split->axes[d]);
  }
  return part;
}

int ath_split_part(const ath_split *split, const ath_mesh *mesh, int device) {
  return part_number(mesh, device, used_axes(split, ATH_MAX_RANK));
}

int ath_split_parts(const ath_split *split, const ath_mesh *mesh) {
  return ath_mesh_along(mesh, used_axes(split, ATH_MAX_RANK));
}

bool ath_split_is_first(const ath_split *split, const ath_mesh *mesh, int first, int device) {
  int part = ath_split_part(split, mesh, device);
  while (first < device && ath_split_part(split, mesh, first) != part) first++;
  return first == device;
}

/* A part as runs of bytes that are dense in the whole as well: all dimensions after the last one
 * that is cut make one run; the dimensions before it are counted through. */
typedef struct runs {
  int rank;                    /* dimensions counted through; the last of them begins the run */
  int64_t sizes[ATH_MAX_RANK]; /* of the part */
  int64_t steps[ATH_MAX_RANK]; /* bytes in the whole from one to the next */
  int64_t start;               /* of the part in the whole, in bytes */
  size_t bytes;                /* of a run */
  int64_t count;
} runs;

static runs make_runs(const ath_split *split, const ath_mesh *mesh, const ath_type *whole,
                      int device) {
  runs self = {.count = 1};
  ath_type part = ath_split_type(split, mesh, whole);
  int64_t step = (int64_t)ath_dtype_size(whole->dtype);
  self.bytes = (size_t)step;
  for (int d = 0; d < whole->rank; d++)
    if (split->axes[d] != 0) self.rank = d;
  for (int d = whole->rank - 1; d >= 0; d--) {
    self.start += step * part.dims[d] * part_number(mesh, device, split->axes[d]);
    if (d >= self.rank) self.bytes *= (size_t)part.dims[d];
    else self.count *= part.dims[d];
    self.sizes[d] = part.dims[d];
    self.steps[d] = step;
    step *= whole->dims[d];
  }
  return self;
}

/* Where run `index` lies in the whole. */
static int64_t run_offset(const runs *self, int64_t index) {
  int64_t offset = self->start;
  for (int d = self->rank - 1; d >= 0; d--) {
    offset += index % self->sizes[d] * self->steps[d];
    index /= self->sizes[d];
  }
  return offset;
}

void ath_split_cut(const ath_split *split, const ath_mesh *mesh, const ath_type *whole, int device,
                   const void *from, void *part) {
  runs self = make_runs(split, mesh, whole, device);
  for (int64_t i = 0; i < self.count; i++)
    memcpy((char *)part + (size_t)i * self.bytes, (const char *)from + run_offset(&self, i),
           self.bytes);
}

void ath_split_join(const ath_split *split, const ath_mesh *mesh, const ath_type *whole,
                    int device, const void *part, void *to) {
  runs self = make_runs(split, mesh, whole, device);
  for (int64_t i = 0; i < self.count; i++)
    memcpy((char *)to + run_offset(&self, i), (const char *)part + (size_t)i * self.bytes,
           self.bytes);
}

/* --- a mesh as text ------------------------------------------------------------------------ */

int ath_mesh_devices(const ath_mesh *mesh) { return mesh->data * mesh->fsdp * mesh->model; }

int ath_mesh_shares(const ath_mesh *mesh) { return mesh->data * mesh->fsdp; }

const char *ath_mesh_text(const ath_mesh *mesh, char out[64]) {
  static const char *const names[ATH_MESH_AXES] = {"data", "fsdp", "model"};
  int used = 0;
  for (int a = 0; a < ATH_MESH_AXES; a++)
    if (axis_size(mesh, a) > 1)
      used += snprintf(out + used, (size_t)(64 - used), "%s%s=%d", used > 0 ? "," : "", names[a],
                       axis_size(mesh, a));
  if (used == 0) snprintf(out, 64, "data=1");
  assert(used < 64);
  return out;
}

/* Reads "name=N" at *at and moves on behind it and a comma. */
static bool read_axis(const char **at, ath_mesh *out, unsigned *given) {
  static const char *const names[ATH_MESH_AXES] = {"data=", "fsdp=", "model="};
  int *const sizes[ATH_MESH_AXES] = {&out->data, &out->fsdp, &out->model};
  for (int a = 0; a < ATH_MESH_AXES; a++) {
    if (strncmp(*at, names[a], strlen(names[a])) != 0) continue;
    const char *digits = *at + strlen(names[a]);
    char *end;
    long size = *digits >= '1' && *digits <= '9' ? strtol(digits, &end, 10) : 0;
    if (size < 1 || size > ATH_MESH_DEVICES_MAX || (*given & (1u << a))) return false;
    if (*end != '\0' && (*end != ',' || end[1] == '\0')) return false;
    *given |= 1u << a;
    *sizes[a] = (int)size;
    *at = *end == ',' ? end + 1 : end;
    return true;
  }
  return false;
}

ath_status ath_mesh_parse(const char *text, ath_mesh *out) {
  unsigned given = 0;
  *out = (ath_mesh){1, 1, 1};
  if (text == NULL) return ATH_OK;
  for (const char *at = text; given == 0 || *at != '\0';)
    if (!read_axis(&at, out, &given))
      return ath_fail(ATH_USAGE, "mesh \"%.60s\" is not of the form data=N,fsdp=N,model=N; each "
                      "axis stands at most once, from 1 to %d, and is 1 where it is left out", text,
                      ATH_MESH_DEVICES_MAX);
  if ((int64_t)out->data * out->fsdp * out->model <= ATH_MESH_DEVICES_MAX) return ATH_OK;
  return ath_fail(ATH_USAGE, "mesh \"%.60s\" has %lld devices; at most %d are possible", text,
                  (long long)out->data * out->fsdp * out->model, ATH_MESH_DEVICES_MAX);
}
