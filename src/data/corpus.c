/* corpus.c: documents as blocks of numbered lines. */
#include "data/corpus.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizers/characters.h"
#include "tokenizers/pipeline.h"

ath_status ath_block_create(ath_block *out) {
  *out = (ath_block){.text = ath_buffer_make(ATH_BLOCK_BYTES + (size_t)ATH_LINE_MAX)};
  out->lines = malloc(ATH_BLOCK_LINES * sizeof *out->lines);
  return out->lines != NULL ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory to read text");
}

void ath_block_free(ath_block *self) {
  ath_buffer_free(&self->text);
  free(self->lines);
  self->lines = NULL;
}

ath_status ath_corpus_open(const char *const *inputs, size_t count, const ath_reading *reading,
                           const ath_place *from, ath_corpus *out) {
  assert(count > 0 && from->file <= count && from->line >= 1);
  ath_text_place place = {from->file, from->byte, from->line};
  *out = (ath_corpus){.inputs = inputs, .next = *from, .skipped_before = from->skipped,
                      .count = count, .end = UINT64_MAX};
  out->next.token = 0;
  return ath_documents_open(inputs, count, reading, &place, &out->documents);
}

void ath_corpus_close(ath_corpus *self) {
  ath_documents_close(self->documents);
  self->documents = NULL;
}

static bool is_beyond(const ath_corpus *self, uint64_t file, uint64_t byte) {
  return file + 1 == self->count && byte >= self->end;
}

/* The next document of whichever file has one; its text is NULL when all are read. */
static ath_status next_document(ath_corpus *self, ath_document *document, ath_place *place) {
  if (is_beyond(self, self->next.file, self->next.byte)) {
    document->text = NULL;
    return ATH_OK;
  }
  ATH_TRY(ath_documents_next(self->documents, document));
  if (document->text != NULL && is_beyond(self, document->place.input, document->place.at)) {
    document->text = NULL;
    return ATH_OK;
  }
  uint64_t global = self->next.global;
  uint64_t skipped = self->skipped_before + ath_documents_skipped(self->documents);
  ath_text_place at = document->place, next = document->next;
  *place = (ath_place){at.input, at.at, at.line, global, 0, skipped};
  if (document->text != NULL) global++;
  self->next = (ath_place){next.input, next.at, next.line, global, 0, skipped};
  return ATH_OK;
}

ath_status ath_corpus_read(ath_corpus *self, ath_line_chooser choose, const void *context,
                           ath_block *out) {
  assert(out->lines != NULL);
  out->inputs = self->inputs;
  out->count = 0;
  out->ended = false;
  ath_buffer_clear(&out->text);
  while (out->count < ATH_BLOCK_LINES && out->text.length < ATH_BLOCK_BYTES) {
    ath_document document;
    ath_block_line *entry = &out->lines[out->count];
    ATH_TRY(next_document(self, &document, &entry->place));
    out->ended = document.text == NULL;
    if (out->ended) break;
    entry->split = choose(context, &entry->place, document.text, document.length);
    if (entry->split < 0) continue; /* its place in the block goes to the one after it */
    entry->unit = document.unit;
    entry->offset = out->text.length;
    entry->length = document.length;
    ATH_TRY(ath_buffer_append(&out->text, document.text, document.length));
    out->count++;
  }
  out->taken = ath_documents_taken(self->documents);
  out->next = self->next;
  return ATH_OK;
}

bool ath_text_is_blank(const char *text, size_t length) {
  size_t at = 0;
  while (at < length && ath_is_white_space(ath_character_at(text, at)))
    at += ath_character_length(text[at]);
  assert(at <= length);
  return at == length;
}
