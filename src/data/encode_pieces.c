/* encode_pieces.c: pieces of a text to rows and ids. */
#include "data/encode_pieces.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>

#include "base/outcome.h"
#include "data/encode_block.h"

typedef struct encoding {
  const ath_pieces *pieces;
  const ath_preparation *all;
  ath_share_of share;
  ath_encoder encoder;
  ath_encoded_block **blocks; /* one for each thread */
  ath_minhash orders;
  uint64_t bytes, tokens;     /* done, by all threads */
  ath_outcome outcome;        /* the first failure, by time */
} encoding;

/* −1 leaves a line out: it gets a row without tokens. */
static int choose(const void *context, const ath_place *place, const char *text, size_t length) {
  const ath_preparation *all = context;
  (void)place;
  return all->options->keep_blank_lines || !ath_text_is_blank(text, length) ? 0 : -1;
}

static void describe(const encoding *self, const ath_block *block, const ath_block_line *line,
                     ath_row *out) {
  const ath_piece_format *format = &self->pieces->format;
  const char *text = block->text.bytes != NULL ? block->text.bytes + line->offset : "";
  out->tokens = (uint32_t)line->tokens;
  if (format->hashes) out->hash = ath_text_hash_make(text, line->length);
  if (format->sketches) ath_minhash_sketch(&self->orders, text, line->length, &out->sketch);
}

/* Rows for all lines up to those behind the block; `rows` counts them. */
static ath_status add_block(const encoding *self, const ath_encoded_block *block,
                            ath_piece_writer *writer, uint64_t *rows) {
  static const ath_row left_out;
  ath_row row = {.tokens = 0};
  const int32_t *ids = block->ids;
  for (size_t i = 0; i < block->text.count; i++, ++*rows) {
    const ath_block_line *line = &block->text.lines[i];
    for (; *rows < line->place.global; ++*rows) ATH_TRY(ath_piece_add(writer, &left_out, NULL));
    describe(self, &block->text, line, &row);
    ATH_TRY(ath_piece_add(writer, &row, ids));
    ids += line->tokens;
  }
  for (; *rows < block->text.next.global; ++*rows)
    ATH_TRY(ath_piece_add(writer, &left_out, NULL));
  return ATH_OK;
}

static void report(encoding *self, uint64_t bytes, uint64_t tokens) {
#pragma omp critical(ath_encode_pieces)
  {
    self->bytes += bytes;
    self->tokens += tokens;
    ath_preparation_report(self->all, self->bytes, self->tokens, 0);
  }
}

static ath_status check_stop(const encoding *self) {
  const volatile sig_atomic_t *stop = self->all->options->stop;
  if (stop == NULL || !*stop) return ATH_OK;
  return ath_fail(ATH_INTERRUPTED, "stopped while text was encoded into %s; the same command goes "
                  "on from there", self->all->options->output);
}

static ath_status encode_lines(encoding *self, ath_corpus *corpus, ath_piece_writer *writer,
                               int thread) {
  ath_encoded_block *block = self->blocks[thread];
  uint64_t rows = 0, taken = 0;
  do {
    ATH_TRY(ath_corpus_read(corpus, choose, self->all, &block->text));
    ATH_TRY(ath_encoder_run(&self->encoder, block, thread));
    ATH_TRY(add_block(self, block, writer, &rows));
    report(self, block->text.taken - taken, block->count);
    taken = block->text.taken;
    if (!block->text.ended) ATH_TRY(check_stop(self));
  } while (!block->text.ended);
  return ATH_OK;
}

/* Documents of the span from a place on, which is where one begins. */
static ath_status encode_span(encoding *self, size_t number, const ath_place *from, int thread) {
  const ath_prepare_options *o = self->all->options;
  const ath_text_span *span = &self->pieces->spans[number];
  ath_piece_writer *writer = NULL;
  ath_corpus corpus;
  ATH_TRY(ath_corpus_open(o->inputs, span->file + 1, &o->reading, from, &corpus));
  corpus.end = span->end;
  ath_status status = ath_piece_create(self->pieces->folder, number, &self->pieces->format,
                                       &writer);
  if (status == ATH_OK) status = encode_lines(self, &corpus, writer, thread);
  uint64_t skipped = corpus.next.skipped;
  ath_corpus_close(&corpus);
  if (status == ATH_OK) return ath_piece_commit(writer, skipped);
  ath_piece_abandon(writer);
  return status;
}

/* Lines before a byte where one begins; too long a one is for others to find. */
static uint64_t count_lines(const char *path, uint64_t before) {
  ath_lines *lines = NULL;
  ath_line line = {.next = 0};
  uint64_t count = 0;
  if (ath_lines_open(path, &lines) != ATH_OK) return 0;
  ath_lines_allow_any(lines);
  while (line.next < before && ath_lines_next(lines, &line) == ATH_OK && line.bytes != NULL)
    count++;
  ath_lines_close(lines);
  return count;
}

/* Nobody knows which line of its file a piece begins with, and nobody needs to but who is told of a
 * faulty one: then the lines are counted, and the fault is found again. */
static ath_status encode_piece(encoding *self, size_t number, int thread) {
  const ath_text_span *span = &self->pieces->spans[number];
  const char *path = self->all->options->inputs[span->file];
  ath_place from = {.file = span->file, .line = 1};
  ATH_TRY(check_stop(self));
  ATH_TRY(ath_spans_line_start(path, span->begin, &from.byte));
  ath_status status = encode_span(self, number, &from, thread);
  if (status != ATH_INVALID || from.byte == 0) return status;
  from.line += count_lines(path, from.byte);
  return encode_span(self, number, &from, thread);
}

/* After a failure the other pieces are left alone. */
static void encode_all(encoding *self) {
  size_t count = self->pieces->count, step = (size_t)self->share.count;
#pragma omp parallel for schedule(dynamic) num_threads(self->encoder.threads)
  for (size_t i = (size_t)self->share.number; i < count; i += step) {
    if (__atomic_load_n(&self->outcome.status, __ATOMIC_RELAXED) != ATH_OK ||
        ath_piece_exists(self->pieces->folder, i))
      continue;
    ath_status status = encode_piece(self, i, omp_get_thread_num());
#pragma omp critical(ath_encode_outcome)
    if (status != ATH_OK && self->outcome.status == ATH_OK)
      ath_outcome_keep(&self->outcome, status);
  }
}

ath_status ath_pieces_encode(const ath_pieces *pieces, const ath_preparation *all,
                             ath_share_of share) {
  encoding *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to encode text");
  self->pieces = pieces;
  self->all = all;
  self->share = share;
  ath_minhash_init(&self->orders, false);
  ath_status status = ath_encoder_create(all->tokenizer, all->options->threads, &self->encoder);
  size_t blocks = (size_t)self->encoder.threads;
  if (status == ATH_OK) status = ath_encoded_blocks_create(blocks, &self->blocks);
  if (status == ATH_OK) {
    encode_all(self);
    ath_encoded_blocks_free(self->blocks, blocks);
    status = ath_outcome_return(&self->outcome);
  }
  ath_encoder_free(&self->encoder);
  free(self);
  return status;
}
