/* encode.c: athanor tokenizer encode. Lines of the input are gathered into blocks; chunks of a
 * block are encoded by whichever thread is free, and printed in the order of the lines. */
#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/tokenizer.h"
#include "base/log.h"
#include "base/outcome.h"
#include "cli/cli.h"
#include "cli/encoding.h"
#include "cli/reading.h"

enum { CHUNK_LINES = 32, BLOCK_LINES = 4096, CHUNKS = BLOCK_LINES / CHUNK_LINES,
       BLOCK_BYTES = 1 << 20 };
#define OUTPUT_LIMIT ((size_t)1 << 32)
#define TEXT_LIMIT ((size_t)1 << 27) /* a block, and one line of the longest there may be */

typedef struct text {
  size_t offset, length; /* in the block's text */
  const char *path, *unit; /* where it comes from, for messages */
  unsigned long long line;
} text;

typedef struct chunk {
  ath_buffer out;
  ath_outcome outcome;
  size_t done; /* lines of it that are in `out` */
} chunk;

typedef struct encoder {
  ath_encoding_style style;
  ath_encoding_view view;
  const char *pair; /* the second text of each; NULL: none */
  bool views;       /* the text is shown cut instead of its tokens */
  bool pads;
  int threads;
  ath_encoding *encodings; /* one for each thread */
  ath_buffer block;
  text texts[BLOCK_LINES];
  size_t count;
  chunk chunks[CHUNKS];
} encoder;

typedef struct wishes {
  const char *folder, *pair;
  ath_cli_reading input;
  bool json, offsets, details, view, special, windows, replace;
  int64_t max_length, stride, padding, threads;
} wishes;

/* --- one text ------------------------------------------------------------------------------ */

