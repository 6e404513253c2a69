/* word_count.c: a growing list of distinct words, found again through a hash map. */
#include "tokenizers/trainers/word_count.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash_map.h"
#include "base/log.h"
#include "base/utf8.h"
#include "storage/file.h"
#include "storage/lines.h"
#include "tokenizers/trainers/build.h"

enum {
  PROGRESS_STEP = 4 << 20,  /* bytes between two reports */
  LOGGED_LINES_MAX = 10,    /* skipped lines that are named one by one */
};

typedef struct counter {
  ath_hash_map *index; /* word → its place in `list` */
  ath_word_list list;
  size_t capacity, text_maximum, max_word_length;
  ath_buffer text;
  uint64_t words_cut, words_forgotten;
  const char *path;    /* of the line being counted, for the log */
  uint64_t line;
} counter;

void ath_word_list_free(ath_word_list *self) {
  free(self->text);
  free(self->starts);
  free(self->counts);
  *self = (ath_word_list){0};
}

static ath_status grow(counter *self) {
  size_t wish = self->capacity == 0 ? 1024 : self->capacity * 2;
  uint32_t *starts = realloc(self->list.starts, (wish + 1) * sizeof *starts);
  if (starts != NULL) self->list.starts = starts;
  uint64_t *counts = realloc(self->list.counts, wish * sizeof *counts);
  if (counts != NULL) self->list.counts = counts;
  if (starts == NULL || counts == NULL)
    return ath_fail(ATH_NO_MEMORY, "no memory for %zu distinct words", wish);
  self->capacity = wish;
  return ATH_OK;
}

/* Puts a word that is not there yet behind the others. */
static ath_status append(counter *self, const char *word, size_t length, uint64_t count) {
  ath_word_list *list = &self->list;
  assert(self->text.length + length < self->text_maximum);
  if (list->count == self->capacity) ATH_TRY(grow(self));
  ATH_TRY(ath_hash_map_set(self->index, word, length, (int32_t)list->count));
  list->starts[list->count] = (uint32_t)self->text.length;
  list->counts[list->count] = count;
  ATH_TRY(ath_buffer_append(&self->text, word, length));
  ATH_TRY(ath_buffer_byte(&self->text, '\0'));
  list->starts[++list->count] = (uint32_t)self->text.length;
  return ATH_OK;
}

/* Keeps the words counted more than `floor` times. */
static ath_status forget_rare(counter *self, uint64_t floor) {
  ath_word_list old = self->list;
  ath_buffer text = self->text;
  ath_hash_map_destroy(self->index);
  self->index = NULL;
  self->list = (ath_word_list){0};
  self->capacity = 0;
  self->text = ath_buffer_make(text.maximum);
  ath_status status = ath_hash_map_create(text.maximum, &self->index);
  for (size_t w = 0; w < old.count && status == ATH_OK; w++) {
    if (old.counts[w] > floor)
      status = append(self, text.bytes + old.starts[w], old.starts[w + 1] - old.starts[w] - 1,
                      old.counts[w]);
    else
      self->words_forgotten++;
  }
  ath_buffer_free(&text);
  ath_word_list_free(&old);
  return status;
}

/* Makes room by forgetting ever more frequent words, until half of the room is free. */
static ath_status make_room(counter *self) {
  for (uint64_t floor = 1; self->text.length > self->text_maximum / 2; floor *= 2)
    ATH_TRY(forget_rare(self, floor));
  return ATH_OK;
}

static ath_status count_word(counter *self, const char *word, size_t length) {
  int32_t at;
  if (ath_hash_map_get(self->index, word, length, &at)) {
    self->list.counts[at]++;
    return ATH_OK;
  }
  if (self->text.length + length + 1 > self->text_maximum) ATH_TRY(make_room(self));
  return append(self, word, length, 1);
}

/* How many bytes the first `limit` code points take; `length` when there are no more. */
static size_t bytes_of_code_points(const char *word, size_t length, size_t limit) {
  if (length <= limit) return length;
  for (size_t i = 0; i < length; i++) {
    if (!ath_utf8_continues(word[i]) && limit-- == 0) return i;
  }
  return length;
}

static ath_status visit_word(void *context, const char *word, size_t length) {
  counter *self = context;
  for (;;) {
    size_t part = bytes_of_code_points(word, length, self->max_word_length);
    assert(part > 0 && part <= length);
    ATH_TRY(count_word(self, word, part));
    if (part == length) return ATH_OK;
    if (self->words_cut++ == 0)
      ath_log(ATH_LOG_WARNING,
              "%s: line %llu: a word of more than %zu code points is cut; later ones without "
              "a message",
              self->path, (unsigned long long)self->line, self->max_word_length);
    word += part;
    length -= part;
  }
}

