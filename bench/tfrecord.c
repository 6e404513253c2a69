/* tfrecord.c: how fast one thread writes and reads record files; run by compare_tfrecord.py beside
 * other libraries, on the same ids.
 *
 *     bench_tfrecord write IDS FILE LENGTH     IDS: 32-bit numbers, LENGTH to a record
 *     bench_tfrecord parse FILE LENGTH         every checksum verified, both lists into arrays
 *     bench_tfrecord raw-write FILE BYTES MB   records of BYTES bytes, MB megabytes of them
 *     bench_tfrecord raw-read FILE             every checksum verified
 *
 * Prints one JSON object: records, bytes, seconds by the clock and of the processor. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "athanor/tfrecord.h"
#include "base/buffer.h"
#include "storage/file.h"

enum { LENGTH_MAX = 1 << 16, RAW_MAX = 1 << 26 };

typedef struct result {
  uint64_t records, bytes;
  double clock, processor; /* when the work began */
} result;

static double seconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void begin(result *r) {
  r->clock = seconds(CLOCK_MONOTONIC);
  r->processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
}

/* A row of a prepared dataset, as data/shard.c writes it. The ids are in memory before the clock
 * runs, as they are for the others. */
static ath_status write_all(const char *ids_path, const char *path, size_t length, result *r) {
  static int32_t ones[LENGTH_MAX];
  ath_buffer ids = ath_buffer_make((size_t)1 << 34), example = ath_buffer_make(1 << 20);
  ath_tfrecord_writer *writer = NULL;
  for (size_t i = 0; i < length; i++) ones[i] = 1;
  ATH_TRY(ath_file_read(ids_path, &ids));
  begin(r);
  ATH_TRY(ath_tfrecord_create(path, &writer));
  size_t row = length * sizeof(int32_t);
  for (size_t at = 0; at + row <= ids.length; at += row, r->records++) {
    const ath_int64_feature features[] = {
      {"attention_mask", ones, length},
      {"input_ids", (const int32_t *)(const void *)(ids.bytes + at), length}};
    ath_buffer_clear(&example);
    ATH_TRY(ath_example_write(features, 2, &example));
    ATH_TRY(ath_tfrecord_write(writer, example.bytes, example.length));
  }
  r->bytes = ath_tfrecord_size(writer);
  ath_buffer_free(&example);
  ath_buffer_free(&ids);
  return ath_tfrecord_commit(writer);
}

static ath_status read_all(const char *path, size_t length, result *r) {
  static int32_t ids[LENGTH_MAX], mask[LENGTH_MAX];
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  ath_status status;
  ath_int64_list lists[] = {{.name = "input_ids", .values = ids, .capacity = length},
                            {.name = "attention_mask", .values = mask, .capacity = length}};
  ATH_TRY(ath_tfrecord_open(path, &reader));
  while ((status = ath_tfrecord_next(reader, &record)) == ATH_OK && record.bytes != NULL) {
    if (length > 0)
      ATH_TRY_GOTO(ath_example_read_lists(record.bytes, record.length, lists, 2), done);
    r->records++;
    r->bytes += record.length + 16;
  }
done:
  ath_tfrecord_close(reader);
  return status;
}

static ath_status write_raw(const char *path, size_t size, uint64_t megabytes, result *r) {
  static uint8_t bytes[RAW_MAX];
  ath_tfrecord_writer *writer = NULL;
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 13);
  ATH_TRY(ath_tfrecord_create(path, &writer));
  for (; r->bytes < megabytes * 1000000; r->records++, r->bytes += size + 16)
    ATH_TRY(ath_tfrecord_write(writer, bytes, size));
  return ath_tfrecord_commit(writer);
}

static ath_status run(int count, char **words, result *r) {
  const char *what = count > 1 ? words[1] : "";
  size_t numbers[2] = {0};
  for (int i = 0; i < 2 && i + 3 < count; i++) numbers[i] = strtoul(words[i + 3], NULL, 10);
  if (numbers[0] > RAW_MAX) return ath_fail(ATH_USAGE, "too long");
  if (count == 5 && strcmp(what, "write") == 0 && numbers[1] <= LENGTH_MAX)
    return write_all(words[2], words[3], numbers[1], r);
  if (count == 4 && strcmp(what, "parse") == 0 && numbers[0] <= LENGTH_MAX)
    return read_all(words[2], numbers[0], r);
  if (count == 5 && strcmp(what, "raw-write") == 0)
    return write_raw(words[2], numbers[0], numbers[1], r);
  if (count == 3 && strcmp(what, "raw-read") == 0) return read_all(words[2], 0, r);
  return ath_fail(ATH_USAGE, "see the top of bench/tfrecord.c");
}

int main(int count, char **words) {
  result r = {0};
  begin(&r);
  ath_status status = run(count, words, &r);
  if (status != ATH_OK) fprintf(stderr, "%s\n", ath_error_text());
  printf("{\"records\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"seconds\": %.6f, "
         "\"processor\": %.6f}\n", r.records, r.bytes, seconds(CLOCK_MONOTONIC) - r.clock,
         seconds(CLOCK_PROCESS_CPUTIME_ID) - r.processor);
  return (int)status;
}
