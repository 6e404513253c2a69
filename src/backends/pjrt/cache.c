/* cache.c: a folder of compiled programs.
 *
 *     <key>.xla:  "ATHXLA1\n" │ key, 64 digits │ SHA-256 of the bytes, 64 digits │ '\n' │ bytes
 */
#include "backends/pjrt/cache.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

static const char magic[] = "ATHXLA1\n", ending[] = ".xla", unfinished[] = ".tmp-";
enum {
  DIGITS = ATH_SHA256_TEXT - 1,
  HEADER = sizeof magic - 1 + 2 * DIGITS + 1,
  UNFINISHED_SECONDS = 24 * 3600 /* after which its writer is surely gone */
};

/* --- place and key ------------------------------------------------------------------------- */

/* A variable that is set and not empty. */
static const char *environment(const char *name) {
  const char *value = getenv(name);
  return value != NULL && *value != '\0' ? value : NULL;
}

ath_status ath_cache_folder(char out[ATH_PATH_MAX], bool *on) {
  const char *given = environment("ATHANOR_COMPILE_CACHE");
  const char *cache = environment("XDG_CACHE_HOME"), *home = environment("HOME");
  char folder[ATH_PATH_MAX];
  *on = given != NULL ? strcmp(given, "off") != 0 : cache != NULL || home != NULL;
  if (!*on) return ATH_OK;
  if (given != NULL)
    return snprintf(out, ATH_PATH_MAX, "%s", given) < ATH_PATH_MAX
               ? ATH_OK
               : ath_fail(ATH_INVALID, "ATHANOR_COMPILE_CACHE is longer than a path may be");
  if (cache != NULL) return ath_path_join(out, cache, "athanor/executables");
  ATH_TRY(ath_path_join(folder, home, ".cache"));
  return ath_path_join(out, folder, "athanor/executables");
}

ath_status ath_cache_key_part(ath_buffer *material, const char *name, const void *bytes,
                              size_t size) {
  ATH_TRY(ath_buffer_format(material, "%s %zu\n", name, size));
  ATH_TRY(ath_buffer_append(material, bytes, size));
  return ath_buffer_byte(material, '\n');
}

static ath_status entry_path(char out[ATH_PATH_MAX], const char *folder, const char *key) {
  char name[ATH_SHA256_TEXT + sizeof ending];
  assert(strlen(key) == DIGITS);
  snprintf(name, sizeof name, "%s%s", key, ending);
  return ath_path_join(out, folder, name);
}

/* --- reading ------------------------------------------------------------------------------- */

static ath_status check_owner(const char *path) {
  struct stat about;
  if (lstat(path, &about) != 0) return ath_fail_errno(errno, "%s", path);
  if (S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
      (about.st_mode & (S_IWGRP | S_IWOTH)) == 0)
    return ATH_OK;
  return ath_fail(ATH_CORRUPT, "%s: not a file of this user that nobody else may write", path);
}

/* The bytes behind the header, when header, key and checksum are right. */
static ath_status check_entry(const char *path, const char *key, const ath_mapping *file) {
  const char *at = (const char *)file->bytes;
  if (file->size < HEADER || memcmp(at, magic, sizeof magic - 1) != 0)
    return ath_fail(ATH_CORRUPT, "%s: not a compiled program", path);
  at += sizeof magic - 1;
  if (memcmp(at, key, DIGITS) != 0)
    return ath_fail(ATH_CORRUPT, "%s: belongs to another program", path);
  char found[ATH_SHA256_TEXT];
  ath_sha256_bytes(file->bytes + HEADER, file->size - HEADER, found);
  if (memcmp(at + DIGITS, found, DIGITS) != 0)
    return ath_fail(ATH_CORRUPT, "%s: checksum does not match", path);
  return ATH_OK;
}

/* An entry's time says when it was last of use; that it cannot be set is no reason to fail. */
ath_status ath_cache_read(const char *folder, const char key[ATH_SHA256_TEXT], ath_buffer *out) {
  char path[ATH_PATH_MAX];
  ath_mapping file;
  ATH_TRY(entry_path(path, folder, key));
  ATH_TRY(check_owner(path));
  ATH_TRY(ath_file_map(path, &file));
  ath_status status = check_entry(path, key, &file);
  if (status == ATH_OK) status = ath_buffer_append(out, file.bytes + HEADER, file.size - HEADER);
  ath_file_unmap(&file);
  if (status == ATH_OK) utimensat(AT_FDCWD, path, NULL, 0);
  return status;
}

