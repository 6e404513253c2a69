/* written.c: parts written out. */
#include "tokenizers/files/written.h"

void ath_put_special(ath_json_writer *out, const char *text, size_t length, int32_t id) {
  ath_json_open(out, NULL, '{');
  ath_json_put_integer(out, "id", id);
  ath_json_put_string(out, "content", text, length);
  ath_json_put_flag(out, "special", true);
  ath_json_close(out, '}');
}

void ath_put_split(ath_json_writer *out, const char *pattern, size_t length) {
  ath_json_open(out, NULL, '{');
  ath_json_put_text(out, "type", "Split");
  ath_json_open(out, "pattern", '{');
  ath_json_put_string(out, "Regex", pattern, length);
  ath_json_close(out, '}');
  ath_json_put_text(out, "behavior", "Isolated");
  ath_json_put_flag(out, "invert", false);
  ath_json_close(out, '}');
}

void ath_open_sequence(ath_json_writer *out, const char *part, const char *list) {
  ath_json_open(out, part, '{');
  ath_json_put_text(out, "type", "Sequence");
  ath_json_open(out, list, '[');
}

void ath_close_sequence(ath_json_writer *out) {
  ath_json_close(out, ']');
  ath_json_close(out, '}');
}
