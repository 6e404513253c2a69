/* convert.c: which file it is. */
#include "tokenizers/files/convert.h"

#include <string.h>

#include "base/text.h"
#include "storage/file.h"
#include "tokenizers/files/sentencepiece.h"
#include "tokenizers/files/tiktoken.h"
#include "tokenizers/files/vocabularies.h"
#include "tokenizers/tokenizer.h"

#define LENGTH_MOST 1e9

/* Reads a tree that was made of the files at `path`. */
static ath_status read_tree(const char *path, json_t *tree, ath_tokenizer *self) {
  ath_json root = {.value = tree, .key = path};
  ath_status status = ath_tokenizer_read_parts(&root, self);
  json_decref(tree);
  ATH_TRY(status);
  ATH_TRY_CONTEXT(ath_tokenizer_finish(self), "%s", path);
  return ATH_OK;
}

static ath_status read_file(const char *path, const ath_convert_options *options,
                            ath_tokenizer *self) {
  bool model = ath_ends_with(path, ".model");
  if (ath_ends_with(path, ".tiktoken") || (model && ath_tiktoken_is(path)))
    return ath_tiktoken_read(path, options->pattern, self);
  if (model) return ath_sentencepiece_read(path, self);
  json_t *tree;
  ATH_TRY(ath_bert_vocabulary_read(path, options->letters, &tree));
  return read_tree(path, tree, self);
}

/* The file's path, when the folder has it. */
static bool has(const char *folder, const char *name, char path[ATH_PATH_MAX]) {
  return ath_path_join(path, folder, name) == ATH_OK && ath_path_exists(path);
}

/* A list of ranks has many names and one ending. */
static bool has_ranks(const char *folder, char path[ATH_PATH_MAX]) {
  char **names;
  size_t count;
  bool found = false;
  if (ath_folder_list(folder, &names, &count) != ATH_OK) return false;
  for (size_t i = 0; i < count && !found; i++)
    found = ath_ends_with(names[i], ".tiktoken") && has(folder, names[i], path);
  ath_folder_list_free(names, count);
  return found;
}

static ath_status read_folder(const char *folder, const ath_convert_options *options,
                              ath_tokenizer *self) {
  static const char *const models[] = {"tokenizer.model", "spiece.model",
                                       "sentencepiece.bpe.model", "sentencepiece.model"};
  char path[ATH_PATH_MAX], merges[ATH_PATH_MAX];
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    if (has(folder, models[i], path)) return read_file(path, options, self);
  if (has(folder, "vocab.json", path) && has(folder, "merges.txt", merges)) {
    json_t *tree;
    ATH_TRY(ath_byte_level_vocabulary_read(path, merges, &tree));
    return read_tree(folder, tree, self);
  }
  if (has(folder, "vocab.txt", path) || has_ranks(folder, path))
    return read_file(path, options, self);
  if (has(folder, "tokenizer.json", path))
    return ath_fail(ATH_INVALID, "%s is there: nothing needs to be converted", path);
  return ath_fail(ATH_NOT_FOUND, "%s: has no tokenizer.json, and neither vocab.txt nor vocab.json "
                  "and merges.txt, nor a SentencePiece model (tokenizer.model, spiece.model) or a "
                  "*.tiktoken", folder);
}

/* The tokens' roles, which the usual spellings alone have told so far. */
static ath_status read_roles(const char *folder, ath_tokenizer *self) {
  for (int r = 0; r < ATH_TOKEN_ROLE_COUNT; r++) self->roles[r] = -1;
  ATH_TRY(ath_tokenizer_read_roles(self, folder));
  ath_tokenizer_guess_roles(self);
  return ATH_OK;
}

static bool is_one_of_two(const char *path) {
  return ath_ends_with(path, "vocab.json") || ath_ends_with(path, "merges.txt");
}

/* "a/b" → "a/"; "b" → "./". */
static ath_status folder_of(const char *path, char out[ATH_PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
  if (length >= ATH_PATH_MAX) return ath_fail(ATH_INVALID, "%.60s…: the path is too long", path);
  memcpy(out, length > 0 ? path : "./", length > 0 ? length : 2);
  out[length > 0 ? length : 2] = '\0';
  return ATH_OK;
}

static ath_status read(const char *path, const ath_convert_options *options,
                       ath_tokenizer *self) {
  char folder[ATH_PATH_MAX], both[2][ATH_PATH_MAX];
  ATH_TRY(folder_of(path, folder));
  if (is_one_of_two(path) && ath_path_exists(path)) {
    if (!has(folder, "vocab.json", both[0]) || !has(folder, "merges.txt", both[1]))
      return ath_fail(ATH_NOT_FOUND, "%s: vocab.json and merges.txt belong together, and the other "
                      "one is not beside it", path);
    path = folder;
  }
  if (!ath_path_is_folder(path)) return read_file(path, options, self);
  ATH_TRY(read_folder(path, options, self));
  return read_roles(path, self);
}

ath_status ath_tokenizer_convert(const char *path, const ath_convert_options *options,
                                 ath_tokenizer **out) {
  static const ath_convert_options usual = {0};
  assert(path != NULL && out != NULL);
  ath_tokenizer *self;
  ATH_TRY(ath_tokenizer_create(&self));
  ath_status status = read(path, options != NULL ? options : &usual, self);
  if (status == ATH_OK) *out = self;
  else ath_tokenizer_destroy(self);
  return status;
}

ath_status ath_tokenizer_given_length(const char *path, int64_t *out) {
  enum { CONFIG_BYTES_MAX = 16 << 20 };
  char folder[ATH_PATH_MAX], file[ATH_PATH_MAX];
  json_t *tree;
  ath_json root;
  *out = 0;
  if (!ath_path_is_folder(path)) {
    ATH_TRY(folder_of(path, folder));
    path = folder;
  }
  if (!has(path, "tokenizer_config.json", file)) return ATH_OK;
  ATH_TRY(ath_json_load(file, CONFIG_BYTES_MAX, true, &tree, &root)); /* 1e30 stands for none */
  double length = json_number_value(json_object_get(root.value, "model_max_length"));
  if (length >= 1 && length <= LENGTH_MOST) *out = (int64_t)length;
  json_decref(tree);
  return ATH_OK;
}

bool ath_tokenizer_needs_conversion(const char *path) {
  char file[ATH_PATH_MAX];
  if (ath_path_is_folder(path)) return !has(path, "tokenizer.json", file);
  return ath_ends_with(path, ".model") || ath_ends_with(path, ".tiktoken") ||
         ath_ends_with(path, ".txt") || ath_ends_with(path, "vocab.json");
}
