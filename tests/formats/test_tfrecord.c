/* test_tfrecord.c: record framing: golden bytes, every way a file can be damaged. */
#include "testing.h"

#include "athanor/tfrecord.h"
#include "base/buffer.h"
#include "base/random.h"
#include "formats/hex.h"
#include "storage/file.h"

static void write_records(const char *path, const char *const *records, size_t count) {
  ath_tfrecord_writer *writer = NULL;
  assert_ok(ath_tfrecord_create(path, &writer));
  for (size_t i = 0; i < count; i++)
    assert_ok(ath_tfrecord_write(writer, records[i], strlen(records[i])));
  assert_ok(ath_tfrecord_commit(writer));
}

/* Reads all records; gives how many came before the end or the first fault. */
static ath_status read_all(const char *path, uint64_t *count) {
  ath_tfrecord_reader *reader = NULL;
  *count = 0;
  ATH_TRY(ath_tfrecord_open(path, &reader));
  ath_record record;
  ath_status status;
  while ((status = ath_tfrecord_next(reader, &record)) == ATH_OK && record.bytes != NULL) ++*count;
  ath_tfrecord_close(reader);
  return status;
}

static void a_record_has_the_golden_bytes(void **state) {
  (void)state;
  static const struct { const char *data, *file; } cases[] = {
      {"", "0000000000000000 29039807 d8ea82a2"},
      {"61", "0100000000000000 0175de41 61 786ee428"},
      {"0a320a190a0e617474656e74696f6e5f6d61736b12071a050a03010101"
       "0a150a09696e7075745f69647312081a060a040001ac02",
       "3400000000000000 5e33175c"
       "0a320a190a0e617474656e74696f6e5f6d61736b12071a050a03010101"
       "0a150a09696e7075745f69647312081a060a040001ac02 f41c4025"},
  };
  char *folder = make_folder();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *path = in_folder(folder, "golden");
    uint8_t data[64];
    size_t length = from_hex(cases[i].data, data, sizeof data);
    ath_tfrecord_writer *writer = NULL;
    assert_ok(ath_tfrecord_create(path, &writer));
    assert_ok(ath_tfrecord_write(writer, data, length));
    assert_int_equal(ath_tfrecord_size(writer), length + 16);
    uint32_t crc = ath_tfrecord_crc(writer);
    assert_ok(ath_tfrecord_commit(writer));
    ath_buffer file = ath_buffer_make(1024);
    assert_ok(ath_file_read(path, &file));
    assert_hex(file.bytes, file.length, cases[i].file);
    assert_int_equal(crc, ath_crc32c(0, file.bytes, file.length));
    ath_buffer_free(&file);
  }
  remove_folder(folder);
}

static void records_come_back_with_number_and_place(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "three");
  write_records(path, (const char *[]){"first", "", "the third"}, 3);
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  assert_ok(ath_tfrecord_open(path, &reader));
  static const struct { const char *data; uint64_t at; } expected[] = {
      {"first", 0}, {"", 21}, {"the third", 37}};
  for (uint64_t i = 0; i < 3; i++) {
    assert_ok(ath_tfrecord_next(reader, &record));
    assert_int_equal(record.length, strlen(expected[i].data));
    assert_memory_equal(record.bytes, expected[i].data, record.length);
    assert_int_equal(record.number, i);
    assert_int_equal(record.at, expected[i].at);
  }
  for (int again = 0; again < 2; again++) {
    assert_ok(ath_tfrecord_next(reader, &record));
    assert_null(record.bytes);
  }
  assert_ok(ath_tfrecord_seek(reader, 37, 2));
  assert_ok(ath_tfrecord_next(reader, &record));
  assert_int_equal(record.number, 2);
  assert_memory_equal(record.bytes, "the third", 9);
  assert_fails(ath_tfrecord_seek(reader, 1000, 3), ATH_INVALID, "byte 1000 of a file of 62");
  ath_tfrecord_close(reader);
  remove_folder(folder);
}

