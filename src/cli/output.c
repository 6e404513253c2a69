/* output.c: what goes to standard output; text for a person without characters that steer a
 * terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/cli.h"

bool ath_cli_may_steer(int descriptor) {
  const char *term = getenv("TERM");
  return isatty(descriptor) && term != NULL && strcmp(term, "dumb") != 0;
}

ath_status ath_cli_flush(ath_buffer *out) {
  if (out->length > 0 && fwrite(out->bytes, 1, out->length, stdout) != out->length)
    return ath_fail_errno(errno, "cannot write to standard output");
  ath_buffer_clear(out);
  return ATH_OK;
}

static bool is_control(unsigned char c) { return c < 0x20 || c == 0x7F; }

/* Bytes of the character that begins here; 0 if none does. */
static size_t character_length(const char *bytes, size_t length) {
  unsigned char first = (unsigned char)bytes[0];
  size_t wanted = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return wanted <= length && ath_utf8_prefix(bytes, wanted) == wanted ? wanted : 0;
}

/* The C1 controls, U+0080 to U+009F, which in UTF-8 begin with this byte. */
static bool is_c1(const char *bytes, size_t length) {
  return length == 2 && (unsigned char)bytes[0] == 0xC2 && (unsigned char)bytes[1] < 0xA0;
}

ath_status ath_cli_put_visible(ath_buffer *out, const char *bytes, size_t length) {
  for (size_t i = 0; i < length;) {
    unsigned char c = (unsigned char)bytes[i];
    size_t count = character_length(bytes + i, length - i);
    if (count == 0 || is_control(c)) ATH_TRY(ath_buffer_format(out, "\\x%02X", c));
    else if (is_c1(bytes + i, count))
      ATH_TRY(ath_buffer_format(out, "\\u%04X", (unsigned char)bytes[i + 1]));
    else ATH_TRY(ath_buffer_append(out, bytes + i, count));
    i += count > 0 ? count : 1;
  }
  return ATH_OK;
}

/* The names of files are part of messages, and may hold anything. */
void ath_cli_say(FILE *to, const char *before, const char *text) {
  ath_buffer line = ath_buffer_make(8 * strlen(text) + 1);
  bool whole = ath_cli_put_visible(&line, text, strlen(text)) == ATH_OK;
  fprintf(to, "%s%s\n", before, whole && line.length > 0 ? line.bytes : text);
  ath_buffer_free(&line);
}
