/* cache.c: the folder of one repository in the cache that is shared with huggingface_hub. */
#include "hub/cache.h"

#include <string.h>
#include <unistd.h>

#include "hub/place.h"
#include "storage/lock.h"
#include "storage/names.h"

/* --- paths -------------------------------------------------------------------------------- */

/* "models--USER--NAME" */
static void folder_name(const ath_hub_place *place, char *out, size_t room) {
  const char *slash = strchr(place->id, '/');
  int user = slash != NULL ? (int)(slash - place->id) : (int)strlen(place->id);
  snprintf(out, room, "%s--%.*s%s%s", ath_hub_kind_plural(place->kind), user, place->id,
           slash != NULL ? "--" : "", slash != NULL ? slash + 1 : "");
}

ath_status ath_hub_cache_open(const ath_hub_place *place, ath_hub_cache *out) {
  char name[2 * ATH_HUB_ID_MAX], locks[ATH_PATH_MAX];
  folder_name(place, name, sizeof name);
  ATH_TRY(ath_hub_cache_folder(out->root));
  ATH_TRY(ath_path_join(out->folder, out->root, name));
  ATH_TRY(ath_path_join(locks, out->root, ".locks"));
  return ath_path_join(out->locks, locks, name);
}

static ath_status join(const ath_hub_cache *self, const char *part, const char *name,
                       char out[ATH_PATH_MAX]) {
  char folder[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(folder, self->folder, part));
  return ath_path_join(out, folder, name);
}

ath_status ath_hub_cache_tree_path(const ath_hub_cache *self, const char *commit,
                                   char out[ATH_PATH_MAX]) {
  char name[ATH_HUB_COMMIT_MAX + 8];
  snprintf(name, sizeof name, "%s.json", commit);
  return join(self, "trees", name, out);
}

ath_status ath_hub_cache_blob_path(const ath_hub_cache *self, const char *blob,
                                   char out[ATH_PATH_MAX]) {
  return join(self, "blobs", blob, out);
}

ath_status ath_hub_cache_file_path(const ath_hub_cache *self, const char *commit,
                                   const char *path, char out[ATH_PATH_MAX]) {
  char folder[ATH_PATH_MAX];
  ATH_TRY(join(self, "snapshots", commit, *path != '\0' ? folder : out));
  return *path != '\0' ? ath_path_join(out, folder, path) : ATH_OK;
}

/* The signature of bford.info/cachedir: backups leave such folders out. */
static void mark_as_cache(const char *root) {
  static const char tag[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                            "# This folder can be filled again from the Hugging Face Hub.\n";
  char path[ATH_PATH_MAX];
  if (ath_path_join(path, root, "CACHEDIR.TAG") != ATH_OK || ath_path_exists(path)) return;
  ath_status unwritten = ath_file_write(path, tag, sizeof tag - 1); /* it does without */
  (void)unwritten;
}

ath_status ath_hub_cache_prepare(const ath_hub_cache *self) {
  char path[ATH_PATH_MAX];
  static const char *const parts[] = {"blobs", "snapshots", "refs"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    ATH_TRY(ath_path_join(path, self->folder, parts[i]));
    ATH_TRY(ath_folder_create(path));
  }
  mark_as_cache(self->root);
  return ath_folder_create(self->locks);
}

/* --- commits ------------------------------------------------------------------------------ */

bool ath_hub_cache_commit(const ath_hub_cache *self, const char *revision,
                          char commit[ATH_HUB_COMMIT_MAX]) {
  char path[ATH_PATH_MAX];
  if (ath_hub_is_hex(revision, ATH_GIT_DIGITS)) {
    memcpy(commit, revision, ATH_HUB_COMMIT_MAX);
    return true;
  }
  ath_buffer text = ath_buffer_make(256);
  bool good = join(self, "refs", revision, path) == ATH_OK && ath_path_exists(path) &&
              ath_file_read(path, &text) == ATH_OK && text.length > 0;
  if (good) text.bytes[strcspn(text.bytes, " \r\n")] = '\0';
  good = good && ath_hub_is_hex(text.bytes, ATH_GIT_DIGITS);
  if (good) memcpy(commit, text.bytes, ATH_HUB_COMMIT_MAX);
  ath_buffer_free(&text);
  return good;
}

ath_status ath_hub_cache_set_commit(const ath_hub_cache *self, const char *revision,
                                    const char *commit) {
  char path[ATH_PATH_MAX], there[ATH_HUB_COMMIT_MAX];
  if (ath_hub_is_hex(revision, ATH_GIT_DIGITS)) return ATH_OK;
  if (ath_hub_cache_commit(self, revision, there) && strcmp(there, commit) == 0) return ATH_OK;
  ATH_TRY(join(self, "refs", revision, path));
  ATH_TRY(ath_folder_create_above(path));
  return ath_file_write(path, commit, strlen(commit));
}

/* --- snapshots ---------------------------------------------------------------------------- */

bool ath_hub_cache_has(const ath_hub_cache *self, const char *commit, const char *path) {
  char file[ATH_PATH_MAX];
  return ath_hub_cache_file_path(self, commit, path, file) == ATH_OK && ath_path_exists(file);
}

ath_status ath_hub_cache_link(const ath_hub_cache *self, const char *commit,
                              const ath_hub_entry *entry) {
  char file[ATH_PATH_MAX];
  if (ath_hub_cache_has(self, commit, entry->path)) return ATH_OK;
  ATH_TRY(ath_hub_cache_file_path(self, commit, entry->path, file));
  ATH_TRY(ath_folder_create_above(file));
  ath_buffer target = ath_buffer_make(ATH_PATH_MAX);
  ath_status status = ath_buffer_string(&target, "../../");
  for (const char *c = entry->path; *c != '\0' && status == ATH_OK; c++)
    if (*c == '/') status = ath_buffer_string(&target, "../");
  if (status == ATH_OK)
    status = ath_buffer_format(&target, "blobs/%s", ath_hub_entry_blob(entry));
  if (status == ATH_OK) unlink(file); /* a link whose blob is gone */
  if (status == ATH_OK && symlink(target.bytes, file) != 0 && errno != EEXIST)
    status = ath_fail_errno(errno, "%s: cannot make this link", file);
  ath_buffer_free(&target);
  return status;
}

/* --- locks -------------------------------------------------------------------------------- */

ath_status ath_hub_cache_lock(const ath_hub_cache *self, const char *blob,
                              const volatile sig_atomic_t *stop, int *lock) {
  char path[ATH_PATH_MAX], name[ATH_HUB_OID_MAX + 8];
  *lock = -1;
  snprintf(name, sizeof name, "%s.lock", blob);
  ATH_TRY(ath_path_join(path, self->locks, name));
  return ath_lock_wait(path, stop, lock);
}