/* --- the bound ----------------------------------------------------------------------------- */

typedef struct entry {
  const char *name;
  uint64_t size;
  int64_t used; /* nanoseconds */
} entry;

static int longest_unused_first(const void *left, const void *right) {
  const entry *a = left, *b = right;
  return a->used != b->used ? (a->used < b->used ? -1 : 1) : strcmp(a->name, b->name);
}

static void remove_entry(const char *folder, const char *name) {
  char path[ATH_PATH_MAX];
  /* Another process may have been faster. */
  if (ath_path_join(path, folder, name) == ATH_OK) unlink(path);
}

/* Notes an entry down, and removes what a killed process left half-written. */
static void look_at(const char *folder, const char *name, entry *entries, size_t *count) {
  char path[ATH_PATH_MAX];
  struct stat about;
  if (ath_path_join(path, folder, name) != ATH_OK || lstat(path, &about) != 0) return;
  if (!S_ISREG(about.st_mode) || strstr(name, ending) == NULL) return; /* none of ours */
  if (ath_ends_with(name, ending))
    entries[(*count)++] = (entry){name, (uint64_t)about.st_size,
                                  about.st_mtim.tv_sec * 1000000000LL + about.st_mtim.tv_nsec};
  else if (strstr(name, unfinished) != NULL && about.st_mtime < time(NULL) - UNFINISHED_SECONDS)
    remove_entry(folder, name);
}

/* Removes the entries that were of use longest ago, the one just written last. */
static ath_status trim(const char *folder, uint64_t limit) {
  char **names = NULL;
  size_t name_count = 0, count = 0;
  uint64_t total = 0;
  ATH_TRY(ath_folder_list(folder, &names, &name_count));
  entry *entries = calloc(name_count + 1, sizeof *entries);
  for (size_t i = 0; entries != NULL && i < name_count; i++)
    look_at(folder, names[i], entries, &count);
  assert(count <= name_count);
  for (size_t i = 0; i < count; i++) total += entries[i].size;
  if (count > 0) qsort(entries, count, sizeof *entries, longest_unused_first);
  for (size_t i = 0; i < count && total > limit; i++) {
    remove_entry(folder, entries[i].name);
    total -= entries[i].size;
  }
  ath_status status =
      entries != NULL ? ATH_OK : ath_fail(ATH_NO_MEMORY, "no memory for a list of files");
  free(entries);
  ath_folder_list_free(names, name_count);
  return status;
}

/* --- writing ------------------------------------------------------------------------------- */

static ath_status write_entry(const char *path, const char *key, const void *bytes, size_t size) {
  char header[HEADER + 1], digest[ATH_SHA256_TEXT];
  ath_file_writer *writer;
  ath_sha256_bytes(bytes, size, digest);
  int length = snprintf(header, sizeof header, "%s%s%s\n", magic, key, digest);
  assert(length == HEADER);
  ATH_TRY(ath_file_writer_open(path, &writer));
  ath_status status = ath_file_writer_write(writer, header, (size_t)length);
  if (status == ATH_OK) status = ath_file_writer_write(writer, bytes, size);
  if (status != ATH_OK) {
    ath_file_writer_abandon(writer);
    return status;
  }
  ATH_TRY(ath_file_writer_commit(writer));
  /* Whatever the umask; another process may have removed it already to keep the bound. */
  if (chmod(path, 0600) != 0 && errno != ENOENT) return ath_fail_errno(errno, "%s", path);
  return ATH_OK;
}

ath_status ath_cache_write(const char *folder, const char key[ATH_SHA256_TEXT], const void *bytes,
                           size_t size, uint64_t limit) {
  char path[ATH_PATH_MAX];
  if (size > limit || limit - size < HEADER) return ATH_OK;
  ATH_TRY(ath_folder_create(folder));
  ATH_TRY(entry_path(path, folder, key));
  ATH_TRY(write_entry(path, key, bytes, size));
  return trim(folder, limit);
}
