/* read.c: tokenizer.json read into the parts of a tokenizer. Whatever the file holds, the answer
 * is a tokenizer or an error that names the place. */
#include <string.h>

#include "tokenizers/json_document.h"
#include "tokenizers/tokenizer.h"

#define FILE_LIMIT ((size_t)1 << 30)

/* Reads a part of the root where it is there and not null. */
#define READ_PART(role)                                                 \
  do {                                                                  \
    ath_json part = ath_json_member(root, #role);                       \
    if (!ath_json_absent(&part))                                        \
      ATH_TRY(ath_##role##_read(&part, self->arena, &self->role));      \
  } while (0)

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

ath_status ath_tokenizer_read_parts(const ath_json *root, ath_tokenizer *self) {
  static const char *const known[] = {"version", "truncation", "padding", "added_tokens",
                                      "normalizer", "pre_tokenizer", "post_processor", "decoder",
                                      "model", NULL};
  ath_json_check_keys(root, known);
  ATH_TRY(check_version(root));
  READ_PART(normalizer);
  READ_PART(pre_tokenizer);
  READ_PART(post_processor);
  ATH_TRY(ath_tokenizer_lay_out(self));
  ath_json truncation = ath_json_member(root, "truncation");
  ath_json padding = ath_json_member(root, "padding");
  ATH_TRY(ath_truncation_read(&truncation, self));
  ATH_TRY(ath_padding_read(&padding, self));
  READ_PART(decoder);
  if (self->model.kind == NULL) READ_PART(model);
  ath_json model = ath_json_member(root, "model");
  if (self->model.kind == NULL) return ath_json_fail(&model, ATH_INVALID, "there is no model");
  ath_json added = ath_json_member(root, "added_tokens");
  return ath_added_tokens_read(&added, &self->model, &self->normalizer, self->arena,
                               &self->added);
}

/* Reads a document that was loaded with this status, and frees it. */
static ath_status read_document(ath_status status, ath_json_document *document,
                                ath_tokenizer *self) {
  if (status == ATH_OK) status = ath_tokenizer_read_parts(&document->root, self);
  if (status == ATH_OK) status = ath_json_document_check(document);
  ath_json_document_free(document);
  return status;
}

ath_status ath_tokenizer_read_file(const char *path, ath_tokenizer *self) {
  ath_json_document document;
  return read_document(ath_json_document_load(path, FILE_LIMIT, &document), &document, self);
}

ath_status ath_tokenizer_read_text(const char *name, const ath_buffer *text, ath_tokenizer *self) {
  ath_json_document document;
  ATH_TRY(read_document(ath_json_document_parse(name, text, &document), &document, self));
  return ath_tokenizer_finish(self);
}
