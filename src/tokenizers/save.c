/* save.c: a tokenizer written as the ecosystem's three files: tokenizer.json as the tokenizers
 * library lays it out, tokenizer_config.json and special_tokens_map.json as transformers does. */
#include <string.h>

#include "storage/file.h"
#include "tokenizers/tokenizer.h"

#define JSON_LIMIT ((size_t)1 << 30)

#define WRITE_PART(self, member, out)                                                   \
  do {                                                                                  \
    if ((self)->member.kind == NULL) ath_json_put_null(out, #member);                   \
    else ath_part_write(#member, (ath_part){&(self)->member.kind->base, (self)->member.data}, \
                        out);                                                           \
  } while (0)

ath_status ath_tokenizer_write(const ath_tokenizer *self, ath_buffer *out) {
  ath_json_writer writer = ath_json_writer_make(out);
  ath_json_open(&writer, NULL, '{');
  ath_json_put_text(&writer, "version", "1.0");
  ath_truncation_write(self, &writer);
  ath_padding_write(self, &writer);
  ath_added_tokens_write(&self->added, &writer);
  WRITE_PART(self, normalizer, &writer);
  WRITE_PART(self, pre_tokenizer, &writer);
  WRITE_PART(self, post_processor, &writer);
  WRITE_PART(self, decoder, &writer);
  WRITE_PART(self, model, &writer);
  ath_json_close(&writer, '}');
  return writer.status;
}

/* In the order of the alphabet, as json.dumps(sort_keys=True) has them. */
static const ath_token_role by_name[ATH_TOKEN_ROLE_COUNT] = {
  ATH_TOKEN_CLS, ATH_TOKEN_MASK, ATH_TOKEN_PAD, ATH_TOKEN_SEP, ATH_TOKEN_UNK,
};

static void write_role(const ath_tokenizer *self, ath_token_role role, ath_json_writer *out) {
  int32_t id = self->roles[role];
  if (id >= 0) ath_json_put_text(out, ath_token_role_key(role), ath_tokenizer_token(self, id));
}

/* An added token as tokenizer_config.json has it: keyed by its id. */
static void write_decoder_token(const ath_added_token *t, ath_json_writer *out) {
  char id[16];
  snprintf(id, sizeof id, "%d", t->id);
  ath_json_open(out, id, '{');
  ath_json_put_string(out, "content", t->content, t->length);
  ath_json_put_flag(out, "lstrip", t->lstrip);
  ath_json_put_flag(out, "normalized", t->normalized);
  ath_json_put_flag(out, "rstrip", t->rstrip);
  ath_json_put_flag(out, "single_word", t->single_word);
  ath_json_put_flag(out, "special", t->special);
  ath_json_close(out, '}');
}

/* The class is the one that takes tokenizer.json as it is, in transformers 4 and 5 alike; the
 * largest length is transformers' way of saying that none is known. */
static ath_status write_config(const ath_tokenizer *self, int64_t model_max_length,
                               ath_buffer *out) {
  ath_json_writer writer = ath_json_writer_make(out);
  ath_json_open(&writer, NULL, '{');
  ath_json_open(&writer, "added_tokens_decoder", '{');
  for (size_t i = 0; i < self->added.count; i++)
    write_decoder_token(&self->added.items[i], &writer);
  ath_json_close(&writer, '}');
  ath_json_put_flag(&writer, "clean_up_tokenization_spaces", false);
  for (int r = 0; r < ATH_TOKEN_ROLE_COUNT; r++) {
    if (by_name[r] == ATH_TOKEN_PAD && model_max_length > 0)
      ath_json_put_integer(&writer, "model_max_length", model_max_length);
    else if (by_name[r] == ATH_TOKEN_PAD)
      ath_json_put_literal(&writer, "model_max_length", "1000000000000000019884624838656");
    if (by_name[r] == ATH_TOKEN_UNK)
      ath_json_put_text(&writer, "tokenizer_class", "PreTrainedTokenizerFast");
    write_role(self, by_name[r], &writer);
  }
  ath_json_close(&writer, '}');
  if (writer.status != ATH_OK) return writer.status;
  return ath_buffer_byte(out, '\n');
}

static ath_status write_map(const ath_tokenizer *self, int64_t model_max_length,
                            ath_buffer *out) {
  (void)model_max_length;
  ath_json_writer writer = ath_json_writer_make(out);
  ath_json_open(&writer, NULL, '{');
  for (int r = 0; r < ATH_TOKEN_ROLE_COUNT; r++) write_role(self, by_name[r], &writer);
  ath_json_close(&writer, '}');
  if (writer.status != ATH_OK) return writer.status;
  return ath_buffer_byte(out, '\n');
}

static ath_status write_tokenizer(const ath_tokenizer *self, int64_t model_max_length,
                                  ath_buffer *out) {
  (void)model_max_length;
  return ath_tokenizer_write(self, out);
}

/* Composes a file's bytes and puts them in place at once, so that no reader sees half a file. */
static ath_status save_file(const ath_tokenizer *self, const char *folder, const char *name,
                            int64_t model_max_length,
                            ath_status (*compose)(const ath_tokenizer *, int64_t, ath_buffer *)) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, folder, name));
  ath_buffer bytes = ath_buffer_make(JSON_LIMIT);
  ath_status status = compose(self, model_max_length, &bytes);
  if (status == ATH_OK) status = ath_file_write(path, bytes.bytes, bytes.length);
  ath_buffer_free(&bytes);
  return status;
}

ath_status ath_tokenizer_save(const ath_tokenizer *self, const char *folder,
                              int64_t model_max_length) {
  ATH_TRY(ath_folder_create(folder));
  ATH_TRY(save_file(self, folder, "tokenizer.json", model_max_length, write_tokenizer));
  ATH_TRY(save_file(self, folder, "tokenizer_config.json", model_max_length, write_config));
  return save_file(self, folder, "special_tokens_map.json", model_max_length, write_map);
}
