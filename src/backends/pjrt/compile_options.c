/* compile_options.c: the few fields of a CompileOptionsProto that are needed, as bytes.
 *
 *     3 executable_build_options    4 num_replicas      6 use_spmd_partitioning
 *                                   5 num_partitions   19 use_shardy_partitioner
 *                                   9 device_assignment { 1 replicas, 2 partitions, 3 { 1 ids } … }
 *     7 env_option_overrides { 1 name, 2 { 1 string | 2 bool | 3 integer | 4 double } } …
 *
 * num_replicas and num_partitions are always written: without them plugins end the process. Field
 * numbers: xla/pjrt/proto/compile_options.proto and xla/xla_data.proto of OpenXLA. */
#include <assert.h>
#include <string.h>

#include "backends/pjrt/client.h"
#include "backends/pjrt/compile_options.h"
#include "formats/wire.h"

enum { MESSAGE_MAX = 1 << 20, PARTITIONS_MAX = 1 << 16 };

static ath_status put_varint(ath_buffer *out, uint64_t value) {
  uint8_t bytes[10];
  return ath_buffer_append(out, bytes, (size_t)(ath_wire_put_varint(bytes, value) - bytes));
}

static ath_status put_integer(ath_buffer *out, uint32_t number, int64_t value) {
  ATH_TRY(put_varint(out, ath_wire_tag(number, ATH_WIRE_VARINT)));
  return put_varint(out, (uint64_t)value);
}

static ath_status put_bytes(ath_buffer *out, uint32_t number, const void *bytes, size_t count) {
  ATH_TRY(put_varint(out, ath_wire_tag(number, ATH_WIRE_BYTES)));
  ATH_TRY(put_varint(out, count));
  return ath_buffer_append(out, bytes, count);
}

/* Appends what `inside` holds as one field, and empties it. */
static ath_status put_message(ath_buffer *out, uint32_t number, ath_buffer *inside) {
  ath_status status = put_bytes(out, number, inside->bytes, inside->length);
  ath_buffer_clear(inside);
  return status;
}

static ath_status put_device(ath_buffer *out, int64_t id) {
  uint8_t packed[10];
  size_t length = (size_t)(ath_wire_put_varint(packed, (uint64_t)id) - packed);
  uint8_t entry[16] = {(uint8_t)ath_wire_tag(1, ATH_WIRE_BYTES), (uint8_t)length};
  memcpy(entry + 2, packed, length);
  return put_bytes(out, 3, entry, length + 2);
}

static ath_status put_assignment(ath_buffer *out, int partitions, const int64_t *ids) {
  ATH_TRY(put_integer(out, 1, 1));
  ATH_TRY(put_integer(out, 2, partitions));
  for (int i = 0; i < partitions; i++) ATH_TRY(put_device(out, ids[i]));
  return ATH_OK;
}

static ath_status put_build_options(const ath_pjrt_compile_options *options, const int64_t *ids,
                                    ath_buffer *out, ath_buffer *inside) {
  ATH_TRY(put_integer(out, 4, 1));
  ATH_TRY(put_integer(out, 5, options->partitions));
  if (options->partitions > 1) ATH_TRY(put_integer(out, 6, 1));
  if (ids != NULL) {
    ATH_TRY(put_assignment(inside, options->partitions, ids));
    ATH_TRY(put_message(out, 9, inside));
  }
  if (options->shardy) ATH_TRY(put_integer(out, 19, 1));
  return ATH_OK;
}

static ath_status put_override_value(const ath_pjrt_option *option, ath_buffer *out) {
  switch (option->kind) {
    case ATH_PJRT_STRING: return put_bytes(out, 1, option->string, strlen(option->string));
    case ATH_PJRT_BOOL: return put_integer(out, 2, option->integer != 0);
    case ATH_PJRT_INTEGER: return put_integer(out, 3, option->integer);
    case ATH_PJRT_FLOAT: {
      double value = option->number;
      ATH_TRY(put_varint(out, ath_wire_tag(4, ATH_WIRE_64)));
      return ath_buffer_append(out, &value, sizeof value);
    }
    case ATH_PJRT_INTEGERS: break;
  }
  return ath_fail(ATH_INVALID, "compiler option %s: a list of integers is not possible",
                  option->name);
}

static ath_status put_override(const ath_pjrt_option *option, ath_buffer *out, ath_buffer *inside) {
  ath_buffer value = ath_buffer_make(MESSAGE_MAX);
  ath_status status = put_override_value(option, &value);
  if (status == ATH_OK) status = put_bytes(inside, 1, option->name, strlen(option->name));
  if (status == ATH_OK) status = put_message(inside, 2, &value);
  if (status == ATH_OK) status = put_message(out, 7, inside);
  ath_buffer_free(&value);
  return status;
}

static ath_status put_all(const ath_pjrt_compile_options *options, const int64_t *ids,
                          ath_buffer *out, ath_buffer *build, ath_buffer *inside) {
  ATH_TRY(put_build_options(options, ids, build, inside));
  ATH_TRY(put_message(out, 3, build));
  for (size_t i = 0; i < options->override_count; i++)
    ATH_TRY(put_override(&options->overrides[i], out, inside));
  return ATH_OK;
}

ath_status ath_pjrt_compile_options_assign(const ath_pjrt_compile_options *options,
                                           const int64_t *ids, ath_buffer *out) {
  if (options->partitions < 1 || options->partitions > PARTITIONS_MAX)
    return ath_fail(ATH_INVALID, "%d partitions: 1 to %d are possible", options->partitions,
                    PARTITIONS_MAX);
  ath_buffer build = ath_buffer_make(MESSAGE_MAX), inside = ath_buffer_make(MESSAGE_MAX);
  ath_status status = put_all(options, ids, out, &build, &inside);
  ath_buffer_free(&build);
  ath_buffer_free(&inside);
  return status;
}

ath_status ath_pjrt_compile_options_write(const ath_pjrt_compile_options *options,
                                          ath_buffer *out) {
  return ath_pjrt_compile_options_assign(options, NULL, out);
}
