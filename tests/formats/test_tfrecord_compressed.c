/* test_tfrecord_compressed.c: gzip and zlib record files, and the limit on records. */
#include "testing.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "athanor/tfrecord.h"
#include "base/buffer.h"
#include "base/random.h"
#include "formats/hex.h"
#include "storage/file.h"

enum { RECORDS = 300, LONGEST = 700 };

/* Record i: i % LONGEST bytes that compress a little. */
static size_t fill(uint64_t i, uint8_t bytes[LONGEST]) {
  for (uint32_t k = 0; k < i * 7 % LONGEST; k++) {
    uint32_t r[4];
    ath_random(9, ATH_RANDOM_SHUFFLE, 0, i, k, r);
    bytes[k] = (uint8_t)(r[0] % 16);
  }
  return (size_t)(i * 7 % LONGEST);
}

static ath_tfrecord_options options_of(ath_compression compression) {
  return (ath_tfrecord_options){.compression = compression};
}

static void write_file(const char *path, ath_compression compression, uint64_t count) {
  ath_tfrecord_options options = options_of(compression);
  ath_tfrecord_writer *writer = NULL;
  uint8_t bytes[LONGEST];
  assert_ok(ath_tfrecord_create_with(path, &options, &writer));
  for (uint64_t i = 0; i < count; i++)
    assert_ok(ath_tfrecord_write(writer, bytes, fill(i, bytes)));
  assert_ok(ath_tfrecord_end(writer));
  uint64_t size = ath_tfrecord_file_size(writer);
  uint32_t crc = ath_tfrecord_crc(writer);
  assert_ok(ath_tfrecord_commit(writer));
  ath_buffer file = ath_buffer_make(1 << 24);
  assert_ok(ath_file_read(path, &file));
  assert_int_equal(file.length, size);
  assert_int_equal(ath_crc32c(0, file.bytes, file.length), crc);
  ath_buffer_free(&file);
}

/* Reads all; what is given out must be what was written. */
static ath_status read_file(const char *path, uint64_t *count) {
  ath_tfrecord_reader *reader = NULL;
  *count = 0;
  ATH_TRY(ath_tfrecord_open(path, &reader));
  ath_record record;
  ath_status status;
  while ((status = ath_tfrecord_next(reader, &record)) == ATH_OK && record.bytes != NULL) {
    uint8_t bytes[LONGEST];
    size_t length = fill(*count, bytes);
    assert_int_equal(record.number, *count);
    assert_int_equal(record.length, length);
    if (length > 0) assert_memory_equal(record.bytes, bytes, length);
    ++*count;
  }
  ath_tfrecord_close(reader);
  return status;
}

static const ath_compression kinds[] = {ATH_COMPRESSION_GZIP, ATH_COMPRESSION_ZLIB};

static void what_was_compressed_is_read(void **state) {
  (void)state;
  char *folder = make_folder();
  for (int k = 0; k < 2; k++) {
    const char *path = in_folder(folder, "a");
    uint64_t count;
    write_file(path, kinds[k], RECORDS);
    assert_ok(read_file(path, &count));
    assert_int_equal(count, RECORDS);
    write_file(path, kinds[k], 0);
    assert_ok(read_file(path, &count));
    assert_int_equal(count, 0);
    ath_tfrecord_reader *reader = NULL;
    assert_ok(ath_tfrecord_open(path, &reader));
    assert_int_equal(ath_tfrecord_compression(reader), kinds[k]);
    ath_tfrecord_close(reader);
  }
  remove_folder(folder);
}

/* zlib itself finds in our file the frames of a plain one. */
static void a_compressed_file_is_the_plain_one_compressed(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *plain = in_folder(folder, "plain"), *packed = in_folder(folder, "packed.gz");
  write_file(plain, ATH_COMPRESSION_NONE, RECORDS);
  write_file(packed, ATH_COMPRESSION_GZIP, RECORDS);
  ath_buffer wanted = ath_buffer_make(1 << 24);
  assert_ok(ath_file_read(plain, &wanted));
  char *found = malloc(wanted.length + 1);
  gzFile file = gzopen(packed, "rb");
  assert_int_equal(gzread(file, found, (unsigned)wanted.length + 1), wanted.length);
  assert_int_equal(gzclose(file), Z_OK);
  assert_memory_equal(found, wanted.bytes, wanted.length);
  free(found);
  ath_buffer_free(&wanted);
  remove_folder(folder);
}

