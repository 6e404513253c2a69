/* test_dataset.c: opening and reading folders of shards, damaged ones above all. */
#include "testing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "athanor/dataset.h"
#include "shards.h"
#include "storage/file.h"

enum { LENGTH = 16 };

static void expect_records(const ath_dataset *data, uint64_t count) {
  int32_t ids[LENGTH], mask[LENGTH];
  assert_int_equal(ath_dataset_size(data), count);
  assert_int_equal(ath_dataset_length(data), LENGTH);
  for (uint64_t record = 0; record < count; record++) {
    assert_ok(ath_dataset_read(data, record, ids, mask));
    for (int i = 0; i < LENGTH; i++) {
      assert_int_equal(mask[i], mask_of(record, i, LENGTH));
      assert_int_equal(ids[i], mask[i] ? token_of(record, i) : 3);
    }
  }
}

/* Eleven shards: "dataset-10-…" sorts before "dataset-2-…" as text, but is read last. */
static void shards_are_read_in_the_order_of_their_index(void **state) {
  (void)state;
  char *folder = make_folder();
  write_shards(folder, 105, LENGTH, 10);
  for (int cached = 0; cached < 2; cached++) {
    ath_dataset *data = NULL;
    assert_ok(ath_dataset_open(folder, &data));
    expect_records(data, 105);
    assert_null(ath_dataset_tokenizer_hash(data));
    assert_ok(ath_dataset_verify(data));
    ath_dataset_close(data);
    assert_true(ath_path_exists(in_folder(folder, "index.bin")));
  }
  remove_folder(folder);
}

static void a_stale_or_damaged_index_is_rebuilt(void **state) {
  (void)state;
  char *folder = make_folder();
  ath_dataset *data = NULL;
  write_shards(folder, 20, LENGTH, 10);
  assert_ok(ath_dataset_open(folder, &data));
  ath_dataset_close(data);
  write_shards(folder, 35, LENGTH, 10); /* the first two shards again, and two more */
  assert_ok(ath_dataset_open(folder, &data));
  expect_records(data, 35);
  ath_dataset_close(data);

  const char *index = in_folder(folder, "index.bin");
  ath_buffer good = ath_buffer_make(1 << 20);
  assert_ok(ath_file_read(index, &good));
  for (size_t at = 0; at < good.length; at += 7) {
    good.bytes[at] ^= 0x10;
    assert_ok(ath_file_write(in_folder(folder, "index.bin"), good.bytes, good.length));
    good.bytes[at] ^= 0x10;
    assert_ok(ath_dataset_open(folder, &data));
    expect_records(data, 35);
    ath_dataset_close(data);
  }
  for (size_t length = 0; length < good.length; length += 13) {
    assert_ok(ath_file_write(in_folder(folder, "index.bin"), good.bytes, length));
    assert_ok(ath_dataset_open(folder, &data));
    expect_records(data, 35);
    ath_dataset_close(data);
  }
  ath_buffer_free(&good);
  remove_folder(folder);
}

static void a_folder_without_a_place_for_the_index_works(void **state) {
  (void)state;
  char *folder = make_folder();
  write_shards(folder, 20, LENGTH, 10);
  /* A folder of that name stands in the way; root may write into read-only folders. */
  assert_int_equal(mkdir(in_folder(folder, "index.bin"), 0777), 0);
  ath_dataset *data = NULL;
  assert_ok(ath_dataset_open(folder, &data));
  expect_records(data, 20);
  ath_dataset_close(data);
  remove_folder(folder);
}

static ath_status open_and_verify(const char *folder) {
  ath_dataset *data = NULL;
  ATH_TRY(ath_dataset_open(folder, &data));
  ath_status status = ath_dataset_verify(data);
  ath_dataset_close(data);
  return status;
}