static ath_status encode_text(const encoder *self, const char *bytes, size_t length,
                              ath_encoding *encoding, ath_buffer *out) {
  const ath_tokenizer *tokenizer = self->style.tokenizer;
  unsigned flags = self->style.flags;
  if (self->pair == NULL)
    ATH_TRY(ath_tokenizer_encode(tokenizer, bytes, length, flags, encoding));
  else
    ATH_TRY(ath_tokenizer_encode_pair(tokenizer, bytes, length, self->pair, strlen(self->pair),
                                      flags, encoding));
  if (self->pads) ATH_TRY(ath_tokenizer_pad(tokenizer, encoding, 1));
  if (self->views) return ath_cli_put_view(&self->view, bytes, length, encoding, out);
  return ath_cli_put_encoding(&self->style, encoding, out);
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

/* Encodes and prints the texts gathered. After a failure those before it have been printed. */
static ath_status finish_block(encoder *self) {
  size_t chunks = (self->count + CHUNK_LINES - 1) / CHUNK_LINES;
  assert(chunks <= CHUNKS);
#pragma omp parallel for schedule(dynamic) num_threads(self->threads) if (chunks > 1)
  for (size_t i = 0; i < chunks; i++)
    encode_chunk(self, i, &self->encodings[omp_get_thread_num()]);
  for (size_t i = 0; i < chunks; i++) {
    chunk *c = &self->chunks[i];
    ATH_TRY(ath_cli_flush(&c->out));
    const text *t = &self->texts[i * CHUNK_LINES + c->done];
    ATH_TRY_CONTEXT(ath_outcome_return(&c->outcome), "%s: %s %llu", t->path, t->unit, t->line);
  }
  self->count = 0;
  ath_buffer_clear(&self->block);
  return ATH_OK;
}

/* `bytes` are copied; the block is encoded once it is full. */
static ath_status add_text(encoder *self, const char *bytes, text t, size_t block_lines) {
  t.offset = self->block.length;
  self->texts[self->count++] = t;
  ATH_TRY_CONTEXT(ath_buffer_append(&self->block, bytes, t.length), "%s", t.path);
  bool full = self->count == block_lines || self->block.length >= BLOCK_BYTES;
  return full ? finish_block(self) : ATH_OK;
}

/* What came before a text that cannot be read is still encoded. */
static ath_status finish(encoder *self, ath_status read) {
  ath_outcome outcome;
  ath_outcome_keep(&outcome, read);
  ATH_TRY(finish_block(self));
  return ath_outcome_return(&outcome);
}

/* Standard input. At a terminal each line is answered at once. */
static ath_status encode_lines(encoder *self) {
  size_t block_lines = ath_cli_input_is_terminal() ? 1 : BLOCK_LINES;
  for (unsigned long long number = 1;; number++) {
    const char *line;
    size_t length;
    ath_status read = ath_cli_read_line(&line, &length);
    if (read != ATH_OK || line == NULL) return finish(self, read);
    text t = {.length = length, .path = ath_cli_input_name(), .unit = "line", .line = number};
    ATH_TRY(add_text(self, line, t, block_lines));
  }
}

static ath_status encode_documents(encoder *self, const ath_cli_files *files,
                                   ath_documents *documents) {
  for (;;) {
    ath_document d;
    ath_status read = ath_documents_next(documents, &d);
    if (read != ATH_OK || d.text == NULL) return finish(self, read);
    text t = {.length = d.length, .path = files->paths[d.place.input], .unit = d.unit,
              .line = d.place.line};
    ATH_TRY(add_text(self, d.text, t, BLOCK_LINES));
  }
}

static ath_status encode_files(encoder *self, const wishes *w) {
  ath_cli_files files = {0};
  ath_operands none = {0};
  ath_reading reading;
  ath_documents *documents = NULL;
  ATH_TRY(ath_cli_reading_parse(&w->input, &reading));
  reading.any_bytes = w->replace;
  ath_status status = ath_cli_reading_files(&w->input, &none, "nothing to encode", &files);
  if (status == ATH_OK)
    status = ath_documents_open(files.paths, files.count, &reading, NULL, &documents);
  if (status == ATH_OK) status = encode_documents(self, &files, documents);
  if (documents != NULL && ath_documents_skipped(documents) > 0)
    ath_log(ATH_LOG_WARNING, "skipped for errors: %llu",
            (unsigned long long)ath_documents_skipped(documents));
  ath_documents_close(documents);
  ath_cli_files_free(&files);
  return status;
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

static encoder *create_encoder(int threads) {
  encoder *self = calloc(1, sizeof *self);
  if (self == NULL) return NULL;
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

static unsigned flags_of(const wishes *w) {
  unsigned flags = ATH_ENCODE_TOKENS;
  if (w->special) flags |= ATH_ENCODE_SPECIAL;
  if (w->json || w->offsets || w->view) flags |= ATH_ENCODE_OFFSETS;
  if (w->details)
    flags |= ATH_ENCODE_TYPES | ATH_ENCODE_SEQUENCES | ATH_ENCODE_WORDS | ATH_ENCODE_MASKS;
  if (w->max_length > 0) flags |= ATH_ENCODE_TRUNCATE;
  if (w->windows || w->stride > 0) flags |= ATH_ENCODE_WINDOWS;
  if (w->replace) flags |= ATH_ENCODE_REPAIR;
  return flags;
}

/* Sides and the strategy stay as tokenizer.json has them. */
static ath_status set_truncation(ath_tokenizer *tokenizer, const wishes *w) {
  const ath_truncation *before = ath_tokenizer_truncation(tokenizer);
  ath_truncation truncation = {0};
  if (before != NULL) truncation = *before;
  truncation.max_length = (size_t)w->max_length;
  truncation.stride = (size_t)w->stride;
  return ath_tokenizer_set_truncation(tokenizer, &truncation);
}

static ath_status set_padding(ath_tokenizer *tokenizer, const wishes *w) {
  const ath_padding *before = ath_tokenizer_padding(tokenizer);
  ath_padding padding = {0};
  if (before != NULL) {
    padding = *before;
  } else {
    padding.id = ath_tokenizer_special(tokenizer, ATH_TOKEN_PAD);
    if (padding.id < 0)
      return ath_fail(ATH_UNSUPPORTED, "--padding: the tokenizer has no padding token");
    padding.token = ath_tokenizer_token(tokenizer, padding.id);
  }
  padding.length = (size_t)w->padding;
  return ath_tokenizer_set_padding(tokenizer, &padding);
}

static bool names_input(const wishes *w) { return w->input.inputs.count > 0 || w->input.sql; }

static ath_status check_wishes(const wishes *w, const ath_operands *operands) {
  if (operands->count > 0 && names_input(w))
    return ath_fail(ATH_USAGE, "both TEXT and --input are given; one is possible");
  if (w->view && (w->json || w->pair != NULL || w->windows || w->stride > 0 || w->replace))
    return ath_fail(ATH_USAGE, "--view shows one text as it is: without --json, --pair, --windows, "
                    "--stride and --replace-invalid");
  if (w->details && !w->json)
    return ath_fail(ATH_USAGE, "--details are members of the objects that --json prints; add it");
  if ((w->windows || w->stride > 0) && w->max_length == 0)
    return ath_fail(ATH_USAGE, "windows need their length: add --max-length N");
  return ATH_OK;
}

static ath_status encode_with(ath_tokenizer *tokenizer, const wishes *w,
                              const ath_operands *operands) {
  if (w->max_length > 0) ATH_TRY(set_truncation(tokenizer, w));
  if (w->padding > 0) ATH_TRY(set_padding(tokenizer, w));
  encoder *e = create_encoder((int)w->threads);
  if (e == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to encode text");
  e->style = (ath_encoding_style){tokenizer, w->json, flags_of(w)};
  e->pair = w->pair;
  e->pads = w->padding > 0;
  e->views = w->view;
  e->view = (ath_encoding_view){tokenizer, ath_tokenizer_special(tokenizer, ATH_TOKEN_UNK),
                                ath_cli_wants_colour()};
  ath_status status = operands->count > 0       ? encode_operands(e, operands)
                      : names_input(w) ? encode_files(e, w)
                                            : encode_lines(e);
  destroy_encoder(e);
  return status;
}

static ath_status run(const ath_command *self, int argc, char **argv) {
  enum { LENGTH_MAX = 1 << 30 };
  wishes w = {.special = true, .input = ATH_CLI_READING_USUAL};
  const ath_option options[] = {
    ATH_TOKENIZER_OPTION(w.folder),
    {"json", ATH_OPTION_FLAG, &w.json, NULL,
     .help = "Print one object a text: ids, tokens, offsets in code points"},
    {"details", ATH_OPTION_FLAG, &w.details, NULL,
     .help = "In the objects also type_ids, word_ids, sequence_ids and the masks"},
    {"offsets", ATH_OPTION_FLAG, &w.offsets, NULL,
     .help = "Print offsets in code points, without --json behind a second tab"},
    {"view", ATH_OPTION_FLAG, &w.view, NULL,
     .help = "Show the text as it is cut: in colours at a terminal, else with bars"},
    {"special-tokens", ATH_OPTION_FLAG, &w.special, NULL, .help = "Add [CLS] and [SEP]"},
    {"pair", ATH_OPTION_STRING, &w.pair, "TEXT",
     .help = "Encode each text in a pair with this second one"},
    {"max-length", ATH_OPTION_INTEGER, &w.max_length, "N",
     "Cut to this many tokens, special ones included; 0 for not at all",
     .minimum = 0, .maximum = LENGTH_MAX},
    {"windows", ATH_OPTION_FLAG, &w.windows, NULL,
     .help = "Give what --max-length cuts off as well, in windows"},
    {"stride", ATH_OPTION_INTEGER, &w.stride, "N",
     "Tokens that two windows in turn share; turns on --windows",
     .minimum = 0, .maximum = LENGTH_MAX},
    {"padding", ATH_OPTION_INTEGER, &w.padding, "N",
     "Fill up to this many tokens; 0 for not at all", .minimum = 0, .maximum = LENGTH_MAX},
    {"replace-invalid", ATH_OPTION_FLAG, &w.replace, NULL,
     .help = "Replace what is not UTF-8 by U+FFFD instead of refusing it"},
    {"threads", ATH_OPTION_INTEGER, &w.threads, "N", "Threads, 0 for one per core",
     .minimum = 0, .maximum = ATH_THREADS_MAX},
    ATH_READING_OPTIONS(w.input),
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ATH_TRY(check_wishes(&w, &operands));
  ath_tokenizer *tokenizer;
  ATH_TRY(ath_cli_load_tokenizer(w.folder, &tokenizer));
  ath_status status = encode_with(tokenizer, &w, &operands);
  ath_tokenizer_destroy(tokenizer);
  return status;
}

const ath_command ath_command_tokenizer_encode = {
  .name = "tokenizer encode",
  .summary = "turn text into tokens and ids",
  .operands = "[TEXT…]",
  .details =
      "Without TEXT, each document of --input, or line of standard input, is a text. It gives one\n"
      "line: its tokens, a tab, their ids; with --windows one for each window, which with --json\n"
      "are the member overflowing of the text's object. Truncation and padding that a\n"
      "tokenizer.json brings along are not applied: --max-length and --padding say what is.\n\n"
      "Examples:\n"
      "  athanor tokenizer encode --tokenizer run/tokenizer \"some text\"\n"
      "  athanor tokenizer encode --tokenizer run/tokenizer --json < text.txt\n"
      "  athanor tokenizer encode --tokenizer run/tokenizer --max-length 128 --stride 32 \\\n"
      "    --json --details < text.txt",
  .run = run,
};
