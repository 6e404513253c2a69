/* roles.c: which special token does what, by tokenizer_config.json and special_tokens_map.json. */
#include <string.h>

#include "base/log.h"
#include "storage/file.h"
#include "tokenizers/tokenizer.h"

enum { CONFIG_BYTES_MAX = 16 << 20 };

/* The keys of both files, and the spellings to look for when no file names the token. */
static const struct {
  const char *key, *usual[2];
} roles[ATH_TOKEN_ROLE_COUNT] = {
  [ATH_TOKEN_CLS] = {"cls_token", {"[CLS]", "<s>"}},
  [ATH_TOKEN_SEP] = {"sep_token", {"[SEP]", "</s>"}},
  [ATH_TOKEN_UNK] = {"unk_token", {"<unk>", "[UNK]"}},
  [ATH_TOKEN_PAD] = {"pad_token", {"<pad>", "[PAD]"}},
  [ATH_TOKEN_MASK] = {"mask_token", {"[MASK]", "<mask>"}},
};

const char *ath_token_role_key(ath_token_role role) {
  assert(role >= 0 && role < ATH_TOKEN_ROLE_COUNT);
  return roles[role].key;
}

/* A token is named by its text, or by an object that has the text as "content". */
static ath_status read_role(ath_tokenizer *self, const ath_json *json, ath_token_role role) {
  if (ath_json_absent(json) || self->roles[role] >= 0) return ATH_OK;
  ath_json content = ath_json_member(json, "content");
  const char *token;
  size_t length;
  ATH_TRY(ath_json_string(json_is_object(json->value) ? &content : json, &token, &length));
  self->roles[role] = ath_tokenizer_id(self, token);
  if (self->roles[role] < 0)
    ath_json_warn(json, "\"%.100s\" is not in tokenizer.json, ignored", token);
  return ATH_OK;
}

/* A file that is missing names nothing. model_max_length may be far beyond 64 bits, so integers are
 * read as floating-point numbers. */
static ath_status read_file(ath_tokenizer *self, const char *folder, const char *name) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, folder, name));
  if (!ath_path_exists(path)) return ATH_OK;
  json_t *tree;
  ath_json root;
  ATH_TRY(ath_json_load(path, CONFIG_BYTES_MAX, true, &tree, &root));
  ath_status status = ATH_OK;
  for (int r = 0; r < ATH_TOKEN_ROLE_COUNT && status == ATH_OK; r++) {
    ath_json member = ath_json_member(&root, roles[r].key);
    status = read_role(self, &member, (ath_token_role)r);
  }
  json_decref(tree);
  return status;
}

ath_status ath_tokenizer_read_roles(ath_tokenizer *self, const char *folder) {
  ATH_TRY(read_file(self, folder, "tokenizer_config.json"));
  return read_file(self, folder, "special_tokens_map.json");
}

void ath_tokenizer_guess_roles(ath_tokenizer *self) {
  for (int r = 0; r < ATH_TOKEN_ROLE_COUNT; r++)
    for (int u = 0; u < 2 && self->roles[r] < 0; u++)
      self->roles[r] = ath_tokenizer_id(self, roles[r].usual[u]);
}
