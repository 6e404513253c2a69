/* locate.c: models, tokenizers and datasets by where they are. */
#include <string.h>

#include "athanor/hub.h"
#include "base/arena.h"
#include "cli/cli.h"
#include "storage/file.h"
#include "storage/store.h"

static ath_status keep(const char *given, char *path) {
  if (strlen(given) >= ATH_PATH_MAX)
    return ath_fail(ATH_INVALID, "%.80s…: the path is too long", given);
  memcpy(path, given, strlen(given) + 1);
  return ATH_OK;
}

/* --- the Hub ------------------------------------------------------------------------------- */

/* What a command may need of a repository: no weights in other forms, and for a tokenizer none. */
static const char *const model_files[] = {"*.json", "*.safetensors", "*.txt", "*.model", NULL};
static const char *const tokenizer_files[] = {"tokenizer*.json", "special_tokens_map.json",
                                              "added_tokens.json", "vocab*", "merges.txt",
                                              "config.json", "*.model", "*.tiktoken", NULL};

/* "hf://datasets/USER/NAME@REVISION/PATH"; of a pattern the repository. */
static void note_pulled(const ath_hub_place *place, const ath_hub_pulled *pulled) {
  static const char *const kinds[] = {
    [ATH_HUB_MODEL] = "", [ATH_HUB_DATASET] = "datasets/", [ATH_HUB_SPACE] = "spaces/"};
  char name[ATH_HUB_ID_MAX + ATH_HUB_REVISION_MAX + ATH_HUB_PATH_MAX + 32];
  bool main_branch = strcmp(place->revision, "main") == 0;
  bool part = place->path[0] != '\0' && strpbrk(place->path, "*?[") == NULL;
  snprintf(name, sizeof name, "hf://%s%s%s%s%s%s", kinds[place->kind], place->id,
           main_branch ? "" : "@", main_branch ? "" : place->revision, part ? "/" : "",
           part ? place->path : "");
  ath_cli_note_copy(pulled->path, name);
}

/* A name that may as well be a path with a fault in it is not waited for long. */
static ath_status pull(ath_cli_wanted wanted, const char *given, bool sure, char *path) {
  ath_hub_place place;
  ath_hub_pulled pulled;
  ATH_TRY(ath_hub_place_parse(given, &place));
  if (wanted == ATH_CLI_DATA && !sure) place.kind = ATH_HUB_DATASET;
  bool whole = place.path[0] == '\0';
  ath_hub_pull_options how = {.brief = !sure, .stop = &ath_cli_stop};
  if (whole && wanted == ATH_CLI_MODEL) how.include = model_files;
  if (whole && wanted == ATH_CLI_TOKENIZER) how.include = tokenizer_files;
  ATH_TRY(ath_hub_pull(&place, &how, &pulled));
  note_pulled(&place, &pulled);
  if (strpbrk(place.path, "*?[") != NULL) return ath_path_join(path, pulled.path, place.path);
  return keep(pulled.path, path);
}

static ath_status pull_or_explain(ath_cli_wanted wanted, const char *given, char *path) {
  bool sure = strncmp(given, "hf://", 5) == 0;
  ath_status status = pull(wanted, given, sure, path);
  if (status == ATH_OK || sure) return status;
  return ath_context(status, "%s: no such file or folder here, and as a name on the Hub", given);
}

/* --- any place ----------------------------------------------------------------------------- */

/* A model without its checkpoints. */
static ath_status fetch(ath_cli_wanted wanted, const char *given, char *path) {
  char folder[ATH_LOCATION_MAX];
  ATH_TRY(ath_cache_fetch(given, wanted == ATH_CLI_DATA, path));
  const char *special = strpbrk(given, "*?[");
  while (special != NULL && special[-1] != '/') special--; /* what matches keeps its path below */
  snprintf(folder, sizeof folder, "%.*s",
           special != NULL ? (int)(special - given) : (int)strlen(given), given);
  ath_cli_note_copy(path, folder);
  return ATH_OK;
}

/* A local path that is there always wins. */
ath_status ath_cli_locate(ath_cli_wanted wanted, const char *given, char *path) {
  if (ath_location_is_remote(given)) return fetch(wanted, given, path);
  if (!ath_path_exists(given) && ath_hub_is_place(given))
    return pull_or_explain(wanted, given, path);
  return keep(given, path);
}

ath_status ath_cli_load_tokenizer(const char *given, ath_tokenizer **out) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_cli_locate(ATH_CLI_TOKENIZER, given, path));
  return ath_tokenizer_load(path, out);
}

/* The new string lives as long as those that were read from a file. */
static ath_status locate_setting(ath_cli_wanted wanted, bool all, const char **setting,
                                 ath_train_options *values) {
  char path[ATH_PATH_MAX];
  if (*setting == NULL || **setting == '\0') return ATH_OK;
  if (!all && strstr(*setting, "://") == NULL) return ATH_OK;
  ATH_TRY(ath_cli_locate(wanted, *setting, path));
  if (strcmp(path, *setting) == 0) return ATH_OK;
  *setting = ath_arena_string(values->memory, path);
  return *setting != NULL ? ATH_OK : ATH_NO_MEMORY;
}

ath_status ath_cli_locate_settings(ath_train_options *values, bool all) {
  ATH_TRY(locate_setting(ATH_CLI_TOKENIZER, all, &values->tokenizer, values));
  ATH_TRY(locate_setting(ATH_CLI_MODEL, all, &values->model_name_or_path, values));
  ATH_TRY(locate_setting(ATH_CLI_MODEL, all, &values->config_name, values));
  ATH_TRY(locate_setting(ATH_CLI_DATA, all, &values->train_dataset, values));
  return locate_setting(ATH_CLI_DATA, all, &values->eval_dataset, values);
}
