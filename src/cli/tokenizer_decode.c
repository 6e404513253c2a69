/* tokenizer_decode.c: athanor tokenizer decode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/tokenizer.h"
#include "base/buffer.h"
#include "cli/cli.h"

#define OUTPUT_LIMIT ((size_t)1 << 32)

typedef struct decoder {
  const ath_tokenizer *tokenizer;
  bool skip_special;
  int32_t *ids;
  size_t count, capacity;
  ath_buffer line;
} decoder;

/* Adds the ids in a text, which spaces, tabs or commas separate. */
static ath_status add_ids(decoder *self, const char *text) {
  static const char between[] = " \t,[]";
  for (text += strspn(text, between); *text != '\0'; text += strspn(text, between)) {
    char *end;
    errno = 0;
    long id = strtol(text, &end, 10);
    if (end == text || errno != 0 || id < 0 || id > INT32_MAX ||
        (*end != '\0' && strchr(between, *end) == NULL))
      return ath_fail(ATH_INVALID, "\"%.*s\" is not an id", (int)strcspn(text, between), text);
    if (self->count == self->capacity) {
      size_t capacity = self->capacity * 2 + 256;
      int32_t *ids = realloc(self->ids, capacity * sizeof *ids);
      if (ids == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for %zu ids", capacity);
      self->ids = ids;
      self->capacity = capacity;
    }
    self->ids[self->count++] = (int32_t)id;
    text = end;
  }
  return ATH_OK;
}

static ath_status decode_ids(decoder *self) {
  ATH_TRY(ath_tokenizer_decode(self->tokenizer, self->ids, self->count, self->skip_special,
                               &self->line));
  self->count = 0;
  ATH_TRY(ath_buffer_byte(&self->line, '\n'));
  return ath_cli_flush(&self->line);
}

static ath_status decode_all(decoder *self, const ath_operands *operands) {
  for (int i = 0; i < operands->count; i++) ATH_TRY(add_ids(self, operands->items[i]));
  if (operands->count > 0) return decode_ids(self);
  for (unsigned long long number = 1;; number++) {
    const char *line;
    size_t length;
    ATH_TRY(ath_cli_read_line(&line, &length));
    if (line == NULL) return ATH_OK;
    if (strlen(line) != length)
      return ath_fail(ATH_INVALID, "standard input: line %llu: holds a NUL character", number);
    ATH_TRY_CONTEXT(add_ids(self, line), "standard input: line %llu", number);
    ATH_TRY_CONTEXT(decode_ids(self), "standard input: line %llu", number);
  }
}

static ath_status run_decode(const ath_command *self, int argc, char **argv) {
  const char *folder = NULL;
  bool skip = false;
  const ath_option options[] = {
    ATH_TOKENIZER_OPTION(folder),
    {"skip-special-tokens", ATH_OPTION_FLAG, &skip, NULL,
     .help = "Leave out [CLS], [SEP] and their like"},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ath_tokenizer *tokenizer;
  ATH_TRY(ath_cli_load_tokenizer(folder, &tokenizer));
  decoder d = {.tokenizer = tokenizer, .skip_special = skip,
               .line = ath_buffer_make(OUTPUT_LIMIT)};
  ath_status status = decode_all(&d, &operands);
  free(d.ids);
  ath_buffer_free(&d.line);
  ath_tokenizer_destroy(tokenizer);
  return status;
}

const ath_command ath_command_tokenizer_decode = {
  .name = "tokenizer decode",
  .summary = "turn ids back into text",
  .operands = "[ID…]",
  .details =
      "Without ids, each line of standard input holds those of one text.\n\n"
      "Example:\n"
      "  athanor tokenizer decode --tokenizer run/tokenizer --skip-special-tokens 0 52 138 1",
  .run = run_decode,
};
