/* text_blocks.c: reading is the part of counting that one thread does for all: finding the lines,
 * and seeing that they are UTF-8. */
#include "tokenizers/trainers/text_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/resize.h"
#include "storage/file.h"

enum {
  BLOCK_BYTES = 1 << 20,
  BLOCK_LINES = 1 << 15,
  LOGGED_LINES_MAX = 10, /* skipped lines that are named one by one */
};

void ath_text_block_free(ath_text_block *self) {
  ath_buffer_free(&self->bytes);
  free(self->lines);
  *self = (ath_text_block){0};
}

/* Sizes are for the progress bar only: a pipe has none. */
static uint64_t total_size(const char *const *paths, size_t path_count) {
  uint64_t total = 0, size;
  for (size_t i = 0; i < path_count; i++)
    if (ath_file_size(paths[i], &size) == ATH_OK) total += size;
  return total;
}

ath_text_source ath_text_source_make(const char *const *paths, size_t path_count,
                                     ath_training_report *report) {
  return (ath_text_source){.paths = paths, .path_count = path_count, .report = report,
                           .bytes_total = total_size(paths, path_count)};
}

void ath_text_source_free(ath_text_source *self) {
  ath_lines_close(self->lines);
  self->lines = NULL;
}

static void skip(ath_text_source *self, const ath_line *line) {
  uint64_t skipped = ++self->report->lines_skipped;
  if (skipped <= LOGGED_LINES_MAX)
    ath_log(ATH_LOG_WARNING, "%s: line %llu is skipped: it holds a NUL character",
            self->paths[self->path], (unsigned long long)line->number);
  if (skipped == LOGGED_LINES_MAX)
    ath_log(ATH_LOG_WARNING, "further lines with NUL characters are skipped without a message");
}

static ath_status add_line(ath_text_block *self, const ath_line *line) {
  if (self->count == self->capacity) {
    size_t capacity = self->capacity * 2 + 64;
    if (!ath_resize(&self->lines, capacity * sizeof *self->lines))
      return ath_fail(ATH_NO_MEMORY, "no memory for %zu lines", capacity);
    self->capacity = capacity;
  }
  self->lines[self->count++] =
      (ath_block_line){self->bytes.length, line->length, line->number};
  return ath_buffer_append(&self->bytes, line->bytes, line->length);
}

/* Adds lines of the file that is open until the block is full; closes it at its end. */
static ath_status fill(ath_text_source *self, ath_text_block *block) {
  ath_training_report *report = self->report;
  while (block->bytes.length < BLOCK_BYTES && block->count < BLOCK_LINES) {
    ath_line line;
    ATH_TRY(ath_lines_next(self->lines, &line));
    if (line.bytes == NULL) {
      ath_text_source_free(self);
      self->path++;
      return ATH_OK;
    }
    report->lines++;
    report->bytes = self->bytes_before + line.next;
    if (memchr(line.bytes, '\0', line.length) != NULL) skip(self, &line);
    else ATH_TRY(add_line(block, &line));
  }
  return ATH_OK;
}

ath_status ath_text_source_next(ath_text_source *self, ath_text_block *block) {
  if (block->bytes.maximum == 0) block->bytes = ath_buffer_make(BLOCK_BYTES + (size_t)ATH_LINE_MAX);
  ath_buffer_clear(&block->bytes);
  block->count = 0;
  while (block->count == 0 && self->path < self->path_count) {
    if (self->lines == NULL) {
      ATH_TRY(ath_lines_open(self->paths[self->path], &self->lines));
      self->bytes_before = self->report->bytes;
    }
    block->path = self->paths[self->path];
    ATH_TRY(fill(self, block));
  }
  block->serial = self->blocks++;
  return ATH_OK;
}
