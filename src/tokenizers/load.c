/* load.c: tokenizer.json read into the parts of a tokenizer. Whatever the file holds, the answer
 * is a tokenizer or an error that names the place. */
#include <string.h>

#include "base/log.h"
#include "storage/file.h"
#include "tokenizers/tokenizer.h"

#define FILE_LIMIT ((size_t)1 << 30)

/* "Replace, Sequence", for the error that an unknown type gets. */
static void list_names(const ath_kind *const *kinds, size_t count, char *text, size_t room) {
  text[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    size_t used = strlen(text);
    snprintf(text + used, room - used, "%s%s", i > 0 ? ", " : "", kinds[i]->name);
  }
}

ath_status ath_kind_find(const ath_json *json, const ath_kind *const *kinds, size_t count,
                         const ath_kind **out) {
  ATH_TRY(ath_json_object(json));
  ath_json type = ath_json_member(json, "type");
  const char *name;
  size_t length;
  ATH_TRY(ath_json_string(&type, &name, &length));
  for (size_t i = 0; i < count; i++) {
    if (strcmp(kinds[i]->name, name) != 0) continue;
    assert(kinds[i]->read != NULL && kinds[i]->write != NULL);
    *out = kinds[i];
    return ATH_OK;
  }
  char names[256];
  assert(count > 0);
  list_names(kinds, count, names, sizeof names);
  return ath_json_fail(&type, ATH_UNSUPPORTED, "\"%.60s\" is not supported yet (supported: %s)",
                       name, names);
}

/* Each of these reads one part, which may be null. `base` is the first member of every kind, so
 * its address is the whole table's. */
#define READ_PART(member, kind_type, ...)                                              \
  static ath_status read_##member(const ath_json *root, ath_tokenizer *self) {         \
    static const ath_kind *const kinds[] = {__VA_ARGS__};                              \
    ath_json json = ath_json_member(root, #member);                                    \
    if (ath_json_absent(&json)) return ATH_OK;                                         \
    const ath_kind *kind;                                                              \
    void *data;                                                                        \
    ATH_TRY(ath_kind_find(&json, kinds, sizeof kinds / sizeof *kinds, &kind));         \
    ATH_TRY(kind->read(&json, self->arena, &data));                                    \
    self->member.kind = (const kind_type *)(const void *)kind;                         \
    self->member.data = data;                                                          \
    return ATH_OK;                                                                     \
  }

READ_PART(pre_tokenizer, ath_pre_tokenizer_kind, &ath_pre_tokenizer_metaspace.base)
READ_PART(post_processor, ath_post_processor_kind, &ath_post_processor_template.base)
READ_PART(decoder, ath_decoder_kind, &ath_decoder_metaspace.base)
READ_PART(model, ath_model_kind, &ath_model_unigram.base)

static ath_status read_normalizer(const ath_json *root, ath_tokenizer *self) {
  ath_json json = ath_json_member(root, "normalizer");
  if (ath_json_absent(&json)) return ATH_OK;
  return ath_normalizer_read(&json, self->arena, &self->normalizer);
}

/* The one version that the format has had. */
static ath_status check_version(const ath_json *root) {
  ath_json version = ath_json_member(root, "version");
  if (ath_json_absent(&version)) return ATH_OK;
  const char *text;
  size_t length;
  ATH_TRY(ath_json_string(&version, &text, &length));
  if (strcmp(text, "1.0") != 0)
    return ath_json_fail(&version, ATH_UNSUPPORTED, "\"%.40s\"; only \"1.0\" is known", text);
  return ATH_OK;
}

/* Cutting and filling up are the caller's business here, and a file that asks for them would give
 * other ids than the reference. */
static ath_status refuse_shaping(const ath_json *root, const char *key) {
  ath_json json = ath_json_member(root, key);
  if (ath_json_absent(&json)) return ATH_OK;
  return ath_json_fail(&json, ATH_UNSUPPORTED, "only null is supported yet; set it to null");
}

ath_status ath_tokenizer_read_parts(const ath_json *root, ath_tokenizer *self) {
  static const char *const known[] = {"version", "truncation", "padding", "added_tokens",
                                      "normalizer", "pre_tokenizer", "post_processor", "decoder",
                                      "model", NULL};
  ath_json_check_keys(root, known);
  ATH_TRY(check_version(root));
  ATH_TRY(refuse_shaping(root, "truncation"));
  ATH_TRY(refuse_shaping(root, "padding"));
  ATH_TRY(read_normalizer(root, self));
  ATH_TRY(read_pre_tokenizer(root, self));
  ATH_TRY(read_post_processor(root, self));
  ATH_TRY(read_decoder(root, self));
  if (self->model.kind == NULL) ATH_TRY(read_model(root, self));
  ath_json model = ath_json_member(root, "model");
  if (self->model.kind == NULL) return ath_json_fail(&model, ATH_INVALID, "there is no model");
  ath_json added = ath_json_member(root, "added_tokens");
  return ath_added_tokens_read(&added, &self->model, &self->normalizer, self->arena,
                               &self->added);
}

static ath_status read_file(const char *path, ath_tokenizer *self) {
  json_t *tree;
  ath_json root;
  ATH_TRY(ath_json_load(path, FILE_LIMIT, false, &tree, &root));
  ath_status status = ath_tokenizer_read_parts(&root, self);
  json_decref(tree);
  return status;
}

static ath_status load(const char *path, ath_tokenizer *self) {
  char file[ATH_PATH_MAX];
  bool folder = ath_path_is_folder(path);
  if (folder) ATH_TRY(ath_path_join(file, path, "tokenizer.json"));
  ATH_TRY(read_file(folder ? file : path, self));
  if (folder) ATH_TRY(ath_tokenizer_read_roles(self, path));
  ATH_TRY_CONTEXT(ath_tokenizer_finish(self), "%s", folder ? file : path);
  return ATH_OK;
}

ath_status ath_tokenizer_load(const char *path, ath_tokenizer **out) {
  assert(path != NULL && out != NULL);
  ath_tokenizer *self;
  ATH_TRY(ath_tokenizer_create(&self));
  ath_status status = load(path, self);
  if (status == ATH_OK) *out = self;
  else ath_tokenizer_destroy(self);
  return status;
}
