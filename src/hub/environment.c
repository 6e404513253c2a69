/* environment.c: the Hub's address, the user's token, and the folders, from the environment. */
#include "hub/environment.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_ENDPOINT "https://huggingface.co"

/* An empty variable is as good as none. */
static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value != NULL && *value != '\0' ? value : NULL;
}

static bool is_true(const char *value) {
  static const char *const yes[] = {"1", "ON", "YES", "TRUE"};
  for (size_t i = 0; value != NULL && i < sizeof yes / sizeof *yes; i++)
    if (strcasecmp(value, yes[i]) == 0) return true;
  return false;
}

ath_status ath_hub_endpoint(char out[ATH_HUB_ENDPOINT_MAX]) {
  const char *given = variable("HF_ENDPOINT");
  if (given == NULL) given = DEFAULT_ENDPOINT;
  size_t length = strlen(given);
  while (length > 0 && given[length - 1] == '/') length--;
  if ((strncmp(given, "http://", 7) != 0 && strncmp(given, "https://", 8) != 0) ||
      length >= ATH_HUB_ENDPOINT_MAX)
    return ath_fail(ATH_USAGE, "HF_ENDPOINT is \"%.200s\"; it must be an address like "
                    DEFAULT_ENDPOINT, given);
  memcpy(out, given, length);
  out[length] = '\0';
  return ATH_OK;
}

bool ath_hub_is_offline(void) {
  const char *offline = variable("HF_HUB_OFFLINE");
  return is_true(offline != NULL ? offline : variable("TRANSFORMERS_OFFLINE"));
}

/* --- folders ------------------------------------------------------------------------------ */

/* With "~/" in front replaced by the home folder. */
static ath_status expand(const char *path, char out[ATH_PATH_MAX]) {
  const char *home = variable("HOME");
  if (path[0] == '~' && path[1] == '/' && home != NULL) return ath_path_join(out, home, path + 2);
  if (strlen(path) >= ATH_PATH_MAX) return ath_fail(ATH_INVALID, "%.80s…: too long a path", path);
  memcpy(out, path, strlen(path) + 1);
  return ATH_OK;
}

/* The variable's path, or `name` in `folder`, which may be `out` itself. */
static ath_status expand_or_join(const char *path, const char *folder, const char *name,
                                 char out[ATH_PATH_MAX]) {
  char joined[ATH_PATH_MAX];
  if (path != NULL) return expand(path, out);
  ATH_TRY(ath_path_join(joined, folder, name));
  memcpy(out, joined, strlen(joined) + 1);
  return ATH_OK;
}

static ath_status home_folder(char out[ATH_PATH_MAX]) {
  const char *given = variable("HF_HOME"), *cache = variable("XDG_CACHE_HOME");
  if (given == NULL && cache == NULL && variable("HOME") == NULL)
    return ath_fail(ATH_NOT_FOUND, "neither HF_HOME nor HOME is set: nowhere to keep what comes "
                    "from the Hub");
  ATH_TRY(expand(cache != NULL ? cache : "~/.cache", out));
  return expand_or_join(given, out, "huggingface", out);
}

ath_status ath_hub_cache_folder(char out[ATH_PATH_MAX]) {
  const char *given = variable("HF_HUB_CACHE");
  if (given == NULL) given = variable("HUGGINGFACE_HUB_CACHE");
  if (given == NULL) ATH_TRY(home_folder(out));
  return expand_or_join(given, out, "hub", out);
}

ath_status ath_hub_token_path(char out[ATH_PATH_MAX]) {
  const char *given = variable("HF_TOKEN_PATH");
  if (given == NULL) ATH_TRY(home_folder(out));
  return expand_or_join(given, out, "token", out);
}

ath_status ath_hub_stored_tokens_path(char out[ATH_PATH_MAX]) {
  ATH_TRY(ath_hub_token_path(out));
  char *slash = strrchr(out, '/');
  *(slash != NULL ? slash : out) = '\0';
  return expand_or_join(NULL, slash != NULL ? out : ".", "stored_tokens", out);
}

/* --- token -------------------------------------------------------------------------------- */

/* A copy without the blanks and line ends that come with pasting; `origin` NULL: an option or
 * standard input. A control character within would make two headers of one. */
static ath_status clean(const char *text, const char *origin, char out[ATH_HUB_TOKEN_MAX]) {
  text += strspn(text, " \t\r\n");
  size_t length = strlen(text);
  while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL) length--;
  bool good = length < ATH_HUB_TOKEN_MAX;
  for (size_t i = 0; i < length; i++) good = good && text[i] > ' ' && text[i] < 0x7f;
  if (!good) return ath_fail(ATH_USAGE, "the token %s%s is none: it has characters that no token "
                             "has, or too many", origin != NULL ? "of " : "that was given",
                             origin != NULL ? origin : "");
  memcpy(out, text, length);
  out[length] = '\0';
  return ATH_OK;
}

static ath_status stored_token(char out[ATH_HUB_TOKEN_MAX]) {
  char path[ATH_PATH_MAX];
  out[0] = '\0';
  if (ath_hub_token_path(path) != ATH_OK || !ath_path_exists(path)) return ATH_OK;
  ath_buffer text = ath_buffer_make(2 * ATH_HUB_TOKEN_MAX);
  ath_status status = ath_file_read(path, &text);
  if (status == ATH_OK && text.length > 0) status = clean(text.bytes, path, out);
  ath_buffer_free(&text);
  return status;
}

ath_status ath_hub_token(const char *given, bool needed, char out[ATH_HUB_TOKEN_MAX]) {
  out[0] = '\0';
  if (given != NULL && *given != '\0') return clean(given, NULL, out);
  if (!needed && is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return ATH_OK;
  const char *set = variable("HF_TOKEN");
  if (set == NULL) set = variable("HUGGING_FACE_HUB_TOKEN");
  return set != NULL ? clean(set, "HF_TOKEN", out) : stored_token(out);
}