static void report_progress(uint64_t done, uint64_t total, const counter *self, int finished) {
  char detail[64];
  snprintf(detail, sizeof detail, "%zu distinct words", self->list.count);
  ath_log_progress(&(ath_progress){.task = "tokenizer: counting words", .done = done,
                                   .total = total, .unit = "bytes", .detail = detail,
                                   .finished = finished});
}

static void log_skipped(const counter *self, uint64_t skipped) {
  if (skipped <= LOGGED_LINES_MAX)
    ath_log(ATH_LOG_WARNING, "%s: line %llu is skipped: it holds a NUL character", self->path,
            (unsigned long long)self->line);
  if (skipped == LOGGED_LINES_MAX)
    ath_log(ATH_LOG_WARNING, "further lines with NUL characters are skipped without a message");
}

static ath_status count_file(counter *self, const ath_tokenizer *cutter, ath_encoding *scratch,
                             uint64_t total, ath_training_report *report) {
  ath_lines *lines = NULL;
  ATH_TRY(ath_lines_open(self->path, &lines));
  ath_status status = ATH_OK;
  uint64_t before = report->bytes, reported = report->bytes;
  for (ath_line line; (status = ath_lines_next(lines, &line)) == ATH_OK && line.bytes != NULL;) {
    self->line = line.number;
    report->bytes = before + line.next;
    report->lines++;
    if (memchr(line.bytes, '\0', line.length) != NULL) {
      log_skipped(self, ++report->lines_skipped);
      continue;
    }
    status = ath_tokenizer_each_word(cutter, line.bytes, line.length, scratch, visit_word, self);
    if (status != ATH_OK) {
      status = ath_context(status, "%s: line %llu", self->path, (unsigned long long)line.number);
      break;
    }
    if (report->bytes - reported >= PROGRESS_STEP) {
      reported = report->bytes;
      report_progress(reported, total, self, 0);
    }
  }
  ath_lines_close(lines);
  return status;
}

/* Sizes are for the progress bar only: a pipe has none. */
static uint64_t total_size(const char *const *paths, size_t path_count) {
  uint64_t total = 0, size;
  for (size_t i = 0; i < path_count; i++)
    if (ath_file_size(paths[i], &size) == ATH_OK) total += size;
  return total;
}

static void say_what_was_lost(const counter *self) {
  if (self->words_cut > 0)
    ath_log(ATH_LOG_WARNING, "%llu cuts in words of more than %zu code points",
            (unsigned long long)self->words_cut, self->max_word_length);
  if (self->words_forgotten > 0)
    ath_log(ATH_LOG_WARNING,
            "the distinct words do not fit into %zu bytes: %llu of the rarest were forgotten",
            self->text_maximum, (unsigned long long)self->words_forgotten);
}

ath_status ath_word_count_files(const char *const *paths, size_t path_count,
                                const ath_tokenizer *cutter, size_t max_word_length,
                                size_t text_maximum, ath_word_list *out,
                                ath_training_report *report) {
  assert(max_word_length > 0 && text_maximum <= ATH_WORD_TEXT_MAX);
  assert(max_word_length * 4 < text_maximum / 2);
  counter self = {.text = ath_buffer_make(text_maximum), .text_maximum = text_maximum,
                  .max_word_length = max_word_length};
  ath_encoding scratch = {0};
  ath_status status = ath_hash_map_create(text_maximum, &self.index);
  uint64_t total = total_size(paths, path_count);
  for (size_t i = 0; i < path_count && status == ATH_OK; i++) {
    self.path = paths[i];
    status = count_file(&self, cutter, &scratch, total, report);
  }
  ath_encoding_free(&scratch);
  ath_hash_map_destroy(self.index);
  self.list.text = self.text.bytes;
  if (status != ATH_OK) {
    ath_word_list_free(&self.list);
    return status;
  }
  report_progress(report->bytes, total, &self, 1);
  say_what_was_lost(&self);
  for (size_t w = 0; w < self.list.count; w++) self.list.total += self.list.counts[w];
  report->distinct_words = self.list.count;
  *out = self.list;
  return ATH_OK;
}

ath_status ath_word_count_some(const char *const *paths, size_t path_count,
                               const ath_tokenizer *cutter, size_t max_word_length,
                               ath_word_list *out, ath_training_report *report) {
  ATH_TRY(ath_word_count_files(paths, path_count, cutter, max_word_length, ATH_WORD_TEXT_MAX, out,
                               report));
  if (out->count > 0) return ATH_OK;
  char skipped[128] = "";
  if (report->lines_skipped > 0)
    snprintf(skipped, sizeof skipped, ": %llu of %llu lines hold NUL characters; text in UTF-16 "
             "must be converted, e.g. with iconv", (unsigned long long)report->lines_skipped,
             (unsigned long long)report->lines);
  return ath_fail(ATH_INVALID, "%s%s: no text in %s%s", paths[0], path_count > 1 ? ", …" : "",
                  path_count > 1 ? "these files" : "this file", skipped);
}
