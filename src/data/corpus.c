/* corpus.c: text files as blocks of numbered lines. */
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

/* Opens the file of the next line, at that line. */
static ath_status open_file(ath_corpus *self) {
  ATH_TRY(ath_lines_open(self->inputs[self->next.file], &self->lines));
  if (self->next.byte == 0) return ATH_OK;
  return ath_lines_seek(self->lines, self->next.byte, self->next.line);
}

ath_status ath_corpus_open(const char *const *inputs, size_t count, const ath_place *from,
                           ath_corpus *out) {
  assert(count > 0 && from->file <= count && from->line >= 1);
  *out = (ath_corpus){.inputs = inputs, .count = count, .next = *from};
  out->next.token = 0;
  return ATH_OK;
}

void ath_corpus_close(ath_corpus *self) {
  ath_lines_close(self->lines);
  self->lines = NULL;
}

/* The next line of whichever file has one; its bytes are NULL when all are read. */
static ath_status next_line(ath_corpus *self, ath_line *line, ath_place *place) {
  while (self->next.file < self->count) {
    if (self->lines == NULL) ATH_TRY(open_file(self));
    ATH_TRY(ath_lines_next(self->lines, line));
    if (line->bytes != NULL) {
      assert(line->number == self->next.line);
      *place = self->next;
      place->byte = line->at; /* after a byte order mark, where there is one */
      self->next.byte = line->next;
      self->next.line = line->number + 1;
      self->next.global++;
      return ATH_OK;
    }
    ath_corpus_close(self);
    self->next.file++;
    self->next.byte = 0;
    self->next.line = 1;
  }
  line->bytes = NULL;
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
    ath_line line;
    ath_block_line *entry = &out->lines[out->count];
    ATH_TRY(next_line(self, &line, &entry->place));
    out->ended = line.bytes == NULL;
    if (out->ended) break;
    entry->split = choose(context, &entry->place, line.bytes, line.length);
    if (entry->split < 0) continue; /* its place in the block goes to the line after it */
    entry->offset = out->text.length;
    entry->length = line.length;
    ATH_TRY(ath_buffer_append(&out->text, line.bytes, line.length));
    out->count++;
  }
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
