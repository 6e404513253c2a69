/* tokenizer_bench.c: athanor tokenizer bench: how fast a tokenizer encodes the lines of a file.
 *
 * The one pass that is counted is the first: the encodings are new and every cache in them empty.
 * The file is in memory before the clock starts; finding its lines is part of the work. Loading the
 * tokenizer is timed apart. */
#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/tokenizer.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "cli/cli.h"
#include "storage/file.h"

#define INPUT_LIMIT ((size_t)1 << 36)
enum { CHUNK_BYTES = 1 << 16 };

typedef struct bench {
  const ath_tokenizer *tokenizer;
  unsigned flags;
  int threads;
  const char *path;
  ath_buffer text;
  uint64_t tokens;
  double load, seconds, processor; /* what took how long */
  ath_outcome outcome; /* the first failure that a thread met */
} bench;

/* Where the first line begins that begins in bytes [at, stop); `stop` where none does. */
static size_t line_from(const ath_buffer *text, size_t at, size_t stop) {
  if (at == 0 || at >= stop) return at;
  const char *end = memchr(text->bytes + at - 1, '\n', stop - at);
  return end != NULL ? (size_t)(end - text->bytes) + 1 : stop;
}

/* The lines that begin in bytes [at, at + CHUNK_BYTES). They may end far behind, so that nothing
 * but the last of them is looked through further than that. */
static ath_status encode_lines(const bench *self, size_t at, ath_encoding *encoding,
                               uint64_t *tokens) {
  size_t all = self->text.length, stop = all - at > CHUNK_BYTES ? at + CHUNK_BYTES : all;
  for (size_t from = line_from(&self->text, at, stop); from < stop;) {
    size_t next = line_from(&self->text, from + 1, all), length = next - from;
    const char *line = self->text.bytes + from;
    if (line[length - 1] == '\n') length--;
    if (length > 0 && line[length - 1] == '\r') length--;
    ATH_TRY_CONTEXT(ath_tokenizer_encode(self->tokenizer, line, length, self->flags, encoding),
                    "%s: the line at byte %zu", self->path, from);
    *tokens += encoding->length;
    from = next;
  }
  return ATH_OK;
}

static void encode_all(bench *self) {
  double began = seconds_now(), processor = processor_seconds_now();
  uint64_t tokens = 0;
#pragma omp parallel num_threads(self->threads) reduction(+ : tokens)
  {
    ath_encoding encoding = {0};
    ath_status status = ATH_OK;
#pragma omp for schedule(dynamic)
    for (size_t at = 0; at < self->text.length; at += CHUNK_BYTES)
      if (status == ATH_OK) status = encode_lines(self, at, &encoding, &tokens);
    if (status != ATH_OK) {
#pragma omp critical
      if (self->outcome.status == ATH_OK) ath_outcome_keep(&self->outcome, status);
    }
    ath_encoding_free(&encoding);
  }
  self->tokens = tokens;
  self->seconds = seconds_now() - began;
  self->processor = processor_seconds_now() - processor;
}

static ath_status print_result(const bench *self, bool json) {
  double megabytes = (double)self->text.length / 1e6;
  double rate = self->seconds > 0 ? megabytes / self->seconds : 0;
  ath_buffer out = ath_buffer_make(1 << 12);
  ath_status status = ath_buffer_format(
      &out,
      json ? "{\"bytes\":%zu,\"tokens\":%llu,\"seconds\":%.6f,\"processor_seconds\":%.6f,"
             "\"mb_per_s\":%.3f,\"load_ms\":%.3f}\n"
           : "%zu bytes, %llu tokens in %.3f s (%.3f s of processors): %.1f MB/s;"
             " loaded in %.1f ms\n",
      self->text.length, (unsigned long long)self->tokens, self->seconds, self->processor, rate,
      self->load * 1e3);
  if (status == ATH_OK) status = ath_cli_flush(&out);
  ath_buffer_free(&out);
  return status;
}

static ath_status measure(bench *self, const char *folder, bool json) {
  ATH_TRY(ath_file_read(self->path, &self->text));
  if (self->text.length == 0) return ath_fail(ATH_INVALID, "%s: is empty", self->path);
  ath_tokenizer *tokenizer;
  double began = seconds_now();
  ATH_TRY(ath_cli_load_tokenizer(folder, &tokenizer));
  self->load = seconds_now() - began;
  self->tokenizer = tokenizer;
  encode_all(self);
  ath_status status = ath_outcome_return(&self->outcome);
  if (status == ATH_OK) status = print_result(self, json);
  ath_tokenizer_destroy(tokenizer);
  return status;
}

static ath_status run(const ath_command *self, int argc, char **argv) {
  const char *folder = NULL, *input = NULL;
  bool json = false, offsets = false;
  int64_t threads = 1;
  const ath_option options[] = {
    ATH_TOKENIZER_OPTION(folder),
    {"input", ATH_OPTION_STRING, &input, "FILE", "Text to encode, a line at a time",
     .required = true},
    {"offsets", ATH_OPTION_FLAG, &offsets, NULL, .help = "Find out the offsets of tokens as well"},
    {"threads", ATH_OPTION_INTEGER, &threads, "N", "Threads, 0 for one per core",
     .minimum = 0, .maximum = ATH_THREADS_MAX},
    {"json", ATH_OPTION_FLAG, &json, NULL,
     .help = "Print one object: bytes, tokens, seconds, processor_seconds, mb_per_s, load_ms"},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  bench *b = calloc(1, sizeof *b);
  if (b == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to encode text");
  b->flags = ATH_ENCODE_SPECIAL | (offsets ? ATH_ENCODE_OFFSETS : 0u);
  b->threads = threads > 0 ? (int)threads : omp_get_max_threads();
  b->path = input;
  b->text = ath_buffer_make(INPUT_LIMIT);
  ath_status status = measure(b, folder, json);
  ath_buffer_free(&b->text);
  free(b);
  return status;
}

const ath_command ath_command_tokenizer_bench = {
  .name = "tokenizer bench",
  .summary = "measure how fast a tokenizer loads and encodes",
  .details =
      "Encodes every line of the file once, with new caches. Ids only, unless --offsets is given;\n"
      "a megabyte is 1,000,000 bytes of the file. Beside the seconds that passed stand those that\n"
      "all threads together spent on processors.\n\n"
      "Example:\n"
      "  athanor tokenizer bench --tokenizer run/tokenizer --input text.txt --threads 2 --json",
  .run = run,
};
