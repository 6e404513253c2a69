/* output.c: what goes to standard output; text for a person without characters that steer a
 * terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* The C1 controls, U+0080 to U+009F, which in UTF-8 begin with this byte. */
static bool begins_c1(const char *bytes, size_t length) {
  return length >= 2 && (unsigned char)bytes[0] == 0xC2 && (unsigned char)bytes[1] < 0xA0;
}

ath_status ath_cli_put_visible(ath_buffer *out, const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)bytes[i];
    if (is_control(c)) {
      ATH_TRY(ath_buffer_format(out, "\\x%02X", c));
    } else if (begins_c1(bytes + i, length - i)) {
      ATH_TRY(ath_buffer_format(out, "\\u%04X", (unsigned char)bytes[++i]));
    } else {
      ATH_TRY(ath_buffer_byte(out, bytes[i]));
    }
  }
  return ATH_OK;
}
