/* word_count.c: threads count the words of blocks of text, each in tables of its own; after a round
 * of a fixed number of bytes these are added up, and if there are too many words the rarest are
 * forgotten. Thus what is forgotten depends on the text alone, not on the threads.
 *
 *     thread 0   ▤ ▤ ▤ … 16 tables, by the word's hash  ┐ table by table,
 *     thread 1   ▤ ▤ ▤ …                                ┘ all threads at once  →  ▤ ▤ ▤ …
 */
#include "tokenizers/trainers/word_count.h"

#include <assert.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/outcome.h"
#include "base/utf8.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/trainers/text_blocks.h"
#include "tokenizers/trainers/word_counter.h"

enum {
  ROUND_MIN = 1 << 20, ROUND_MAX = 64 << 20, /* bytes between two rounds */
};

/* What a thread works with. */
typedef struct counter {
  ath_word_counter words;
  ath_text_block block;
  ath_encoding scratch;
  size_t max_word_length;
  const ath_block_line *line; /* being counted */
  uint64_t cuts; /* of words that are too long, and where the first is */
  uint64_t cut_serial, cut_line;
  const char *cut_path;
  ath_outcome outcome;
} counter;

typedef struct counting {
  const ath_tokenizer *cutter;
  ath_word_limits limits;
  ath_text_source source;
  uint64_t round_end; /* bytes of text */
  counter *counters;
  ath_word_table tables[ATH_WORD_TABLES];
  uint64_t forgotten;
} counting;

void ath_word_list_free(ath_word_list *self) {
  free(self->text);
  free(self->starts);
  free(self->counts);
  *self = (ath_word_list){0};
}

/* --- one thread ----------------------------------------------------------------------------- */

/* How many bytes the first `limit` code points take; `length` when there are no more. */
static size_t bytes_of_code_points(const char *word, size_t length, size_t limit) {
  if (length <= limit) return length;
  for (size_t i = 0; i < length; i++) {
    if (!ath_utf8_continues(word[i]) && limit-- == 0) return i;
  }
  return length;
}

static void note_cut(counter *self) {
  if (self->cuts++ > 0) return;
  self->cut_path = self->line->path;
  self->cut_serial = self->block.serial;
  self->cut_line = self->line->number;
}

/* An ath_word_visitor. */
static ath_status visit_word(void *context, const char *word, size_t length) {
  counter *self = context;
  for (;;) {
    size_t part = bytes_of_code_points(word, length, self->max_word_length);
    assert(part > 0 && part <= length);
    ATH_TRY(ath_word_counter_add(&self->words, word, part));
    if (part == length) return ATH_OK;
    note_cut(self);
    word += part;
    length -= part;
  }
}

static ath_status count_block(counter *self, const ath_tokenizer *cutter) {
  const ath_text_block *block = &self->block;
  for (size_t i = 0; i < block->count; i++) {
    const ath_block_line *line = &block->lines[i];
    self->line = line;
    ATH_TRY_CONTEXT(ath_tokenizer_each_word(cutter, block->bytes.bytes + line->at, line->length,
                                            &self->scratch, visit_word, self),
                    "%s: %s %llu", line->path, line->unit, (unsigned long long)line->number);
  }
  return ATH_OK;
}

static void report_progress(const counting *self, int finished) {
  size_t words = 0;
  for (size_t t = 0; t < ATH_WORD_TABLES; t++) words += self->tables[t].used;
  char detail[64] = "";
  if (words > 0) snprintf(detail, sizeof detail, "%zu distinct words", words);
  ath_log_progress(&(ath_progress){.task = "tokenizer: counting words", .unit = "bytes",
                                   .done = self->source.taken, .total = self->source.total,
                                   .detail = detail,
                                   .finished = finished});
}

/* The next block of the round; an empty one at its end. */
static ath_status take_block(counting *self, ath_text_block *block) {
  block->count = 0;
  if (self->source.report->bytes >= self->round_end) return ATH_OK;
  ath_status status = ath_text_source_next(&self->source, block);
  if (status != ATH_OK) self->round_end = 0; /* the others may stop */
  else report_progress(self, 0);
  return status;
}

static ath_status count_blocks(counting *self, counter *me) {
  for (;;) {
    ath_status status;
#pragma omp critical(ath_word_count)
    status = take_block(self, &me->block);
    ATH_TRY(status);
    if (me->block.count == 0) return ath_word_counter_flush(&me->words);
    ATH_TRY(count_block(me, self->cutter));
  }
}

