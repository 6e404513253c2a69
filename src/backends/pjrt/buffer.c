/* buffer.c: tensors on a device, and their way there and back. */
#include <assert.h>
#include <stdlib.h>

#include "backends/pjrt/api.h"

static PJRT_Buffer_Type plugin_type(ath_dtype dtype) {
  switch (dtype) {
    case ATH_F32: return PJRT_Buffer_Type_F32;
    case ATH_BF16: return PJRT_Buffer_Type_BF16;
    case ATH_I32: return PJRT_Buffer_Type_S32;
    case ATH_U32: return PJRT_Buffer_Type_U32;
    case ATH_DTYPE_COUNT: break;
  }
  assert(!"a dtype of this build");
  return PJRT_Buffer_Type_INVALID;
}

/* Bytes of an element; 0 for a type that is not ours. */
static size_t element_size(PJRT_Buffer_Type type) {
  for (int dtype = 0; dtype < ATH_DTYPE_COUNT; dtype++)
    if (plugin_type((ath_dtype)dtype) == type) return ath_dtype_size((ath_dtype)dtype);
  return 0;
}

ath_status ath_pjrt_buffer_create(ath_pjrt_client *client, int device, const ath_type *type,
                                  const void *data, ath_pjrt_buffer **out) {
  *out = NULL;
  assert(device >= 0 && device < client->device_count);
  ath_pjrt_buffer *self = malloc(sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a buffer");
  ATH_PJRT_ARGS(args, Client_BufferFromHostBuffer, .client = client->client, .data = data,
                .type = plugin_type(type->dtype), .dims = type->dims,
                .num_dims = (size_t)type->rank,
                .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
                .device = client->devices[device]);
  ath_status status = ATH_PJRT_CALL(client->plugin, Client_BufferFromHostBuffer, &args);
  if (status != ATH_OK) {
    free(self);
    return status;
  }
  /* The data were copied within the call, so nothing is waited for. */
  if (args.done_with_host_buffer != NULL)
    ATH_PJRT_RELEASE(client->plugin, Event_Destroy, .event = args.done_with_host_buffer);
  *self = (ath_pjrt_buffer){client->plugin, args.buffer};
  *out = self;
  return ATH_OK;
}

/* Fills in the row-major order, without which a device's own order would come back. */
static ath_status check_shape(const ath_pjrt_buffer *self, size_t bytes, int64_t *minor_to_major,
                              size_t *rank) {
  ATH_PJRT_ARGS(type, Buffer_ElementType, .buffer = self->buffer);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Buffer_ElementType, &type));
  ATH_PJRT_ARGS(shape, Buffer_Dimensions, .buffer = self->buffer);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Buffer_Dimensions, &shape));
  size_t size = element_size(type.type);
  if (size == 0 || shape.num_dims > ATH_MAX_RANK)
    return ath_fail(ATH_UNSUPPORTED, "a buffer of the plugin's type %d and rank %zu cannot be read",
                    (int)type.type, shape.num_dims);
  for (size_t i = 0; i < shape.num_dims; i++) {
    size *= (size_t)shape.dims[i];
    minor_to_major[i] = (int64_t)(shape.num_dims - 1 - i);
  }
  if (size != bytes)
    return ath_fail(ATH_MISMATCH, "a buffer of %zu bytes is read as %zu", size, bytes);
  *rank = shape.num_dims;
  return ATH_OK;
}

ath_status ath_pjrt_buffer_read(ath_pjrt_buffer *self, void *data, size_t bytes) {
  int64_t minor_to_major[ATH_MAX_RANK];
  size_t rank = 0;
  ATH_TRY(check_shape(self, bytes, minor_to_major, &rank));
  PJRT_Buffer_MemoryLayout layout = {
    .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
    .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
              .minor_to_major = minor_to_major, .minor_to_major_size = rank},
    .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
  };
  ATH_PJRT_ARGS(args, Buffer_ToHostBuffer, .src = self->buffer, .host_layout = &layout,
                .dst = data, .dst_size = bytes);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Buffer_ToHostBuffer, &args));
  return ath_pjrt_await(self->plugin, "reading a result", args.event);
}

ath_status ath_pjrt_buffer_wait(ath_pjrt_buffer *self) {
  ATH_PJRT_ARGS(args, Buffer_ReadyEvent, .buffer = self->buffer);
  ATH_TRY(ATH_PJRT_CALL(self->plugin, Buffer_ReadyEvent, &args));
  return ath_pjrt_await(self->plugin, "waiting for a result", args.event);
}

void ath_pjrt_buffer_destroy(ath_pjrt_buffer *self) {
  if (self == NULL) return;
  ATH_PJRT_RELEASE(self->plugin, Buffer_Destroy, .buffer = self->buffer);
  free(self);
}
