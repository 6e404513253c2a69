/* locate.c: models, tokenizers and datasets by where they are. */
#include <string.h>

#include "base/arena.h"
#include "cli/cli.h"
#include "storage/file.h"

static ath_status keep(const char *given, char *path) {
  if (strlen(given) >= ATH_PATH_MAX)
    return ath_fail(ATH_INVALID, "%.80s…: the path is too long", given);
  memcpy(path, given, strlen(given) + 1);
  return ATH_OK;
}

/* A local path that is there always wins. */
ath_status ath_cli_locate(ath_cli_wanted wanted, const char *given, char *path) {
  (void)wanted;
  return keep(given, path);
}

ath_status ath_cli_load_tokenizer(const char *given, ath_tokenizer **out) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_cli_locate(ATH_CLI_TOKENIZER, given, path));
  return ath_tokenizer_load(path, out);
}

/* The new string lives as long as those that were read from a file. */
static ath_status locate_setting(ath_cli_wanted wanted, const char **setting,
                                 ath_train_options *values) {
  char path[ATH_PATH_MAX];
  if (*setting == NULL || **setting == '\0') return ATH_OK;
  ATH_TRY(ath_cli_locate(wanted, *setting, path));
  if (strcmp(path, *setting) == 0) return ATH_OK;
  *setting = ath_arena_string(values->memory, path);
  return *setting != NULL ? ATH_OK : ATH_NO_MEMORY;
}

ath_status ath_cli_locate_settings(ath_train_options *values) {
  ATH_TRY(locate_setting(ATH_CLI_TOKENIZER, &values->tokenizer, values));
  ATH_TRY(locate_setting(ATH_CLI_MODEL, &values->model_name_or_path, values));
  ATH_TRY(locate_setting(ATH_CLI_MODEL, &values->config_name, values));
  ATH_TRY(locate_setting(ATH_CLI_DATA, &values->train_dataset, values));
  return locate_setting(ATH_CLI_DATA, &values->eval_dataset, values);
}
