/* encode.c: athanor tokenizer encode. Lines of standard input are gathered into blocks; chunks of a
 * block are encoded by whichever thread is free, and printed in the order of the lines. */
#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "athanor/tokenizer.h"
#include "base/outcome.h"
#include "cli/cli.h"

enum { CHUNK_LINES = 32, BLOCK_LINES = 4096, CHUNKS = BLOCK_LINES / CHUNK_LINES,
       BLOCK_BYTES = 1 << 20 };
#define OUTPUT_LIMIT ((size_t)1 << 32)
#define TEXT_LIMIT ((size_t)1 << 27) /* a block, and one line of the longest there may be */

typedef struct text {
  size_t offset, length; /* in the block's text */
} text;

typedef struct chunk {
  ath_buffer out;
  ath_outcome outcome;
  size_t done; /* lines of it that are in `out` */
} chunk;

typedef struct encoder {
  const ath_tokenizer *tokenizer;
  bool json;
  unsigned flags;
  int threads;
  ath_encoding *encodings; /* one for each thread */
  ath_buffer block;
  text texts[BLOCK_LINES];
  size_t count;
  chunk chunks[CHUNKS];
} encoder;

/* --- one text ------------------------------------------------------------------------------ */

static ath_status put_json(const ath_tokenizer *tokenizer, const ath_encoding *e, ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, "{\"ids\":["));
  for (size_t i = 0; i < e->length; i++) {
    if (i > 0) ATH_TRY(ath_buffer_byte(out, ','));
    ATH_TRY(ath_buffer_integer(out, e->ids[i]));
  }
  ATH_TRY(ath_buffer_string(out, "],\"tokens\":["));
  for (size_t i = 0; i < e->length; i++) {
    size_t length;
    const char *token = ath_encoding_token(e, tokenizer, i, &length);
    if (i > 0) ATH_TRY(ath_buffer_byte(out, ','));
    ATH_TRY(ath_buffer_json(out, token, length));
  }
  ATH_TRY(ath_buffer_string(out, "],\"offsets\":["));
  for (size_t i = 0; i < e->length; i++) {
    ATH_TRY(ath_buffer_string(out, i > 0 ? ",[" : "["));
    ATH_TRY(ath_buffer_integer(out, e->starts[i]));
    ATH_TRY(ath_buffer_byte(out, ','));
    ATH_TRY(ath_buffer_integer(out, e->ends[i]));
    ATH_TRY(ath_buffer_byte(out, ']'));
  }
  return ath_buffer_string(out, "]}\n");
}

static ath_status put_plain(const ath_tokenizer *tokenizer, const ath_encoding *e,
                            ath_buffer *out) {
  for (size_t i = 0; i < e->length; i++) {
    size_t length;
    const char *token = ath_encoding_token(e, tokenizer, i, &length);
    if (i > 0) ATH_TRY(ath_buffer_byte(out, ' '));
    ATH_TRY(ath_cli_put_visible(out, token, length));
  }
  for (size_t i = 0; i < e->length; i++) {
    ATH_TRY(ath_buffer_byte(out, i > 0 ? ' ' : '\t'));
    ATH_TRY(ath_buffer_integer(out, e->ids[i]));
  }
  return ath_buffer_byte(out, '\n');
}

static ath_status encode_text(const encoder *self, const char *bytes, size_t length,
                              ath_encoding *encoding, ath_buffer *out) {
  ATH_TRY(ath_tokenizer_encode(self->tokenizer, bytes, length, self->flags, encoding));
  return self->json ? put_json(self->tokenizer, encoding, out)
                    : put_plain(self->tokenizer, encoding, out);
}

/* --- blocks -------------------------------------------------------------------------------- */

/* A line that fails leaves nothing of itself in the output. */
static void encode_chunk(encoder *self, size_t number, ath_encoding *encoding) {
  chunk *c = &self->chunks[number];
  size_t first = number * CHUNK_LINES, end = first + CHUNK_LINES;
  if (end > self->count) end = self->count;
  ath_status status = ATH_OK;
  for (c->done = 0; first + c->done < end; c->done++) {
    const text *t = &self->texts[first + c->done];
    size_t before = c->out.length;
    status = encode_text(self, self->block.bytes + t->offset, t->length, encoding, &c->out);
    if (status == ATH_OK) continue;
    c->out.length = before;
    break;
  }
  ath_outcome_keep(&c->outcome, status);
}

/* Encodes and prints the lines gathered; `number` is that of the first. After a failure the lines
 * before it have been printed. */
static ath_status finish_block(encoder *self, unsigned long long number) {
  size_t chunks = (self->count + CHUNK_LINES - 1) / CHUNK_LINES;
  assert(chunks <= CHUNKS);
#pragma omp parallel for schedule(dynamic) num_threads(self->threads) if (chunks > 1)
  for (size_t i = 0; i < chunks; i++)
    encode_chunk(self, i, &self->encodings[omp_get_thread_num()]);
  for (size_t i = 0; i < chunks; i++) {
    chunk *c = &self->chunks[i];
    ATH_TRY(ath_cli_flush(&c->out));
    ATH_TRY_CONTEXT(ath_outcome_return(&c->outcome), "standard input: line %llu",
                    number + i * CHUNK_LINES + c->done);
  }
  self->count = 0;
  ath_buffer_clear(&self->block);
  return ATH_OK;
}