/* --- rounds --------------------------------------------------------------------------------- */

/* Adds the words of a table that are counted more than `floor` times; *left_out counts the rest. */
static ath_status add_words(ath_word_table *self, const ath_word_table *other, uint64_t floor,
                            uint64_t *left_out) {
  for (size_t i = 0; i < other->size; i++) {
    const ath_word_slot *slot = &other->slots[i];
    if (slot->count <= floor) {
      *left_out += slot->count > 0;
      continue;
    }
    ath_table_key key = ath_table_key_of(other->text.bytes + slot->at, slot->length);
    ATH_TRY(ath_word_table_add(self, &key, slot->count));
  }
  return ATH_OK;
}

/* Adds a table to the one with as many words or more, and leaves it empty. */
static ath_status add_table(ath_word_table *self, ath_word_table *other) {
  if (self->used < other->used) {
    ath_word_table smaller = *self;
    *self = *other;
    *other = smaller;
  }
  uint64_t left_out = 0;
  ATH_TRY(add_words(self, other, 0, &left_out));
  ath_word_table_free(other);
  return ATH_OK;
}

static ath_status add_tables(counting *self, size_t t) {
  for (int i = 0; i < self->limits.threads; i++)
    ATH_TRY(add_table(&self->tables[t], &self->counters[i].words.tables[t]));
  return ATH_OK;
}

static ath_status first_failure(const counting *self) {
  for (int i = 0; i < self->limits.threads; i++)
    ATH_TRY(ath_outcome_return(&self->counters[i].outcome));
  return ATH_OK;
}

static ath_status count_round(counting *self) {
#pragma omp parallel num_threads(self->limits.threads)
  {
    counter *me = &self->counters[omp_get_thread_num()];
    ath_outcome_keep(&me->outcome, count_blocks(self, me));
#pragma omp barrier
#pragma omp for schedule(dynamic)
    for (size_t t = 0; t < ATH_WORD_TABLES; t++)
      if (me->outcome.status == ATH_OK) ath_outcome_keep(&me->outcome, add_tables(self, t));
  }
  return first_failure(self);
}

/* Words and their closing NULs. */
static size_t text_size(const counting *self) {
  size_t size = 0;
  for (size_t t = 0; t < ATH_WORD_TABLES; t++)
    size += self->tables[t].text.length + self->tables[t].used;
  return size;
}

/* Keeps the words counted more than `floor` times. */
static ath_status forget_rare(counting *self, ath_word_table *table, uint64_t floor) {
  ath_word_table old = *table;
  *table = (ath_word_table){0};
  ath_status status = add_words(table, &old, floor, &self->forgotten);
  ath_word_table_free(&old);
  return status;
}

/* Makes room by forgetting ever more frequent words, until half of the room is free. */
static ath_status make_room(counting *self) {
  if (text_size(self) <= self->limits.text_maximum) return ATH_OK;
  for (uint64_t floor = 1; text_size(self) > self->limits.text_maximum / 2; floor *= 2)
    for (size_t t = 0; t < ATH_WORD_TABLES; t++)
      ATH_TRY(forget_rare(self, &self->tables[t], floor));
  return ATH_OK;
}

static ath_status count_all(counting *self) {
  size_t round = self->limits.text_maximum;
  round = round < ROUND_MIN ? ROUND_MIN : round > ROUND_MAX ? ROUND_MAX : round;
  while (!self->source.ended) {
    self->round_end = self->source.report->bytes + round;
    ATH_TRY(count_round(self));
    ATH_TRY(make_room(self));
  }
  report_progress(self, 1);
  return ATH_OK;
}

/* --- the list ------------------------------------------------------------------------------- */

static void append_table(ath_word_list *self, const ath_word_table *table) {
  for (size_t i = 0; i < table->size; i++) {
    const ath_word_slot *slot = &table->slots[i];
    if (slot->count == 0) continue;
    uint32_t start = self->starts[self->count];
    memcpy(self->text + start, table->text.bytes + slot->at, slot->length);
    self->text[start + slot->length] = '\0';
    self->counts[self->count] = slot->count;
    self->total += slot->count;
    self->starts[++self->count] = start + slot->length + 1;
  }
}