static void every_cut_is_truncated(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "cut");
  for (int k = 0; k < 2; k++) {
    ath_buffer file = ath_buffer_make(1 << 20);
    write_file(path, kinds[k], 4);
    assert_ok(ath_file_read(path, &file));
    for (size_t size = 1; size < file.length; size++) {
      uint64_t count;
      assert_ok(ath_file_write(path, file.bytes, size));
      assert_fails(read_file(path, &count), ATH_CORRUPT, "truncated");
      assert_non_null(strstr(ath_error_text(), path));
    }
    ath_buffer_free(&file);
  }
  remove_folder(folder);
}

/* Of gzip's header the time, the system and the hint of the level mean nothing, nor do the bits
 * that fill up a stream's last byte; no flip gives out a wrong record, or fewer of them. */
static void no_flipped_bit_gives_a_wrong_record(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "flipped");
  for (int k = 0; k < 2; k++) {
    ath_buffer file = ath_buffer_make(1 << 20);
    size_t harmless = 0;
    write_file(path, kinds[k], 4);
    assert_ok(ath_file_read(path, &file));
    for (size_t bit = 0; bit < 8 * file.length; bit++) {
      uint64_t count;
      file.bytes[bit / 8] ^= (char)(1 << bit % 8);
      assert_ok(ath_file_write(path, file.bytes, file.length));
      file.bytes[bit / 8] ^= (char)(1 << bit % 8);
      ath_status status = read_file(path, &count);
      assert_true(status == ATH_CORRUPT || (status == ATH_OK && count == 4));
      harmless += status == ATH_OK;
    }
    assert_true(harmless <= (kinds[k] == ATH_COMPRESSION_GZIP ? 8 * 7 : 7));
    ath_buffer_free(&file);
  }
  remove_folder(folder);
}

static void gzip_members_follow_one_another_and_nothing_else(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "members");
  /* The two halves of one record's frame, compressed by zlib as a file each. */
  uint8_t frame[32];
  size_t size = from_hex("0100000000000000 0175de41 61 786ee428", frame, sizeof frame);
  for (size_t part = 0; part < 2; part++) {
    gzFile file = gzopen(path, part == 0 ? "wb" : "ab");
    assert_int_equal(gzwrite(file, frame + 9 * part, part == 0 ? 9 : (unsigned)size - 9),
                     part == 0 ? 9 : size - 9);
    assert_int_equal(gzclose(file), Z_OK);
  }
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  assert_ok(ath_tfrecord_open(path, &reader));
  assert_ok(ath_tfrecord_next(reader, &record));
  assert_int_equal(record.length, 1);
  assert_int_equal(record.bytes[0], 'a');
  assert_ok(ath_tfrecord_next(reader, &record));
  assert_null(record.bytes);
  ath_tfrecord_close(reader);
  assert_ok(ath_file_append(path, "more", 4));
  assert_ok(ath_tfrecord_open(path, &reader));
  assert_fails(ath_tfrecord_next(reader, &record), ATH_CORRUPT, "stands behind the end");
  ath_tfrecord_close(reader);
  remove_folder(folder);
}

static void records_are_found_again_in_any_order(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "a");
  uint64_t places[RECORDS];
  write_file(path, ATH_COMPRESSION_GZIP, RECORDS);
  for (int random = 0; random < 2; random++) {
    ath_tfrecord_options options = {.random_access = random == 1};
    ath_tfrecord_reader *reader = NULL;
    ath_record record;
    assert_ok(ath_tfrecord_open_with(path, &options, &reader));
    for (int i = 0; random == 0 && i < RECORDS; i++) {
      assert_ok(ath_tfrecord_skip(reader, &record));
      places[i] = record.at;
    }
    if (random == 0)
      assert_fails(ath_tfrecord_seek(reader, 0, 0), ATH_INVALID, "cannot go back");
    for (uint64_t i = RECORDS; random == 1 && i-- > 0;) {
      uint8_t bytes[LONGEST];
      assert_ok(ath_tfrecord_seek(reader, places[i], i));
      assert_ok(ath_tfrecord_next(reader, &record));
      assert_int_equal(record.length, fill(i, bytes));
      if (record.length > 0) assert_memory_equal(record.bytes, bytes, record.length);
    }
    ath_tfrecord_close(reader);
  }
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  assert_ok(ath_tfrecord_open(path, &reader));
  assert_ok(ath_tfrecord_seek(reader, places[200], 200)); /* forwards it is a matter of time */
  assert_ok(ath_tfrecord_next(reader, &record));
  assert_int_equal(record.length, 200 * 7 % LONGEST);
  assert_fails(ath_tfrecord_seek(reader, 1 << 30, 1000), ATH_INVALID, "cannot be at byte");
  ath_tfrecord_close(reader);
  remove_folder(folder);
}

