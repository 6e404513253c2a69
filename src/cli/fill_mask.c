/* fill_mask.c: athanor fill-mask. */
#include <stdlib.h>
#include <string.h>

#include "athanor/model.h"
#include "base/buffer.h"
#include "cli/cli.h"
#include "storage/file.h"

enum { OUTPUT_BYTES_MAX = 1 << 28, TOKEN_COLUMN = 16 };

static ath_status append_filling(ath_buffer *out, const ath_filling *f) {
  ATH_TRY(ath_buffer_string(out, "{\"score\": "));
  ATH_TRY(ath_buffer_double(out, f->score));
  ATH_TRY(ath_buffer_format(out, ", \"token\": %d, \"token_str\": ", f->token));
  ATH_TRY(ath_buffer_json(out, f->token_str, strlen(f->token_str)));
  ATH_TRY(ath_buffer_string(out, ", \"sequence\": "));
  ATH_TRY(ath_buffer_json(out, f->sequence, strlen(f->sequence)));
  return ath_buffer_byte(out, '}');
}

/* One line: a list of fillings, or for several masks a list of such lists. */
static ath_status append_json(ath_buffer *out, const ath_fill_result *result) {
  if (result->masks > 1) ATH_TRY(ath_buffer_byte(out, '['));
  for (size_t m = 0; m < result->masks; m++) {
    ATH_TRY(ath_buffer_string(out, m > 0 ? ", [" : "["));
    for (size_t i = 0; i < result->top_k; i++) {
      if (i > 0) ATH_TRY(ath_buffer_string(out, ", "));
      ATH_TRY(append_filling(out, &result->fillings[m * result->top_k + i]));
    }
    ATH_TRY(ath_buffer_byte(out, ']'));
  }
  if (result->masks > 1) ATH_TRY(ath_buffer_byte(out, ']'));
  return ATH_OK;
}

/* A bare word mark decodes to nothing; it is shown, not left as a gap. */
static ath_status append_shown(ath_buffer *out, const ath_filling *f) {
  const char *shown = *f->token_str != '\0' ? f->token_str : "␣";
  ATH_TRY(ath_buffer_format(out, "  %6.2f %%  ", 100 * f->score));
  size_t before = out->length;
  ATH_TRY(ath_cli_put_visible(out, shown, strlen(shown)));
  while (out->length < before + TOKEN_COLUMN) ATH_TRY(ath_buffer_byte(out, ' '));
  ATH_TRY(ath_buffer_byte(out, ' '));
  ATH_TRY(ath_cli_put_visible(out, f->sequence, strlen(f->sequence)));
  return ath_buffer_byte(out, '\n');
}

static ath_status append_text(ath_buffer *out, const char *text, const ath_fill_result *result) {
  ATH_TRY(ath_cli_put_visible(out, text, strlen(text)));
  ATH_TRY(ath_buffer_byte(out, '\n'));
  for (size_t m = 0; m < result->masks; m++) {
    if (result->masks > 1) ATH_TRY(ath_buffer_format(out, "  mask %zu\n", m + 1));
    for (size_t i = 0; i < result->top_k; i++)
      ATH_TRY(append_shown(out, &result->fillings[m * result->top_k + i]));
  }
  return ATH_OK;
}

static ath_status fill(ath_filler *filler, const char *text, int top_k, bool json) {
  ath_fill_result result;
  ATH_TRY(ath_filler_run(filler, text, top_k, &result));
  ath_buffer out = ath_buffer_make(OUTPUT_BYTES_MAX);
  ath_status status = json ? append_json(&out, &result) : append_text(&out, text, &result);
  if (status == ATH_OK && json) status = ath_buffer_byte(&out, '\n');
  if (status == ATH_OK) fwrite(out.bytes, 1, out.length, stdout);
  ath_buffer_free(&out);
  ath_fill_result_free(&result);
  return status;
}

static ath_status fill_lines(ath_filler *filler, int top_k, bool json) {
  for (uint64_t number = 1;; number++) {
    const char *line;
    size_t length;
    ATH_TRY(ath_cli_read_line(&line, &length));
    if (line == NULL) return ATH_OK;
    if (memchr(line, 0, length) != NULL)
      return ath_fail(ATH_INVALID, "standard input, line %llu: holds a zero byte",
                      (unsigned long long)number);
    char *text = strndup(line, length);
    if (text == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a line");
    ath_status status = fill(filler, text, top_k, json);
    free(text);
    ATH_TRY_CONTEXT(status, "standard input, line %llu", (unsigned long long)number);
  }
}

static ath_status run(const ath_command *self, int argc, char **argv) {
  const char *model = NULL, *device = "cpu";
  int64_t top_k = 5;
  bool json = false;
  const ath_option options[] = {
    {"model", ATH_OPTION_STRING, &model, "DIR", "Model folder", .required = true},
    {"top-k", ATH_OPTION_INTEGER, &top_k, "N", "Fillings per mask",
     .minimum = 1, .maximum = 1 << 24},
    {"device", ATH_OPTION_STRING, &device, "NAME", .help = "Where to compute: cpu, xla:cpu, "
     "cuda, tpu, or a PJRT plugin's path ending in .so"},
    {"json", ATH_OPTION_FLAG, &json, NULL, .help = "Print one JSON list per text"},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ath_filler *filler = NULL;
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_cli_locate(ATH_CLI_MODEL, model, path));
  ATH_TRY(ath_filler_open(path, device, &filler));
  ath_status status = ATH_OK;
  for (int i = 0; i < operands.count && status == ATH_OK; i++)
    status = fill(filler, operands.items[i], (int)top_k, json);
  if (operands.count == 0) status = fill_lines(filler, (int)top_k, json);
  ath_filler_close(filler);
  return status;
}

const ath_command ath_command_fill_mask = {
  .name = "fill-mask",
  .summary = "the likeliest words for the masks in a text",
  .operands = "[TEXT…]",
  .details =
      "Texts are arguments, or lines of standard input when there are none. With --json each text\n"
      "gives one line, a list of {\"score\", \"token\", \"token_str\", \"sequence\"} as the\n"
      "pipeline of transformers does; a text with several masks gives a list of such lists.\n\n"
      "Example:\n"
      "  athanor fill-mask --model runs/demo \"The capital of France is [MASK].\"",
  .run = run,
};
