/* program_speed.c: how fast checksums are computed and samples read, on one thread, as lines of
 * JSON. Run by measure_speed.py beside TensorFlow.
 *
 *     program_speed FILE.tfrecord LENGTH      records of two lists of LENGTH values */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "athanor/tfrecord.h"
#include "base/crc32c.h"

enum { LENGTH_MAX = 4096, CRC_BYTES = 1 << 16 };
static const double least_seconds = 0.5;

/* Processor time, so that other work on the machine counts less. */
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef uint32_t (*crc_function)(uint32_t, const uint8_t *, size_t);

static void measure_crc(const char *name, crc_function crc, size_t size) {
  static uint8_t bytes[CRC_BYTES];
  static volatile uint32_t keep; /* so that the work is not left out */
  uint32_t state = crc(0, bytes, size);
  double begin = now(), seconds;
  uint64_t turns = 0;
  do {
    for (int i = 0; i < 100; i++) state = crc(state, bytes, size);
    turns += 100;
  } while ((seconds = now() - begin) < least_seconds);
  keep = state;
  (void)keep;
  printf("{\"crc\": \"%s\", \"bytes\": %zu, \"gb_per_s\": %.2f}\n", name, size,
         (double)turns * (double)size / seconds / 1e9);
}

static ath_status read_all(const char *path, size_t length, uint64_t *records) {
  static int32_t values[LENGTH_MAX];
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  size_t count;
  ath_status status;
  ATH_TRY(ath_tfrecord_open(path, &reader));
  while ((status = ath_tfrecord_next(reader, &record)) == ATH_OK && record.bytes != NULL) {
    status = ath_example_read_int64(record.bytes, record.length, "input_ids", values, length,
                                    &count);
    if (status == ATH_OK)
      status = ath_example_read_int64(record.bytes, record.length, "attention_mask", values,
                                      length, &count);
    if (status != ATH_OK) break;
    ++*records;
  }
  ath_tfrecord_close(reader);
  return status;
}

int main(int count, char **arguments) {
  if (count != 3) return (int)ATH_USAGE;
  static const size_t sizes[] = {8, 64, 512, CRC_BYTES};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    measure_crc("plain", ath_crc32c_plain, sizes[i]);
    measure_crc("tables", ath_crc32c_tables, sizes[i]);
    if (ath_crc32c_has_instruction())
      measure_crc("instruction", ath_crc32c_instruction, sizes[i]);
  }
  size_t length = strtoul(arguments[2], NULL, 10);
  if (length > LENGTH_MAX) return (int)ATH_USAGE;
  ath_status status = ATH_OK;
  uint64_t records = 0;
  double begin = now(), seconds;
  do status = read_all(arguments[1], length, &records);
  while ((seconds = now() - begin) < least_seconds && status == ATH_OK);
  if (status != ATH_OK) fprintf(stderr, "%s\n", ath_error_text());
  printf("{\"records_per_s\": %.0f}\n", (double)records / seconds);
  return (int)status;
}
