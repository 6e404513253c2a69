/* fuzz_records.c: any bytes as a record file: plain, gzip or zlib, as it looks; then the same bytes
 * with right checksums in the frames, so that what is behind them is reached. */
#include "fuzzing.h"

#include "athanor/tfrecord.h"

enum { RECORD_MAX = 1 << 20, HEAD = 12, TAIL = 4 };

static volatile uint32_t touched; /* by every byte that is given out */

static void read_file(const char *path, bool random_access) {
  const ath_tfrecord_options options = {.record_max = RECORD_MAX, .random_access = random_access};
  ath_tfrecord_reader *reader = NULL;
  ath_record record;
  uint64_t number = 0, at = 0;
  if (ath_tfrecord_open_with(path, &options, &reader) != ATH_OK) {
    MUST(reader == NULL && *ath_error_text() != '\0');
    return;
  }
  for (;;) {
    ath_status status = ath_tfrecord_next(reader, &record);
    MUST(record.number == number && record.at == at);
    if (status != ATH_OK) {
      MUST(*ath_error_text() != '\0');
      break;
    }
    if (record.bytes == NULL) break;
    MUST(record.length <= RECORD_MAX);
    touched = ath_crc32c(touched, record.bytes, record.length);
    number++;
    at += HEAD + record.length + TAIL;
  }
  ath_tfrecord_close(reader);
}

/* Lengths stay as they are, as far as they fit. */
static void repair(uint8_t *bytes, size_t size) {
  for (size_t at = 0; size - at >= HEAD + TAIL;) {
    uint64_t length;
    memcpy(&length, bytes + at, sizeof length);
    uint32_t crc = ath_crc32c_masked(bytes + at, sizeof length);
    memcpy(bytes + at + 8, &crc, sizeof crc);
    if (length > size - at - HEAD - TAIL) return;
    crc = ath_crc32c_masked(bytes + at + HEAD, length);
    memcpy(bytes + at + HEAD + length, &crc, sizeof crc);
    at += HEAD + length + TAIL;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  say_nothing();
  uint8_t *bytes = malloc(size + 1);
  MUST(bytes != NULL);
  memcpy(bytes, data, size);
  for (int repaired = 0; repaired < 2; repaired++) {
    if (repaired == 1) repair(bytes, size);
    int file = memfd_create("records", MFD_CLOEXEC);
    MUST(file >= 0 && write(file, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    read_file(path, false);
    read_file(path, true);
    close(file);
  }
  free(bytes);
  return 0;
}
