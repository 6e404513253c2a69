/* place.c: repositories by name: "USER/NAME" and hf://datasets/USER/NAME@REVISION/PATH, and the
 * patterns that choose among their files. */
#include <fnmatch.h>
#include <string.h>

#include "hub/place.h"

#define SCHEME "hf://"

enum { NAME_MAX_LENGTH = 96 }; /* of a user or of a repository, as the Hub has it */

static const struct kind {
  const char *plural, *singular, *prefix;
} kinds[] = {
  [ATH_HUB_MODEL] = {"models", "model", ""},
  [ATH_HUB_DATASET] = {"datasets", "dataset", "datasets/"},
  [ATH_HUB_SPACE] = {"spaces", "space", "spaces/"},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

const char *ath_hub_kind_plural(ath_hub_kind kind) { return kinds[kind].plural; }
const char *ath_hub_kind_name(ath_hub_kind kind) { return kinds[kind].singular; }
const char *ath_hub_kind_prefix(ath_hub_kind kind) { return kinds[kind].prefix; }

/* --- names -------------------------------------------------------------------------------- */

/* Letters, digits, - _ and . in between, never two of - or . in a row (huggingface_hub,
 * validate_repo_id). */
static bool is_name(const char *text, size_t length) {
  if (length == 0 || length > NAME_MAX_LENGTH) return false;
  for (size_t i = 0; i < length; i++) {
    char c = text[i];
    bool mark = c == '-' || c == '.';
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && !mark && c != '_') return false;
    if (mark && (i == 0 || i == length - 1 || text[i + 1] == c)) return false;
  }
  return true;
}

/* The length of "USER/NAME" at the front of text, up to its end, a slash or an @; 0 if none is. */
static size_t id_length(const char *text, bool whole) {
  size_t user = strcspn(text, "/@");
  if (!is_name(text, user)) return 0;
  if (text[user] != '/' || text[user + 1] == '\0') return text[user] != '/' || whole ? user : 0;
  size_t name = strcspn(text + user + 1, "/@");
  return is_name(text + user + 1, name) ? user + 1 + name : 0;
}

bool ath_hub_is_place(const char *text) {
  if (strncmp(text, SCHEME, strlen(SCHEME)) == 0) return true;
  size_t length = id_length(text, false);
  return length > 0 && text[length] == '\0' && memchr(text, '/', length) != NULL;
}

/* --- hf:// -------------------------------------------------------------------------------- */

static bool copy(char *out, size_t room, const char *text, size_t length) {
  if (length >= room) return false;
  memcpy(out, text, length);
  out[length] = '\0';
  return true;
}

/* "refs/pr/12" and "refs/convert/parquet" have slashes of their own. */
static size_t revision_length(const char *text) {
  size_t start = 0;
  if (strncmp(text, "refs/pr/", 8) == 0) start = 8;
  if (strncmp(text, "refs/convert/", 13) == 0) start = 13;
  return start + strcspn(text + start, "/");
}

static void unescape_slashes(char *text) {
  char *to = text;
  for (const char *from = text; *from != '\0'; to++) {
    bool escaped = strncmp(from, "%2F", 3) == 0 || strncmp(from, "%2f", 3) == 0;
    *to = escaped ? '/' : *from;
    from += escaped ? 3 : 1;
  }
  *to = '\0';
}

/* What is a path in the cache must not lead out of it. */
bool ath_hub_is_safe_path(const char *path) {
  if (*path == '\0' || *path == '/' || strchr(path, '\\') != NULL) return false;
  for (const char *part = path; part != NULL;) {
    size_t length = strcspn(part, "/");
    if (length == 0 || (length <= 2 && strncmp(part, "..", length) == 0)) return false;
    part = part[length] == '/' ? part + length + 1 : NULL;
  }
  return true;
}

static bool parse(const char *text, bool scheme, ath_hub_place *out) {
  for (int k = 0; scheme && k < KIND_COUNT; k++) {
    size_t length = strlen(kinds[k].plural);
    if (strncmp(text, kinds[k].plural, length) != 0 || text[length] != '/') continue;
    out->kind = (ath_hub_kind)k;
    text += length + 1;
    break;
  }
  size_t length = id_length(text, scheme);
  if (length == 0 || !copy(out->id, sizeof out->id, text, length)) return false;
  text += length;
  if (*text == '@') {
    length = revision_length(++text);
    if (length == 0 || !copy(out->revision, sizeof out->revision, text, length)) return false;
    unescape_slashes(out->revision);
    if (!ath_hub_is_safe_path(out->revision)) return false;
    text += length;
  }
  if (*text == '\0') return true;
  if (*text != '/' || !copy(out->path, sizeof out->path, text + 1, strlen(text + 1))) return false;
  size_t end = strlen(out->path);
  if (end > 0 && out->path[end - 1] == '/') out->path[end - 1] = '\0';
  return out->path[0] == '\0' || ath_hub_is_safe_path(out->path);
}

ath_status ath_hub_place_parse(const char *text, ath_hub_place *out) {
  bool scheme = strncmp(text, SCHEME, strlen(SCHEME)) == 0;
  *out = (ath_hub_place){.revision = "main"};
  if (parse(scheme ? text + strlen(SCHEME) : text, scheme, out) &&
      (scheme || out->path[0] == '\0'))
    return ATH_OK;
  return ath_fail(ATH_USAGE, "\"%.200s\" names nothing on the Hub; that is USER/NAME, "
                  "hf://USER/NAME@REVISION/PATH or hf://datasets/USER/NAME/PATH", text);
}

/* --- patterns ----------------------------------------------------------------------------- */

/* A final slash stands for all that is below. */
bool ath_hub_matches(const char *const *patterns, const char *path) {
  for (; *patterns != NULL; patterns++) {
    size_t length = strlen(*patterns);
    bool folder = length > 0 && (*patterns)[length - 1] == '/';
    char below[ATH_HUB_PATH_MAX + 2];
    if (folder && length <= ATH_HUB_PATH_MAX) snprintf(below, sizeof below, "%s*", *patterns);
    if (fnmatch(folder && length <= ATH_HUB_PATH_MAX ? below : *patterns, path, FNM_NOESCAPE) == 0)
      return true;
  }
  return false;
}

bool ath_hub_is_wanted(const char *const *include, const char *const *exclude, const char *path) {
  return (include == NULL || ath_hub_matches(include, path)) &&
         (exclude == NULL || !ath_hub_matches(exclude, path));
}
