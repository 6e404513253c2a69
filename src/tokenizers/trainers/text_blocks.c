/* text_blocks.c: reading is the part of counting that one thread does for all: finding the
 * documents, and seeing that they are UTF-8. */
#include "tokenizers/trainers/text_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/resize.h"
#include "storage/lines.h"

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

ath_status ath_text_source_open(const char *const *paths, size_t path_count,
                                const ath_reading *reading, ath_training_report *report,
                                ath_text_source *out) {
  *out = (ath_text_source){.paths = paths, .report = report};
  ATH_TRY(ath_documents_check(paths, path_count, reading, &out->total));
  return ath_documents_open(paths, path_count, reading, NULL, &out->documents);
}

void ath_text_source_free(ath_text_source *self) {
  ath_documents_close(self->documents);
  self->documents = NULL;
}

static void skip(ath_text_source *self, const ath_document *document) {
  uint64_t skipped = ++self->nul_lines;
  if (skipped <= LOGGED_LINES_MAX)
    ath_log(ATH_LOG_WARNING, "%s: %s %llu is skipped: it holds a NUL character",
            self->paths[document->place.input], document->unit,
            (unsigned long long)document->place.line);
  if (skipped == LOGGED_LINES_MAX)
    ath_log(ATH_LOG_WARNING, "further lines with NUL characters are skipped without a message");
}

static ath_status add(ath_text_block *self, const ath_document *document, const char *path) {
  if (self->count == self->capacity) {
    size_t capacity = self->capacity * 2 + 64;
    if (!ath_resize(&self->lines, capacity * sizeof *self->lines))
      return ath_fail(ATH_NO_MEMORY, "no memory for %zu lines", capacity);
    self->capacity = capacity;
  }
  self->lines[self->count++] = (ath_block_line){self->bytes.length, document->length,
                                                document->place.line, path, document->unit};
  return ath_buffer_append(&self->bytes, document->text, document->length);
}

ath_status ath_text_source_next(ath_text_source *self, ath_text_block *block) {
  ath_training_report *report = self->report;
  if (block->bytes.maximum == 0) block->bytes = ath_buffer_make(BLOCK_BYTES + (size_t)ATH_LINE_MAX);
  ath_buffer_clear(&block->bytes);
  block->count = 0;
  while (block->bytes.length < BLOCK_BYTES && block->count < BLOCK_LINES) {
    ath_document document;
    ATH_TRY(ath_documents_next(self->documents, &document));
    self->ended = document.text == NULL;
    if (self->ended) break;
    report->lines++;
    report->bytes += document.length + 1; /* with an ending */
    if (memchr(document.text, '\0', document.length) != NULL) skip(self, &document);
    else ATH_TRY(add(block, &document, self->paths[document.place.input]));
  }
  report->lines_skipped = self->nul_lines + ath_documents_skipped(self->documents);
  self->taken = ath_documents_taken(self->documents);
  block->serial = self->blocks++;
  return ATH_OK;
}
