/* shards.c: whole values of the host as parts on the devices of a mesh, and back. */
#include <assert.h>
#include <stdlib.h>

#include "backends/pjrt/engine.h"

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
  while (made < self->devices && status == ATH_OK) {
    if (scratch != NULL) ath_split_cut(split, &self->mesh, type, made, data, scratch);
    status = ath_pjrt_buffer_create(self->client, made, &part, scratch != NULL ? scratch : data,
                                    &out[made]);
    made += status == ATH_OK;
  }
  free(scratch);
  if (status != ATH_OK) ath_xla_release(self, out, made);
  return status;
}

/* A part that several devices hold is taken from the first of them. */
ath_status ath_xla_fetch(const ath_xla_backend *self, const ath_split *split,
                         const ath_type *type, ath_pjrt_buffer *const *buffers, void *data) {
  ath_type part = ath_split_type(split, &self->mesh, type);
  void *scratch;
  ATH_TRY(make_scratch(type, &part, &scratch));
  if (scratch == NULL) return ath_pjrt_buffer_read(buffers[0], data, ath_type_bytes(type));
  ath_status status = ATH_OK;
  for (int d = 0; d < self->devices && status == ATH_OK; d++) {
    if (!ath_split_is_first(split, &self->mesh, d)) continue;
    status = ath_pjrt_buffer_read(buffers[d], scratch, ath_type_bytes(&part));
    if (status == ATH_OK) ath_split_join(split, &self->mesh, type, d, scratch, data);
  }
  free(scratch);
  return status;
}

void ath_xla_release(const ath_xla_backend *self, ath_pjrt_buffer **buffers, int count) {
  assert(count <= self->devices);
  for (int d = 0; d < count; d++) {
    ath_pjrt_buffer_destroy(buffers[d]);
    buffers[d] = NULL;
  }
}
