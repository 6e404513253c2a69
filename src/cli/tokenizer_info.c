/* tokenizer_info.c: athanor tokenizer info. */
#include <string.h>

#include "athanor/tokenizer.h"
#include "base/utf8.h"
#include "cli/cli.h"

enum { OTHERS_SHOWN = 10 };
#define OUTPUT_LIMIT ((size_t)1 << 30)

static const char *const role_names[ATH_TOKEN_ROLE_COUNT] = {
  [ATH_TOKEN_CLS] = "cls", [ATH_TOKEN_SEP] = "sep", [ATH_TOKEN_UNK] = "unk",
  [ATH_TOKEN_PAD] = "pad", [ATH_TOKEN_MASK] = "mask",
};

static const char *const part_names[ATH_PART_COUNT] = {
  [ATH_PART_NORMALIZER] = "normalizer", [ATH_PART_PRE_TOKENIZER] = "pre_tokenizer",
  [ATH_PART_MODEL] = "model", [ATH_PART_POST_PROCESSOR] = "post_processor",
  [ATH_PART_DECODER] = "decoder",
};

/* --- the vocabulary ------------------------------------------------------------------------ */

typedef struct vocabulary {
  int32_t size, unused, special;  /* one past the largest id; ids without a token; special ones */
  int32_t single, longest;        /* of the others: those of one character; the longest's id, −1 */
  double mean_bytes, mean_characters;
} vocabulary;

static vocabulary measure(const ath_tokenizer *tokenizer) {
  vocabulary v = {.size = ath_tokenizer_size(tokenizer), .longest = -1};
  size_t most = 0, bytes = 0, characters = 0, count = 0;
  for (int32_t id = 0; id < v.size; id++) {
    const char *token = ath_tokenizer_token(tokenizer, id);
    bool special = token != NULL && ath_tokenizer_is_special(tokenizer, id);
    v.unused += token == NULL;
    v.special += special;
    if (token == NULL || special) continue;
    size_t length = strlen(token), width = ath_utf8_count(token, length);
    bytes += length;
    characters += width;
    v.single += width == 1;
    count++;
    if (length <= most) continue;
    most = length;
    v.longest = id;
  }
  if (count > 0) v.mean_bytes = (double)bytes / (double)count;
  if (count > 0) v.mean_characters = (double)characters / (double)count;
  return v;
}

/* --- for a person --------------------------------------------------------------------------- */

static ath_status put_vocabulary(const ath_tokenizer *tokenizer, ath_buffer *out) {
  vocabulary v = measure(tokenizer);
  ATH_TRY(ath_buffer_format(out, "tokens: %d", v.size));
  if (v.unused > 0) ATH_TRY(ath_buffer_format(out, " (%d ids without one)", v.unused));
  ATH_TRY(ath_buffer_format(out, "\nsingle characters: %d\nmean length: %.2f bytes,"
                            " %.2f characters\n", v.single, v.mean_bytes, v.mean_characters));
  if (v.longest < 0) return ATH_OK;
  const char *token = ath_tokenizer_token(tokenizer, v.longest);
  ATH_TRY(ath_buffer_string(out, "longest: "));
  ATH_TRY(ath_cli_put_visible(out, token, strlen(token)));
  return ath_buffer_format(out, " (%zu bytes, id %d)\n", strlen(token), v.longest);
}

static ath_status put_pipeline(const ath_tokenizer *tokenizer, ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, "pipeline:\n"));
  for (int p = 0; p < ATH_PART_COUNT; p++) {
    ATH_TRY(ath_buffer_format(out, "  %-14s ", part_names[p]));
    ATH_TRY(ath_tokenizer_describe(tokenizer, (ath_tokenizer_part)p, out));
    ATH_TRY(ath_buffer_byte(out, '\n'));
  }
  return ATH_OK;
}

static ath_status put_special(const ath_tokenizer *tokenizer, ath_buffer *out) {
  ATH_TRY(ath_buffer_string(out, "special tokens:\n"));
  for (int r = 0; r < ATH_TOKEN_ROLE_COUNT; r++) {
    int32_t id = ath_tokenizer_special(tokenizer, (ath_token_role)r);
    const char *name = id >= 0 ? ath_tokenizer_token(tokenizer, id) : "none";
    ATH_TRY(ath_buffer_format(out, "  %-5s ", role_names[r]));
    ATH_TRY(ath_cli_put_visible(out, name, strlen(name)));
    if (id >= 0) ATH_TRY(ath_buffer_format(out, " = %d", id));
    ATH_TRY(ath_buffer_byte(out, '\n'));
  }
  return ATH_OK;
}

static bool has_role(const ath_tokenizer *tokenizer, int32_t id) {
  for (int r = 0; r < ATH_TOKEN_ROLE_COUNT; r++)
    if (ath_tokenizer_special(tokenizer, (ath_token_role)r) == id) return true;
  return false;
}

/* The next special token without a role from this id on; −1: none. */
static int32_t next_other(const ath_tokenizer *tokenizer, int32_t id) {
  for (int32_t size = ath_tokenizer_size(tokenizer); id < size; id++)
    if (ath_tokenizer_token(tokenizer, id) != NULL && ath_tokenizer_is_special(tokenizer, id) &&
        !has_role(tokenizer, id))
      return id;
  return -1;
}