static void a_flipped_bit_is_found_and_located(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "flipped");
  write_records(path, (const char *[]){"first", "second one"}, 2);
  ath_buffer file = ath_buffer_make(1024);
  assert_ok(ath_file_read(path, &file));
  assert_int_equal(file.length, 21 + 26);
  for (size_t bit = 0; bit < 8 * file.length; bit++) {
    size_t byte = bit / 8, in_frame = byte < 21 ? byte : byte - 21;
    file.bytes[byte] = (char)(file.bytes[byte] ^ (1 << bit % 8));
    assert_ok(ath_file_write(path, file.bytes, file.length));
    file.bytes[byte] = (char)(file.bytes[byte] ^ (1 << bit % 8));
    uint64_t count;
    assert_fails(read_all(path, &count), ATH_CORRUPT,
                 in_frame < 12 ? "length checksum does not match" : "data checksum does not match");
    assert_int_equal(count, byte < 21 ? 0 : 1);
    assert_non_null(strstr(ath_error_text(), path));
    assert_non_null(strstr(ath_error_text(),
                           byte < 21 ? "record 0 at byte 0" : "record 1 at byte 21"));
  }
  ath_buffer_free(&file);
  remove_folder(folder);
}

/* An index needs only lengths: damage to the data is left for the reader to find. */
static void skipping_looks_at_lengths_alone(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "a");
  const char *const records[] = {"first", "second"};
  write_records(path, records, 2);
  ath_buffer file = ath_buffer_make(1024);
  assert_ok(ath_file_read(path, &file));
  file.bytes[12] ^= 1; /* the first record's data */
  assert_ok(ath_file_write(path, file.bytes, file.length));
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  assert_ok(ath_tfrecord_open(path, &reader));
  assert_fails(ath_tfrecord_next(reader, &record), ATH_CORRUPT, "data checksum");
  assert_ok(ath_tfrecord_skip(reader, &record));
  assert_int_equal(record.length, 5);
  assert_ok(ath_tfrecord_skip(reader, &record));
  assert_int_equal(record.at, 16 + 5);
  assert_ok(ath_tfrecord_skip(reader, &record));
  assert_null(record.bytes);
  ath_tfrecord_close(reader);
  file.bytes[0] ^= 1; /* its length */
  assert_ok(ath_file_write(path, file.bytes, file.length));
  assert_ok(ath_tfrecord_open(path, &reader));
  assert_fails(ath_tfrecord_skip(reader, &record), ATH_CORRUPT, "length checksum");
  ath_tfrecord_close(reader);
  ath_buffer_free(&file);
  remove_folder(folder);
}

static void a_cut_inside_a_record_is_truncated(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "cut");
  write_records(path, (const char *[]){"first", "second one"}, 2);
  ath_buffer file = ath_buffer_make(1024);
  assert_ok(ath_file_read(path, &file));
  for (size_t size = 0; size <= file.length; size++) {
    assert_ok(ath_file_write(path, file.bytes, size));
    uint64_t count;
    if (size == 0 || size == 21 || size == file.length) {
      assert_ok(read_all(path, &count));
      assert_int_equal(count, size == 0 ? 0 : size == 21 ? 1 : 2);
    } else {
      assert_fails(read_all(path, &count), ATH_CORRUPT, "truncated");
    }
  }
  ath_buffer_free(&file);
  remove_folder(folder);
}

/* A length near 2^64 with a right checksum must not wrap around. */
static void an_enormous_length_is_truncated(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "huge");
  static const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - 15, UINT64_MAX - 16, 5, 1};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    uint8_t file[16] = {0};
    memcpy(file, &lengths[i], 8);
    uint32_t crc = ath_crc32c_masked(file, 8);
    memcpy(file + 8, &crc, 4);
    assert_ok(ath_file_write(path, file, sizeof file));
    uint64_t count;
    assert_fails(read_all(path, &count), ATH_CORRUPT, "truncated");
  }
  remove_folder(folder);
}

