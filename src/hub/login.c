/* login.c: whose token it is, and keeping it where huggingface_hub looks for it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outcome.h"
#include "hub/client.h"

enum { STORED_MAX = 1 << 20, SECRET_FOLDER = 0700, SECRET_FILE = 0600 };

/* --- whoami ------------------------------------------------------------------------------- */

static void copy_text(const json_t *object, const char *name, char *out, size_t room) {
  const char *text = ath_hub_text_of(object, name);
  snprintf(out, room, "%s", text != NULL ? text : "");
}

static ath_status ask(ath_hub *hub, ath_hub_user *out) {
  json_t *answer = NULL;
  ath_buffer url = ath_buffer_make(ATH_HTTP_URL_MAX - 1);
  ath_status status = ath_buffer_format(&url, "%s/api/whoami-v2", hub->endpoint);
  if (status == ATH_OK) status = ath_hub_call(hub, "GET", url.bytes, NULL, "the token", &answer);
  ath_buffer_free(&url);
  ATH_TRY(status);
  const json_t *token = json_object_get(json_object_get(answer, "auth"), "accessToken");
  copy_text(answer, "name", out->name, sizeof out->name);
  copy_text(answer, "fullname", out->full_name, sizeof out->full_name);
  copy_text(token, "displayName", out->token_name, sizeof out->token_name);
  copy_text(token, "role", out->role, sizeof out->role);
  json_decref(answer);
  return out->name[0] != '\0' ? ATH_OK : ath_fail(ATH_INVALID, "the Hub does not tell whose token "
                                                  "it is");
}

ath_status ath_hub_whoami(const char *token, ath_hub_user *out) {
  ath_hub *hub = NULL;
  *out = (ath_hub_user){0};
  ATH_TRY(ath_hub_open(token, true, NULL, &hub));
  ath_status status = ask(hub, out);
  ath_hub_close(hub);
  return status;
}

/* --- keeping it --------------------------------------------------------------------------- */

/* Nobody else may read it, at no moment. */
static ath_status write_secret(const char *path, const char *text, size_t length) {
  char folder[ATH_PATH_MAX];
  snprintf(folder, sizeof folder, "%s", path);
  char *slash = strrchr(folder, '/');
  if (slash != NULL) *slash = '\0';
  if (slash != NULL && !ath_path_exists(folder)) {
    ATH_TRY(ath_folder_create(folder));
    if (chmod(folder, SECRET_FOLDER) != 0) return ath_fail_errno(errno, "%s", folder);
  }
  mode_t before = umask(0777 & ~SECRET_FILE);
  ath_status status = ath_file_write(path, text, length);
  umask(before);
  return status;
}

/* The sections of "stored_tokens", an INI file, but for the one called `name`. */
static ath_status put_others(const char *text, const char *name, ath_buffer *out) {
  bool kept = true;
  while (*text != '\0') {
    size_t line = strcspn(text, "\n");
    if (*text == '[') {
      size_t length = strlen(name);
      kept = !(line >= length + 2 && strncmp(text + 1, name, length) == 0 &&
               text[length + 1] == ']');
    }
    if (kept) ATH_TRY(ath_buffer_append(out, text, line));
    if (kept) ATH_TRY(ath_buffer_byte(out, '\n'));
    text += line + (text[line] == '\n');
  }
  return ATH_OK;
}

/* A name may hold what would end the section's line. */
static void section_name(const ath_hub_user *user, char *out, size_t room) {
  snprintf(out, room, "%s", user->token_name[0] != '\0' ? user->token_name : user->name);
  for (char *c = out; *c != '\0'; c++)
    if (*c == ']' || *c == '[' || (unsigned char)*c < ' ') *c = '_';
}

/* `huggingface_hub auth list` shows tokens by name. */
static ath_status store_by_name(const char *token, const ath_hub_user *user) {
  char path[ATH_PATH_MAX], name[ATH_HUB_ID_MAX];
  section_name(user, name, sizeof name);
  ATH_TRY(ath_hub_stored_tokens_path(path));
  ath_buffer before = ath_buffer_make(STORED_MAX), after = ath_buffer_make(2 * STORED_MAX);
  ath_status status = ath_path_exists(path) ? ath_file_read(path, &before) : ATH_OK;
  if (status == ATH_OK && before.length > 0) status = put_others(before.bytes, name, &after);
  if (status == ATH_OK) status = ath_buffer_format(&after, "[%s]\nhf_token = %s\n\n", name, token);
  if (status == ATH_OK) status = write_secret(path, after.bytes, after.length);
  ath_buffer_free(&before);
  ath_buffer_free(&after);
  return status;
}

ath_status ath_hub_login(const char *token, ath_hub_user *out, char *path) {
  char clean[ATH_HUB_TOKEN_MAX];
  ATH_TRY(ath_hub_token(token, true, clean));
  if (token == NULL || *token == '\0' || clean[0] == '\0')
    return ath_fail(ATH_USAGE, "no token was given");
  ATH_TRY(ath_hub_whoami(clean, out));
  ATH_TRY(ath_hub_token_path(path));
  ATH_TRY(write_secret(path, clean, strlen(clean)));
  return store_by_name(clean, out);
}

ath_status ath_hub_logout(bool *was) {
  char paths[2][ATH_PATH_MAX];
  *was = false;
  ATH_TRY(ath_hub_token_path(paths[0]));
  ATH_TRY(ath_hub_stored_tokens_path(paths[1]));
  for (int i = 0; i < 2; i++) {
    if (unlink(paths[i]) == 0) *was = true;
    else if (errno != ENOENT) return ath_fail_errno(errno, "%s", paths[i]);
  }
  return ATH_OK;
}
