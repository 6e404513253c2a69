/* journal.c: a file that grows by one entry at a time. */
#include "data/journal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "athanor/tfrecord.h"
#include "base/buffer.h"
#include "base/log.h"
#include "storage/file.h"
#include "storage/lines.h"

enum { CHECKSUM_DIGITS = 8, ENTRY_MAX = 16 << 20 };

static ath_status format_entry(const char *path, const json_t *entry, ath_buffer *line) {
  char *text = json_dumps(entry, JSON_COMPACT | JSON_REAL_PRECISION(17));
  if (text == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to write it", path);
  ath_status status = ath_buffer_format(line, "%08x %s\n", ath_crc32c(0, text, strlen(text)), text);
  free(text);
  return status;
}

typedef ath_status write_function(const char *path, const void *bytes, size_t count);

static ath_status write_entry(const char *path, const json_t *entry, write_function *write) {
  ath_buffer line = ath_buffer_make(ENTRY_MAX);
  ath_status status = format_entry(path, entry, &line);
  if (status == ATH_OK) status = write(path, line.bytes, line.length);
  ath_buffer_free(&line);
  return status;
}

ath_status ath_journal_create(const char *path, const json_t *first) {
  return write_entry(path, first, ath_file_write);
}

ath_status ath_journal_add(const char *path, const json_t *entry) {
  return write_entry(path, entry, ath_file_append);
}

/* NULL for a line that is not as it was written. */
static json_t *parse_entry(const ath_line *line) {
  char digits[CHECKSUM_DIGITS + 1] = "";
  bool ended = line->next > line->at + line->length;
  if (!ended || line->length < CHECKSUM_DIGITS + 1 || line->bytes[CHECKSUM_DIGITS] != ' ')
    return NULL;
  const char *text = line->bytes + CHECKSUM_DIGITS + 1;
  size_t length = line->length - (CHECKSUM_DIGITS + 1);
  snprintf(digits, sizeof digits, "%08x", ath_crc32c(0, text, length));
  if (memcmp(line->bytes, digits, CHECKSUM_DIGITS) != 0) return NULL;
  json_error_t error;
  return json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
}

/* Adds the good entries to the array; *bytes is where they end in the file. */
static ath_status read_entries(ath_lines *lines, json_t *entries, uint64_t *bytes) {
  for (ath_line line;;) {
    ath_status status = ath_lines_next(lines, &line);
    if (status == ATH_INVALID) return ATH_OK; /* not even text */
    ATH_TRY(status);
    json_t *entry = line.bytes != NULL ? parse_entry(&line) : NULL;
    if (entry == NULL) return ATH_OK;
    if (json_array_append_new(entries, entry) != 0)
      return ath_fail(ATH_NO_MEMORY, "no memory for the journal");
    *bytes = line.next;
  }
}

static ath_status cut(const char *path, const json_t *entries, uint64_t bytes) {
  uint64_t size;
  ATH_TRY(ath_file_size(path, &size));
  assert(bytes <= size);
  if (bytes == size && size > 0) return ATH_OK;
  if (json_array_size(entries) == 0)
    return ath_fail(ATH_CORRUPT, "%s: line 1 is damaged: its checksum does not match", path);
  ath_log(ATH_LOG_WARNING, "%s: line %zu was cut or is damaged; what it and later lines tell of is "
          "done again", path, json_array_size(entries) + 1);
  if (truncate(path, (off_t)bytes) != 0) return ath_fail_errno(errno, "%s: cannot cut", path);
  return ATH_OK;
}

ath_status ath_journal_recover(const char *path, json_t **entries) {
  ath_lines *lines = NULL;
  uint64_t bytes = 0;
  json_t *array = json_array();
  if (array == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to read it", path);
  ath_status status = ath_lines_open(path, &lines);
  if (status == ATH_OK) status = read_entries(lines, array, &bytes);
  if (status == ATH_OK) status = cut(path, array, bytes);
  ath_lines_close(lines);
  if (status == ATH_OK) *entries = array;
  else json_decref(array);
  return status;
}