/* Some tokenizers have thousands. */
static ath_status put_others(const ath_tokenizer *tokenizer, ath_buffer *out) {
  int count = 0;
  for (int32_t id = 0; (id = next_other(tokenizer, id)) >= 0; id++) {
    if (count++ >= OTHERS_SHOWN) continue;
    const char *token = ath_tokenizer_token(tokenizer, id);
    ATH_TRY(ath_buffer_format(out, "  %-5s ", count == 1 ? "other" : ""));
    ATH_TRY(ath_cli_put_visible(out, token, strlen(token)));
    ATH_TRY(ath_buffer_format(out, " = %d\n", id));
  }
  if (count <= OTHERS_SHOWN) return ATH_OK;
  return ath_buffer_format(out, "        and %d more\n", count - OTHERS_SHOWN);
}

static ath_status put_info(const ath_tokenizer *tokenizer, const char *hash, ath_buffer *out) {
  ATH_TRY(put_vocabulary(tokenizer, out));
  ATH_TRY(ath_buffer_format(out, "sha256: %s\n", hash));
  ATH_TRY(put_pipeline(tokenizer, out));
  ATH_TRY(put_special(tokenizer, out));
  return put_others(tokenizer, out);
}

/* --- for a program -------------------------------------------------------------------------- */

static ath_status put_pipeline_json(const ath_tokenizer *tokenizer, ath_buffer *out) {
  ath_buffer kind = ath_buffer_make(OUTPUT_LIMIT);
  ath_status status = ath_buffer_string(out, "\"pipeline\":{");
  for (int p = 0; p < ATH_PART_COUNT && status == ATH_OK; p++) {
    ath_buffer_clear(&kind);
    status = ath_tokenizer_describe(tokenizer, (ath_tokenizer_part)p, &kind);
    if (status == ATH_OK)
      status = ath_buffer_format(out, "%s\"%s\":", p > 0 ? "," : "", part_names[p]);
    if (status == ATH_OK) status = ath_buffer_json(out, kind.bytes, kind.length);
  }
  ath_buffer_free(&kind);
  return status == ATH_OK ? ath_buffer_byte(out, '}') : status;
}

static ath_status put_info_json(const ath_tokenizer *tokenizer, const char *hash,
                                ath_buffer *out) {
  vocabulary v = measure(tokenizer);
  ATH_TRY(ath_buffer_format(out, "{\"tokens\":%d,\"unused\":%d,\"special_count\":%d,"
                            "\"single_characters\":%d,\"mean_bytes\":%.4f,"
                            "\"mean_characters\":%.4f,\"longest\":%d,\"sha256\":\"%s\",",
                            v.size, v.unused, v.special, v.single, v.mean_bytes,
                            v.mean_characters, v.longest, hash));
  ATH_TRY(put_pipeline_json(tokenizer, out));
  ATH_TRY(ath_buffer_string(out, ",\"special\":{"));
  for (int r = 0; r < ATH_TOKEN_ROLE_COUNT; r++)
    ATH_TRY(ath_buffer_format(out, "%s\"%s\":%d", r > 0 ? "," : "", role_names[r],
                              ath_tokenizer_special(tokenizer, (ath_token_role)r)));
  ATH_TRY(ath_buffer_string(out, "},\"other_special\":["));
  const char *comma = "";
  for (int32_t id = 0; (id = next_other(tokenizer, id)) >= 0; id++, comma = ",")
    ATH_TRY(ath_buffer_format(out, "%s%d", comma, id));
  return ath_buffer_string(out, "]}\n");
}

/* --- the command --------------------------------------------------------------------------- */

static ath_status run_info(const ath_command *self, int argc, char **argv) {
  const char *folder = NULL;
  bool json = false;
  const ath_option options[] = {
    ATH_TOKENIZER_OPTION(folder),
    {"json", ATH_OPTION_FLAG, &json, NULL,
     .help = "Print one object; an id of -1 means there is none"},
    {0},
  };
  ath_operands operands;
  ATH_TRY(ath_cli_parse(self, options, argc, argv, &operands));
  if (operands.done) return ATH_OK;
  ath_tokenizer *tokenizer;
  ATH_TRY(ath_cli_load_tokenizer(folder, &tokenizer));
  ath_status status = ATH_OK;
  const char *hash = ath_tokenizer_hash(tokenizer);
  ath_buffer out = ath_buffer_make(OUTPUT_LIMIT);
  if (hash == NULL) status = ATH_NO_MEMORY;
  else status = json ? put_info_json(tokenizer, hash, &out) : put_info(tokenizer, hash, &out);
  if (status == ATH_OK) status = ath_cli_flush(&out);
  ath_buffer_free(&out);
  ath_tokenizer_destroy(tokenizer);
  return status;
}

const ath_command ath_command_tokenizer_info = {
  .name = "tokenizer info",
  .summary = "show a tokenizer's pipeline, vocabulary, special tokens and hash",
  .details = "Example:\n  athanor tokenizer info --tokenizer run/tokenizer",
  .run = run_info,
};
