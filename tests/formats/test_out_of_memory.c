/* test_out_of_memory.c: every format, with each of its allocations failing in turn. */
#include "failing_memory.h"

#include "athanor/events.h"
#include "athanor/safetensors.h"
#include "athanor/tfrecord.h"
#include "base/buffer.h"
#include "formats/example_json.h"
#include "formats/model_card.h"
#include "storage/file.h"

static ath_status write_shard(void *path) {
  const int32_t ids[] = {1, 2, 3};
  ath_buffer example = ath_buffer_make(1000);
  ath_tfrecord_writer *writer = NULL;
  ath_status status = ath_tfrecord_create(path, &writer);
  if (status == ATH_OK)
    status = ath_example_write(&(ath_int64_feature){"ids", ids, 3}, 1, &example);
  if (status == ATH_OK) status = ath_tfrecord_write(writer, example.bytes, example.length);
  ath_buffer_free(&example);
  if (status == ATH_OK) return ath_tfrecord_commit(writer);
  ath_tfrecord_abandon(writer);
  return status;
}

static ath_status read_shard(void *path) {
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  int32_t ids[3];
  size_t count;
  ATH_TRY(ath_tfrecord_open(path, &reader));
  ath_status status = ath_tfrecord_next(reader, &record);
  if (status == ATH_OK)
    status = ath_example_read_int64(record.bytes, record.length, "ids", ids, 3, &count);
  ath_tfrecord_close(reader);
  return status;
}

static ath_status write_compressed(void *path) {
  const ath_tfrecord_options options = {.compression = ATH_COMPRESSION_GZIP};
  ath_tfrecord_writer *writer = NULL;
  ATH_TRY(ath_tfrecord_create_with(path, &options, &writer));
  ath_status status = ath_tfrecord_write(writer, "some data", 9);
  if (status == ATH_OK) return ath_tfrecord_commit(writer);
  ath_tfrecord_abandon(writer);
  return status;
}

static ath_status read_compressed(void *path) {
  ath_tfrecord_options options = {.random_access = false};
  for (int turn = 0; turn < 2; turn++, options.random_access = true) {
    ath_tfrecord_reader *reader = NULL;
    ath_record record;
    ATH_TRY(ath_tfrecord_open_with(path, &options, &reader));
    ath_status status = ath_tfrecord_next(reader, &record);
    ath_tfrecord_close(reader);
    ATH_TRY(status);
  }
  return ATH_OK;
}

/* By way of a message and back; the parser of JSON is another's, so its memory does not fail. */
static ath_status convert_json(void *text) {
  ath_buffer message = ath_buffer_make(1 << 16), json = ath_buffer_make(1 << 16);
  ath_status status = ath_example_from_json(text, strlen(text), &message);
  if (status == ATH_OK) status = ath_example_to_json(message.bytes, message.length, &json);
  ath_buffer_free(&message);
  ath_buffer_free(&json);
  return status;
}

static ath_status save_tensors(void *path) {
  const float numbers[2] = {1, 2};
  const ath_tensor_entry entries[] = {{"a", ath_type_make(ATH_F32, 1, 2), numbers},
                                      {"b", ath_type_make(ATH_F32, 0), numbers}};
  return ath_safetensors_save(path, entries, 2);
}

static ath_status open_tensors(void *path) {
  ath_safetensors *tensors = NULL;
  ATH_TRY(ath_safetensors_open(path, &tensors));
  ath_safetensors_close(tensors);
  return ATH_OK;
}

static ath_status write_events(void *folder) {
  ath_events *events = NULL;
  ATH_TRY(ath_events_create(folder, 0, &events));
  ath_status status = ath_events_scalar(events, 1, "loss", 1);
  ath_status closed = ath_events_close(events);
  return status != ATH_OK ? status : closed;
}

static ath_status write_card(void *folder) {
  const ath_model_card card = {.name = "x"};
  return ath_model_card_write(&card, folder);
}

static void each_failed_allocation_is_reported_and_nothing_leaks(void **state) {
  (void)state;
  char *folder = make_folder();
  char shard[ATH_PATH_MAX], packed[ATH_PATH_MAX], tensors[ATH_PATH_MAX], events[ATH_PATH_MAX];
  assert_ok(ath_path_join(shard, folder, "shard"));
  assert_ok(ath_path_join(packed, folder, "packed"));
  assert_ok(ath_path_join(tensors, folder, "tensors"));
  assert_ok(ath_path_join(events, folder, "events"));
  assert_true(fail_each_allocation(write_shard, shard) >= 3);
  assert_true(fail_each_allocation(read_shard, shard) >= 1);
  assert_true(fail_each_allocation(write_compressed, packed) >= 3);
  assert_true(fail_each_allocation(read_compressed, packed) >= 5);
  static char json[] = "{\"sequence_example\": {\"context\": {\"a\": [1], \"b\": [\"x\"]}, "
                       "\"feature_lists\": {\"c\": [[0.5], [{\"base64\": \"AP8=\"}]]}}}";
  assert_true(fail_each_allocation(convert_json, json) >= 5);
  assert_true(fail_each_allocation(save_tensors, tensors) >= 4);
  assert_true(fail_each_allocation(open_tensors, tensors) >= 4);
  assert_true(fail_each_allocation(write_events, events) >= 2);
  assert_true(fail_each_allocation(write_card, folder) >= 2);
  char **names;
  size_t count;
  assert_ok(ath_folder_list(folder, &names, &count));
  assert_int_equal(count, 5); /* no temporary file is left */
  ath_folder_list_free(names, count);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_failed_allocation_is_reported_and_nothing_leaks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
