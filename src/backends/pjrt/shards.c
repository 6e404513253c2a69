/* shards.c: whole values of the host as parts on the devices of a mesh, and back. */
#include <assert.h>
#include <stdlib.h>

#include "backends/pjrt/engine.h"

/* --- whole values -------------------------------------------------------------------------- */

/* Memory for a part of a value that is cut; NULL, without need, for one that is not. */
static ath_status make_scratch(const ath_type *whole, const ath_type *part, void **out) {
  *out = NULL;
  if (ath_type_equal(whole, part)) return ATH_OK;
  *out = malloc(ath_type_bytes(part));
  if (*out != NULL) return ATH_OK;
  return ath_fail(ATH_NO_MEMORY, "no memory for %zu bytes", ath_type_bytes(part));
}

ath_status ath_xla_put(const ath_xla_backend *self, const ath_split *split, const ath_type *type,
                       const void *data, ath_pjrt_buffer **out) {
  ath_type part = ath_split_type(split, &self->mesh, type);
  void *scratch;
  ATH_TRY(make_scratch(type, &part, &scratch));
  ath_status status = ATH_OK;
  int made = 0;
  while (made < self->here && status == ATH_OK) {
    if (scratch != NULL)
      ath_split_cut(split, &self->mesh, type, self->first + made, data, scratch);
    status = ath_pjrt_buffer_create(self->client, made, &part, scratch != NULL ? scratch : data,
                                    &out[made]);
    made += status == ATH_OK;
  }
  free(scratch);
  if (status != ATH_OK) ath_xla_release(self, out, made);
  return status;
}

/* --- inputs -------------------------------------------------------------------------------- */

void ath_xla_share(const ath_xla_backend *self, int *first, int *count) {
  int model = self->mesh.model; /* so many devices after one another have the same part */
  *first = self->first / model;
  *count = (self->first + self->here - 1) / model - *first + 1;
}

static bool is_cut(const ath_xla_backend *self, const ath_type *type) {
  return type->rank > 0 && ath_mesh_input(&self->mesh, type).axes[0] != 0;
}

int64_t ath_xla_input_count(const ath_xla_backend *self, const ath_type *type) {
  int first, count;
  if (!is_cut(self, type)) return ath_type_count(type);
  ath_xla_share(self, &first, &count);
  return ath_type_count(type) / ath_mesh_shares(&self->mesh) * count;
}

/* Parts of an input are rows that follow one another. */
ath_status ath_xla_put_input(const ath_xla_backend *self, const ath_type *type, const void *data,
                             ath_pjrt_buffer **out) {
  ath_split split = ath_mesh_input(&self->mesh, type);
  if (!is_cut(self, type)) return ath_xla_put(self, &split, type, data, out);
  ath_type part = ath_split_type(&split, &self->mesh, type);
  ath_status status = ATH_OK;
  int first, count, made = 0;
  ath_xla_share(self, &first, &count);
  while (made < self->here && status == ATH_OK) {
    int row = (self->first + made) / self->mesh.model - first;
    assert(row >= 0 && row < count);
    status = ath_pjrt_buffer_create(self->client, made, &part,
                                    (const char *)data + (size_t)row * ath_type_bytes(&part),
                                    &out[made]);
    made += status == ATH_OK;
  }
  if (status != ATH_OK) ath_xla_release(self, out, made);
  return status;
}

/* --- back ---------------------------------------------------------------------------------- */

bool ath_xla_is_here(const ath_xla_backend *self, const ath_split *split) {
  int found = 0;
  for (int d = self->first; d < self->first + self->here; d++)
    found += ath_split_is_first(split, &self->mesh, self->first, d);
  return found == ath_split_parts(split, &self->mesh);
}

/* A part that several devices hold is taken from the first of them. */
ath_status ath_xla_fetch(const ath_xla_backend *self, const ath_split *split,
                         const ath_type *type, ath_pjrt_buffer *const *buffers, void *data) {
  ath_type part = ath_split_type(split, &self->mesh, type);
  void *scratch;
  ATH_TRY(make_scratch(type, &part, &scratch));
  if (scratch == NULL) return ath_pjrt_buffer_read(buffers[0], data, ath_type_bytes(type));
  ath_status status = ATH_OK;
  for (int d = 0; d < self->here && status == ATH_OK; d++) {
    int device = self->first + d;
    if (!ath_split_is_first(split, &self->mesh, self->first, device)) continue;
    status = ath_pjrt_buffer_read(buffers[d], scratch, ath_type_bytes(&part));
    if (status == ATH_OK) ath_split_join(split, &self->mesh, type, device, scratch, data);
  }
  free(scratch);
  return status;
}

void ath_xla_release(const ath_xla_backend *self, ath_pjrt_buffer **buffers, int count) {
  assert(count <= self->here);
  for (int d = 0; d < count; d++) {
    ath_pjrt_buffer_destroy(buffers[d]);
    buffers[d] = NULL;
  }
}
