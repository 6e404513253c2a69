/* program_pieces.c: for tests that run the reference beside us: encodes and decodes for many
 * tokenizers, of which each line of the input names one.
 *
 *   encode PATH HEX HEX …    →  for each text a line: HEX:START:END for each token; bytes as hex;
 *                               a failure, too, when who asks for ids alone gets others
 *   decode PATH ID,ID ID …   →  for each list of ids a line: the text as hex
 *   write PATH               →  the file as it would be saved, as hex
 *
 * A failure is a line that begins with "!". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/tokenizer.h"
#include "base/buffer.h"
#include "tokenizers/tokenizer.h"

static void print_hex(const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) printf("%02x", (unsigned char)bytes[i]);
}

static size_t read_hex(const char *hex, char *out) {
  size_t length = 0;
  for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
    char pair[3] = {hex[0], hex[1], '\0'};
    out[length++] = (char)strtoul(pair, NULL, 16);
  }
  return length;
}

static void fail(void) { printf("! %s\n", ath_error_text()); }

/* Encodes with tokens and offsets, and for ids alone, which are found another way. */
static ath_status encode_both_ways(const ath_tokenizer *tokenizer, const char *text,
                                   size_t length, ath_encoding *encoding, ath_encoding *alone) {
  ATH_TRY(ath_tokenizer_encode(tokenizer, text, length, ATH_ENCODE_OFFSETS | ATH_ENCODE_TOKENS,
                               encoding));
  ATH_TRY(ath_tokenizer_encode(tokenizer, text, length, 0, alone));
  bool same = alone->length == encoding->length;
  for (size_t i = 0; same && i < alone->length; i++) same = alone->ids[i] == encoding->ids[i];
  return same ? ATH_OK : ath_fail(ATH_INVALID, "other ids when they are asked for alone");
}

static void encode(const ath_tokenizer *tokenizer, ath_encoding *encoding, ath_encoding *alone,
                   const char *hex) {
  char *text = malloc(strlen(hex) / 2 + 1);
  if (text == NULL) abort();
  size_t length = read_hex(hex, text);
  ath_status status = encode_both_ways(tokenizer, text, length, encoding, alone);
  if (status != ATH_OK) fail();
  for (size_t i = 0; status == ATH_OK && i < encoding->length; i++) {
    size_t token_length;
    const char *token = ath_encoding_token(encoding, tokenizer, i, &token_length);
    print_hex(token, token_length);
    printf(":%u:%u ", encoding->starts[i], encoding->ends[i]);
  }
  if (status == ATH_OK) putchar('\n');
  free(text);
}

static void decode(const ath_tokenizer *tokenizer, char *list) {
  int32_t ids[4096];
  size_t count = 0;
  for (char *at = list; *at != '\0' && *at != '-' && count < 4096;) {
    ids[count++] = (int32_t)strtol(at, &at, 10);
    if (*at == ',') at++;
  }
  ath_buffer text = ath_buffer_make(1 << 24);
  if (ath_tokenizer_decode(tokenizer, ids, count, 0, &text) != ATH_OK) {
    fail();
  } else {
    print_hex(text.bytes, text.length);
    putchar('\n');
  }
  ath_buffer_free(&text);
}

static void serve(char *line) {
  char *rest = line, *verb = strsep(&rest, " "), *path = strsep(&rest, " ");
  ath_tokenizer *tokenizer;
  ath_encoding encoding = {0}, alone = {0};
  ath_status status = ath_tokenizer_load(path, &tokenizer);
  if (status != ATH_OK && rest == NULL) fail();
  if (status == ATH_OK && strcmp(verb, "write") == 0) {
    ath_buffer json = ath_buffer_make(1 << 28);
    if (ath_tokenizer_write(tokenizer, &json) != ATH_OK) fail();
    print_hex(json.bytes, json.length);
    putchar('\n');
    ath_buffer_free(&json);
  }
  for (char *item; rest != NULL && (item = strsep(&rest, " ")) != NULL;) {
    if (status != ATH_OK) fail();
    else if (strcmp(verb, "encode") == 0) encode(tokenizer, &encoding, &alone, item);
    else decode(tokenizer, item);
  }
  ath_encoding_free(&encoding);
  ath_encoding_free(&alone);
  if (status == ATH_OK) ath_tokenizer_destroy(tokenizer);
}

int main(void) {
  char *line = NULL;
  size_t room = 0;
  for (ssize_t length; (length = getline(&line, &room, stdin)) > 0;) {
    line[length - 1] = '\0';
    serve(line);
    fflush(stdout);
  }
  free(line);
  return 0;
}