/* Case L1: a cut anywhere is found; exactly between two records by the count in the name. */
static void a_cut_at_any_byte_is_found(void **state) {
  (void)state;
  char *folder = make_folder();
  write_shards(folder, 3, LENGTH, 3);
  ath_buffer whole = ath_buffer_make(1 << 20);
  const char *name = "dataset-0-3.tfrecord";
  assert_ok(ath_file_read(in_folder(folder, name), &whole));
  size_t between = 0;
  for (size_t length = 0; length < whole.length; length++) {
    assert_ok(ath_file_write(in_folder(folder, name), whole.bytes, length));
    ath_status status = open_and_verify(folder);
    const char *text = ath_error_text();
    assert_int_equal(status, ATH_CORRUPT);
    assert_non_null(strstr(text, name));
    if (strstr(text, "its name says 3") != NULL) between++;
    else assert_non_null(strstr(text, "truncated"));
  }
  assert_int_equal(between, 3); /* before each of the three records */
  assert_ok(ath_file_write(in_folder(folder, name), whole.bytes, whole.length));
  assert_ok(open_and_verify(folder));
  ath_buffer_free(&whole);
  remove_folder(folder);
}

static void a_flipped_bit_names_file_record_byte_and_check(void **state) {
  (void)state;
  char *folder = make_folder();
  write_shards(folder, 4, LENGTH, 2);
  const char *name = "dataset-1-2.tfrecord";
  ath_buffer whole = ath_buffer_make(1 << 20);
  assert_ok(ath_file_read(in_folder(folder, name), &whole));
  uint64_t first; /* data bytes of the shard's first record */
  memcpy(&first, whole.bytes, 8);
  size_t second = 16 + (size_t)first;
  const struct { size_t at; const char *check; } cases[] = {
    {second, "length checksum"}, {second + 9, "length checksum"},
    {second + 12 + 5, "data checksum"}, {whole.length - 1, "data checksum"}};
  char place[64];
  snprintf(place, sizeof place, "record 1 at byte %zu", second);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    whole.bytes[cases[c].at] ^= 4;
    assert_ok(ath_file_write(in_folder(folder, name), whole.bytes, whole.length));
    whole.bytes[cases[c].at] ^= 4;
    assert_fails(open_and_verify(folder), ATH_CORRUPT, cases[c].check);
    assert_non_null(strstr(ath_error_text(), name));
    assert_non_null(strstr(ath_error_text(), place));
  }
  ath_buffer_free(&whole);
  remove_folder(folder);
}

/* Case L3: a list shorter or longer than the others names the record. */
static void records_of_another_length_are_refused(void **state) {
  (void)state;
  for (int other = LENGTH - 1; other <= LENGTH + 1; other += 2) {
    char *folder = make_folder(), name[128];
    write_shards(folder, 3, LENGTH, 3);
    char *second = make_folder();
    write_shards(second, 1, other, 1);
    snprintf(name, sizeof name, "%s", in_folder(second, "dataset-0-1.tfrecord"));
    assert_int_equal(rename(name, in_folder(folder, "dataset-1-1.tfrecord")), 0);
    assert_fails(open_and_verify(folder), ATH_INVALID, "dataset-1-1.tfrecord: record 0 at byte 0");
    remove_folder(second);
    remove_folder(folder);
  }
}

static void a_folder_without_shards_is_refused(void **state) {
  (void)state;
  char *folder = make_folder();
  ath_dataset *data = NULL;
  assert_fails(ath_dataset_open(folder, &data), ATH_NOT_FOUND, "no *.tfrecord files");
  assert_fails(ath_dataset_open(in_folder(folder, "missing"), &data), ATH_NOT_FOUND, "missing");
  assert_ok(ath_file_write(in_folder(folder, "dataset-0-0.tfrecord"), "", 0));
  assert_fails(ath_dataset_open(folder, &data), ATH_INVALID, "no records");
  assert_ok(ath_file_write(in_folder(folder, "manifest.json"), "{\"format\": 3}", 13));
  assert_fails(ath_dataset_open(folder, &data), ATH_INVALID, "manifest.json");
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(shards_are_read_in_the_order_of_their_index),
    cmocka_unit_test(a_stale_or_damaged_index_is_rebuilt),
    cmocka_unit_test(a_folder_without_a_place_for_the_index_works),
    cmocka_unit_test(a_cut_at_any_byte_is_found),
    cmocka_unit_test(a_flipped_bit_names_file_record_byte_and_check),
    cmocka_unit_test(records_of_another_length_are_refused),
    cmocka_unit_test(a_folder_without_shards_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