static void a_record_over_the_limit_is_refused(void **state) {
  (void)state;
  char *folder = make_folder();
  for (int k = 0; k < 3; k++) {
    const char *path = in_folder(folder, "limit");
    ath_tfrecord_options options = {.compression = (ath_compression)(ATH_COMPRESSION_NONE + k),
                                    .record_max = 100};
    ath_tfrecord_writer *writer = NULL;
    uint8_t bytes[101] = {0};
    assert_ok(ath_tfrecord_create_with(path, &options, &writer));
    assert_ok(ath_tfrecord_write(writer, bytes, 100));
    assert_fails(ath_tfrecord_write(writer, bytes, 101), ATH_INVALID, "over the limit of 100");
    assert_ok(ath_tfrecord_commit(writer));
    ath_tfrecord_reader *reader = NULL;
    ath_record record;
    options = (ath_tfrecord_options){.record_max = 99};
    assert_ok(ath_tfrecord_open_with(path, &options, &reader));
    assert_fails(ath_tfrecord_next(reader, &record), ATH_INVALID,
                 "100 bytes long, over the limit of 99");
    ath_tfrecord_close(reader);
    assert_ok(ath_tfrecord_open(path, &reader));
    assert_ok(ath_tfrecord_next(reader, &record));
    assert_int_equal(record.length, 100);
    ath_tfrecord_close(reader);
  }
  remove_folder(folder);
}

/* A file of holes: the longest record there may be, and one byte more. */
static void records_of_two_gigabytes_are_read(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "sparse");
  for (uint64_t more = 0; more < 2; more++) {
    uint64_t length = ATH_RECORD_MAX + more;
    uint8_t head[12];
    memcpy(head, &length, 8);
    uint32_t crc = ath_crc32c_masked(head, 8);
    memcpy(head + 8, &crc, 4);
    assert_ok(ath_file_write(path, head, sizeof head));
    assert_int_equal(truncate(path, (off_t)(length + 16)), 0);
    ath_tfrecord_reader *reader = NULL;
    ath_record record;
    assert_ok(ath_tfrecord_open(path, &reader));
    if (more == 0) {
      assert_ok(ath_tfrecord_skip(reader, &record));
      assert_int_equal(record.length, INT32_MAX);
    } else {
      assert_fails(ath_tfrecord_skip(reader, &record), ATH_INVALID,
                   "2147483648 bytes long, over the limit of 2147483647");
    }
    ath_tfrecord_close(reader);
  }
  remove_folder(folder);
}

static void reading_goes_on_behind_damaged_data(void **state) {
  (void)state;
  char *folder = make_folder();
  const char *path = in_folder(folder, "damaged");
  write_file(path, ATH_COMPRESSION_NONE, 5);
  ath_buffer file = ath_buffer_make(1 << 20);
  assert_ok(ath_file_read(path, &file));
  file.bytes[16 + 12 + 3] ^= 1; /* in record 1, which has 7 bytes */
  assert_ok(ath_file_write(path, file.bytes, file.length));
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  assert_ok(ath_tfrecord_open(path, &reader));
  assert_ok(ath_tfrecord_next(reader, &record));
  assert_false(ath_tfrecord_pass(reader));
  assert_fails(ath_tfrecord_next(reader, &record), ATH_CORRUPT, "record 1 at byte 16: data");
  assert_true(ath_tfrecord_pass(reader));
  assert_ok(ath_tfrecord_next(reader, &record));
  assert_int_equal(record.number, 2);
  assert_int_equal(record.length, 14);
  ath_tfrecord_close(reader);
  ath_buffer_free(&file);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_compressed_is_read),
      cmocka_unit_test(a_compressed_file_is_the_plain_one_compressed),
      cmocka_unit_test(every_cut_is_truncated),
      cmocka_unit_test(no_flipped_bit_gives_a_wrong_record),
      cmocka_unit_test(gzip_members_follow_one_another_and_nothing_else),
      cmocka_unit_test(records_are_found_again_in_any_order),
      cmocka_unit_test(a_record_over_the_limit_is_refused),
      cmocka_unit_test(records_of_two_gigabytes_are_read),
      cmocka_unit_test(reading_goes_on_behind_damaged_data),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
