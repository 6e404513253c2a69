/* load.c: a tokenizer from whatever files there are of it. */
#include "storage/file.h"
#include "tokenizers/files/convert.h"
#include "tokenizers/tokenizer.h"

static ath_status load(const char *path, ath_tokenizer *self) {
  char file[ATH_PATH_MAX];
  bool folder = ath_path_is_folder(path);
  if (folder) ATH_TRY(ath_path_join(file, path, "tokenizer.json"));
  ATH_TRY(ath_tokenizer_read_file(folder ? file : path, self));
  if (folder) ATH_TRY(ath_tokenizer_read_roles(self, path));
  ATH_TRY_CONTEXT(ath_tokenizer_finish(self), "%s", folder ? file : path);
  return ATH_OK;
}

ath_status ath_tokenizer_load(const char *path, ath_tokenizer **out) {
  assert(path != NULL && out != NULL);
  if (ath_tokenizer_needs_conversion(path)) return ath_tokenizer_convert(path, NULL, out);
  ath_tokenizer *self;
  ATH_TRY(ath_tokenizer_create(&self));
  ath_status status = load(path, self);
  if (status == ATH_OK) *out = self;
  else ath_tokenizer_destroy(self);
  return status;
}