static ath_status make_list(counting *self, ath_word_list *out) {
  size_t words = 0, size = text_size(self);
  for (size_t t = 0; t < ATH_WORD_TABLES; t++) words += self->tables[t].used;
  assert(size <= self->limits.text_maximum);
  *out = (ath_word_list){.text = malloc(size + 1),
                         .starts = calloc(words + 1, sizeof *out->starts),
                         .counts = malloc((words + 1) * sizeof *out->counts)};
  if (out->text == NULL || out->starts == NULL || out->counts == NULL) {
    ath_word_list_free(out);
    return ath_fail(ATH_NO_MEMORY, "no memory for %zu distinct words", words);
  }
  out->text[size] = '\0';
  for (size_t t = 0; t < ATH_WORD_TABLES; t++) {
    append_table(out, &self->tables[t]);
    ath_word_table_free(&self->tables[t]);
  }
  assert(out->count == words && out->starts[words] == size);
  return ATH_OK;
}

static void say_what_was_lost(const counting *self) {
  const counter *first = NULL;
  uint64_t cuts = 0;
  for (int i = 0; i < self->limits.threads; i++) {
    const counter *c = &self->counters[i];
    cuts += c->cuts;
    if (c->cuts > 0 && (first == NULL || c->cut_serial < first->cut_serial)) first = c;
  }
  if (first != NULL)
    ath_log(ATH_LOG_WARNING, "%s: line %llu: a word of more than %zu code points is cut; there "
            "are %llu such cuts in all", first->cut_path, (unsigned long long)first->cut_line,
            self->limits.max_word_length, (unsigned long long)cuts);
  if (self->forgotten > 0)
    ath_log(ATH_LOG_WARNING,
            "the distinct words do not fit into %zu bytes: %llu of the rarest were forgotten",
            self->limits.text_maximum, (unsigned long long)self->forgotten);
}

static void counting_free(counting *self) {
  for (int i = 0; self->counters != NULL && i < self->limits.threads; i++) {
    counter *c = &self->counters[i];
    ath_word_counter_free(&c->words);
    ath_text_block_free(&c->block);
    ath_encoding_free(&c->scratch);
  }
  free(self->counters);
  for (size_t t = 0; t < ATH_WORD_TABLES; t++) ath_word_table_free(&self->tables[t]);
  ath_text_source_free(&self->source);
}

ath_status ath_word_count_files(const char *const *paths, size_t path_count,
                                const ath_tokenizer *cutter, const ath_word_limits *limits,
                                ath_word_list *out, ath_training_report *report) {
  assert(limits->max_word_length > 0 && limits->text_maximum <= ATH_WORD_TEXT_MAX);
  assert(limits->threads > 0);
  static const ath_reading usual;
  counting self = {.cutter = cutter, .limits = *limits,
                   .counters = calloc((size_t)limits->threads, sizeof *self.counters)};
  ath_status status = ATH_OK;
  if (self.counters == NULL)
    status = ath_fail(ATH_NO_MEMORY, "no memory for %d threads", limits->threads);
  if (status == ATH_OK)
    status = ath_text_source_open(paths, path_count,
                                  limits->reading != NULL ? limits->reading : &usual, report,
                                  &self.source);
  for (int i = 0; i < limits->threads && status == ATH_OK; i++)
    self.counters[i].max_word_length = limits->max_word_length;
  if (status == ATH_OK) status = count_all(&self);
  if (status == ATH_OK) say_what_was_lost(&self);
  if (status == ATH_OK) status = make_list(&self, out);
  if (status == ATH_OK) report->distinct_words = out->count;
  counting_free(&self);
  return status;
}

ath_status ath_word_count_some(const char *const *paths, size_t path_count,
                               const ath_tokenizer *cutter, const ath_word_limits *limits,
                               ath_word_list *out, ath_training_report *report) {
  ATH_TRY(ath_word_count_files(paths, path_count, cutter, limits, out, report));
  if (out->count > 0) return ATH_OK;
  ath_word_list_free(out);
  char skipped[192] = "";
  if (report->lines_skipped > 0)
    snprintf(skipped, sizeof skipped, ": %llu of %llu lines were skipped for NUL characters or "
             "errors; text in UTF-16 must be converted, e.g. with iconv",
             (unsigned long long)report->lines_skipped, (unsigned long long)report->lines);
  return ath_fail(ATH_INVALID, "%s%s: no text in %s%s", paths[0], path_count > 1 ? ", …" : "",
                  path_count > 1 ? "these files" : "this file", skipped);
}