/* At a terminal each line is answered at once. */
static ath_status encode_lines(encoder *self) {
  size_t block_lines = isatty(STDIN_FILENO) ? 1 : BLOCK_LINES;
  for (unsigned long long number = 1, first = 1;; number++) {
    const char *line;
    size_t length;
    ath_status read = ath_cli_read_line(&line, &length);
    if (read != ATH_OK || line == NULL) {
      ath_outcome outcome; /* what came before a line that cannot be read is still encoded */
      ath_outcome_keep(&outcome, read);
      ATH_TRY(finish_block(self, first));
      return ath_outcome_return(&outcome);
    }
    self->texts[self->count++] = (text){self->block.length, length};
    ATH_TRY_CONTEXT(ath_buffer_append(&self->block, line, length), "standard input");
    if (self->count < block_lines && self->block.length < BLOCK_BYTES) continue;
    ATH_TRY(finish_block(self, first));
    first = number + 1;
  }
}

static ath_status encode_operands(encoder *self, const ath_operands *operands) {
  ath_buffer *out = &self->chunks[0].out;
  for (int i = 0; i < operands->count; i++) {
    const char *bytes = operands->items[i];
    ATH_TRY_CONTEXT(encode_text(self, bytes, strlen(bytes), &self->encodings[0], out), "text %d",
                    i + 1);
    ATH_TRY(ath_cli_flush(out));
  }
  return ATH_OK;
}

/* --- the command --------------------------------------------------------------------------- */

static encoder *create_encoder(const ath_tokenizer *tokenizer, int threads) {
  encoder *self = calloc(1, sizeof *self);
  if (self == NULL) return NULL;
  self->tokenizer = tokenizer;
  self->threads = threads > 0 ? threads : omp_get_max_threads();
  self->block = ath_buffer_make(TEXT_LIMIT);
  for (int i = 0; i < CHUNKS; i++) self->chunks[i].out = ath_buffer_make(OUTPUT_LIMIT);
  self->encodings = calloc((size_t)self->threads, sizeof *self->encodings);
  /* Lines that are all empty are still at an address. */
  if (self->encodings != NULL && ath_buffer_reserve(&self->block, 1) == ATH_OK) return self;
  free(self->encodings);
  free(self);
  return NULL;
}

static void destroy_encoder(encoder *self) {
  for (int i = 0; i < self->threads; i++) ath_encoding_free(&self->encodings[i]);
  for (int i = 0; i < CHUNKS; i++) ath_buffer_free(&self->chunks[i].out);
  ath_buffer_free(&self->block);
  free(self->encodings);
  free(self);
}

static ath_status run(const ath_command *self, int argc, char **argv) {
  const char *folder = NULL;
  bool json = false, special = true;
  int64_t threads = 0;
  const ath_option options[] = {
    ATH_TOKENIZER_OPTION(folder),
    {"json", ATH_OPTION_FLAG, &json, NULL,
     .help = "Print one object a text: ids, tokens, offsets in code points"},
    {"special-tokens", ATH_OPTION_FLAG, &special, NULL, .help = "Add [CLS] and [SEP]"},
    {"threads", ATH_OPTION_INTEGER, &threads, "N", "Threads, 0 for one per core",
     .minimum = 0, .maximum = ATH_THREADS_MAX},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ath_tokenizer *tokenizer;
  ATH_TRY(ath_tokenizer_load(folder, &tokenizer));
  ath_status status;
  encoder *e = create_encoder(tokenizer, (int)threads);
  if (e == NULL) {
    status = ath_fail(ATH_NO_MEMORY, "no memory to encode text");
  } else {
    e->json = json;
    e->flags = ATH_ENCODE_TOKENS | (json ? ATH_ENCODE_OFFSETS : 0u) |
               (special ? ATH_ENCODE_SPECIAL : 0u);
    status = operands.count > 0 ? encode_operands(e, &operands) : encode_lines(e);
    destroy_encoder(e);
  }
  ath_tokenizer_destroy(tokenizer);
  return status;
}

const ath_command ath_command_tokenizer_encode = {
  .name = "tokenizer encode",
  .summary = "turn text into tokens and ids",
  .operands = "[TEXT…]",
  .details =
      "Without TEXT, each line of standard input is a text. A text gives one line: its tokens,\n"
      "a tab, their ids.\n\n"
      "Examples:\n"
      "  athanor tokenizer encode --tokenizer run/tokenizer \"some text\"\n"
      "  athanor tokenizer encode --tokenizer run/tokenizer --json < text.txt",
  .run = run,
};