static void a_missing_file_and_a_folder_are_refused(void **state) {
  (void)state;
  char *folder = make_folder();
  uint64_t count;
  assert_fails(read_all(in_folder(folder, "none"), &count), ATH_NOT_FOUND, "none");
  assert_fails(read_all(folder, &count), ATH_INVALID, "not a regular file");
  ath_tfrecord_writer *writer = NULL;
  assert_fails(ath_tfrecord_create(in_folder(folder, "no/such"), &writer), ATH_NOT_FOUND, "such");
  remove_folder(folder);
}

static void only_a_committed_file_is_seen(void **state) {
  (void)state;
  char *folder = make_folder();
  char **names;
  size_t count;
  ath_tfrecord_writer *writer = NULL;
  assert_ok(ath_tfrecord_create(in_folder(folder, "shard"), &writer));
  assert_ok(ath_tfrecord_write(writer, "x", 1));
  assert_false(ath_path_exists(in_folder(folder, "shard")));
  ath_tfrecord_abandon(writer);
  assert_ok(ath_folder_list(folder, &names, &count));
  assert_int_equal(count, 0);
  ath_folder_list_free(names, count);

  assert_ok(ath_tfrecord_create(in_folder(folder, "shard"), &writer));
  assert_ok(ath_tfrecord_write(writer, "x", 1));
  assert_ok(ath_tfrecord_commit_as(writer, in_folder(folder, "shard-1")));
  assert_ok(ath_folder_list(folder, &names, &count));
  assert_int_equal(count, 1);
  assert_string_equal(names[0], "shard-1");
  ath_folder_list_free(names, count);
  remove_folder(folder);
}

static void a_final_name_that_is_too_long_is_refused(void **state) {
  (void)state;
  char *folder = make_folder();
  char *name = malloc(ATH_PATH_MAX + 1);
  memset(name, 'n', ATH_PATH_MAX);
  name[ATH_PATH_MAX] = '\0';
  ath_tfrecord_writer *writer = NULL;
  assert_ok(ath_tfrecord_create(in_folder(folder, "shard"), &writer));
  assert_fails(ath_tfrecord_commit_as(writer, name), ATH_INVALID, "too long");
  char **names;
  size_t count;
  assert_ok(ath_folder_list(folder, &names, &count));
  assert_int_equal(count, 0);
  ath_folder_list_free(names, count);
  free(name);
  remove_folder(folder);
}

/* Random damage: a record is never given out unless it is one of those written. */
static void random_damage_is_never_believed(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "damaged");
  write_records(path, (const char *[]){"alpha", "", "gamma gamma", "d"}, 4);
  ath_buffer file = ath_buffer_make(1024);
  assert_ok(ath_file_read(path, &file));
  for (uint64_t turn = 0; turn < 3000; turn++) {
    char damaged[128];
    uint32_t r[4];
    memcpy(damaged, file.bytes, file.length);
    ath_random(3, ATH_RANDOM_SHUFFLE, 0, turn, 0, r);
    for (uint32_t k = 0; k <= r[0] % 3; k++) {
      uint32_t q[4];
      ath_random(3, ATH_RANDOM_SHUFFLE, 0, turn, 1 + k, q);
      damaged[q[0] % file.length] ^= (char)(1 + q[1] % 255);
    }
    size_t size = r[1] % 4 == 0 ? r[2] % file.length : file.length;
    assert_ok(ath_file_write(path, damaged, size));
    uint64_t count;
    ath_status status = read_all(path, &count);
    assert_true(count < 4 || memcmp(damaged, file.bytes, file.length) == 0);
    assert_true(status == ATH_OK || status == ATH_CORRUPT);
  }
  ath_buffer_free(&file);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_record_has_the_golden_bytes),
      cmocka_unit_test(records_come_back_with_number_and_place),
      cmocka_unit_test(a_flipped_bit_is_found_and_located),
      cmocka_unit_test(skipping_looks_at_lengths_alone),
      cmocka_unit_test(a_cut_inside_a_record_is_truncated),
      cmocka_unit_test(an_enormous_length_is_truncated),
      cmocka_unit_test(a_missing_file_and_a_folder_are_refused),
      cmocka_unit_test(only_a_committed_file_is_seen),
      cmocka_unit_test(a_final_name_that_is_too_long_is_refused),
      cmocka_unit_test(random_damage_is_never_believed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
