/* program_models.c: encodes texts with many tokenizers in one process, for the Python tests.
 *
 * Standard input holds lines: "load PATH", "save", or "text FLAGS LENGTH" and then LENGTH bytes.
 * Each gives a line: "ok" or JSON, or "error" and the text of the failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizers/tokenizer.h"

#define LIMIT ((size_t)1 << 30)

static ath_tokenizer *tokenizer;
static ath_encoding encoding;

static ath_status load(const char *path) {
  ath_tokenizer_destroy(tokenizer);
  tokenizer = NULL;
  return ath_tokenizer_load(path, &tokenizer);
}

static ath_status save(ath_buffer *out) {
  ath_buffer file = ath_buffer_make(LIMIT);
  ath_status status = ath_tokenizer_write(tokenizer, &file);
  if (status == ATH_OK) status = ath_buffer_json(out, file.bytes, file.length);
  ath_buffer_free(&file);
  return status;
}

static ath_status put_offsets(ath_buffer *out) {
  for (size_t i = 0; i < encoding.length; i++)
    ATH_TRY(ath_buffer_format(out, "%s[%u,%u]", i > 0 ? "," : "", encoding.starts[i],
                              encoding.ends[i]));
  return ATH_OK;
}

static ath_status put_tokens(ath_buffer *out) {
  for (size_t i = 0; i < encoding.length; i++) {
    size_t length;
    const char *token = ath_encoding_token(&encoding, tokenizer, i, &length);
    ATH_TRY(ath_buffer_string(out, i > 0 ? "," : ""));
    ATH_TRY(ath_buffer_json(out, token, length));
  }
  return ATH_OK;
}

static ath_status encode(const char *text, size_t length, unsigned flags, ath_buffer *out) {
  ATH_TRY(ath_tokenizer_encode(tokenizer, text, length, flags, &encoding));
  ATH_TRY(ath_buffer_string(out, "{\"ids\":["));
  for (size_t i = 0; i < encoding.length; i++)
    ATH_TRY(ath_buffer_format(out, "%s%d", i > 0 ? "," : "", encoding.ids[i]));
  ATH_TRY(ath_buffer_string(out, "],\"offsets\":["));
  if (flags & ATH_ENCODE_OFFSETS) ATH_TRY(put_offsets(out));
  ATH_TRY(ath_buffer_string(out, "],\"tokens\":["));
  if (flags & ATH_ENCODE_TOKENS) ATH_TRY(put_tokens(out));
  return ath_buffer_string(out, "]}");
}

static ath_status answer(char *line, ath_buffer *out) {
  unsigned flags;
  size_t length;
  line[strcspn(line, "\n")] = '\0';
  if (strncmp(line, "load ", 5) == 0) {
    ATH_TRY(load(line + 5));
    return ath_buffer_string(out, "ok");
  }
  if (strcmp(line, "save") == 0) return save(out);
  if (sscanf(line, "text %u %zu", &flags, &length) != 2)
    return ath_fail(ATH_USAGE, "not a command: %s", line);
  char *text = malloc(length + 1);
  if (text == NULL || fread(text, 1, length, stdin) != length) exit(1);
  ath_status status = encode(text, length, flags, out);
  free(text);
  return status;
}

int main(void) {
  char line[4096];
  while (fgets(line, sizeof line, stdin) != NULL) {
    ath_buffer out = ath_buffer_make(LIMIT);
    if (answer(line, &out) == ATH_OK) printf("%s\n", out.bytes);
    else printf("error %s\n", ath_error_text());
    fflush(stdout);
    ath_buffer_free(&out);
  }
  ath_encoding_free(&encoding);
  ath_tokenizer_destroy(tokenizer);
  return 0;
}
