/* checksums.c: SHA256SUMS of a folder:
 *
 *     64 hex digits | two spaces | path in the folder | newline
 */
#include "train/checksums.h"

#include <assert.h>
#include <string.h>

#include "formats/sha256.h"
#include "storage/file.h"

enum { HEX_LENGTH = ATH_SHA256_TEXT - 1, LIST_BYTES_MAX = 1 << 20 };

static const char LIST_NAME[] = "SHA256SUMS";

/* --- writing ------------------------------------------------------------------------------- */

static ath_status list_files(const char *folder, const char *inside, ath_buffer *out);

static ath_status list_folder(const char *folder, const char *name, ath_buffer *out) {
  char inside[ATH_PATH_MAX];
  if (snprintf(inside, sizeof inside, "%s/", name) >= (int)sizeof inside)
    return ath_fail(ATH_INVALID, "%s/%s: the name is too long", folder, name);
  return list_files(folder, inside, out);
}

/* Lists the files of <folder>/<inside>, where `inside` is "" or ends with a slash. */
static ath_status list_files(const char *folder, const char *inside, ath_buffer *out) {
  char path[ATH_PATH_MAX], hex[ATH_SHA256_TEXT];
  char **names = NULL;
  size_t count = 0;
  ATH_TRY(ath_path_join(path, folder, inside));
  ATH_TRY(ath_folder_list(path, &names, &count));
  ath_status status = ATH_OK;
  for (size_t i = 0; i < count && status == ATH_OK; i++) {
    char name[ATH_PATH_MAX];
    if (snprintf(name, sizeof name, "%s%s", inside, names[i]) >= (int)sizeof name)
      status = ath_fail(ATH_INVALID, "%s: a name in it is too long", path);
    if (status != ATH_OK || strcmp(name, LIST_NAME) == 0) continue;
    status = ath_path_join(path, folder, name);
    if (status == ATH_OK && ath_path_is_folder(path)) {
      if (*inside == '\0') status = list_folder(folder, name, out);
      continue;
    }
    if (status == ATH_OK) status = ath_sha256_file(path, hex);
    if (status == ATH_OK) status = ath_buffer_format(out, "%s  %s\n", hex, name);
  }
  ath_folder_list_free(names, count);
  return status;
}

ath_status ath_checksums_write(const char *folder) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, folder, LIST_NAME));
  ath_buffer list = ath_buffer_make(LIST_BYTES_MAX);
  ath_status status = list_files(folder, "", &list);
  if (status == ATH_OK) status = ath_file_write(path, list.bytes, list.length);
  ath_buffer_free(&list);
  return status;
}

/* --- checking ------------------------------------------------------------------------------ */

/* Checks the line that begins at `line`, of `length` bytes, and the file it names. The line is
 * made a string in passing. */
static ath_status check_line(const char *folder, char *line, size_t length) {
  assert(line[length] == '\n');
  line[length] = '\0';
  if (length < HEX_LENGTH + 3 || memcmp(line + HEX_LENGTH, "  ", 2) != 0)
    return ath_fail(ATH_CORRUPT, "%s/%s: not a list of checksums", folder, LIST_NAME);
  const char *name = line + HEX_LENGTH + 2;
  char path[ATH_PATH_MAX], hex[ATH_SHA256_TEXT];
  ATH_TRY(ath_path_join(path, folder, name));
  if (!ath_path_exists(path)) return ath_fail(ATH_CORRUPT, "%s: this file is missing", path);
  ATH_TRY(ath_sha256_file(path, hex));
  if (memcmp(hex, line, HEX_LENGTH) == 0) return ATH_OK;
  return ath_fail(ATH_CORRUPT, "%s: not as it was written (its SHA-256 differs)", path);
}

/* Whether a line of the list names this file; searched before lines are cut into strings. */
static bool lists(const ath_buffer *list, const char *name) {
  char wanted[256];
  int length = snprintf(wanted, sizeof wanted, "  %s\n", name);
  assert(length > 0 && (size_t)length < sizeof wanted);
  (void)length;
  return list->length > 0 && strstr(list->bytes, wanted) != NULL;
}

static ath_status check_list(const char *folder, ath_buffer *list, const char *const *required,
                             size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!lists(list, required[i]))
      return ath_fail(ATH_CORRUPT, "%s/%s: %s is not in it", folder, LIST_NAME, required[i]);
  size_t at = 0;
  while (at < list->length) {
    char *end = memchr(list->bytes + at, '\n', list->length - at);
    if (end == NULL) return ath_fail(ATH_CORRUPT, "%s/%s: cut short", folder, LIST_NAME);
    size_t length = (size_t)(end - (list->bytes + at));
    ATH_TRY(check_line(folder, list->bytes + at, length));
    at += length + 1;
  }
  return ATH_OK;
}

ath_status ath_checksums_verify(const char *folder, const char *const *required, size_t count) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, folder, LIST_NAME));
  if (!ath_path_exists(path))
    return ath_fail(ATH_CORRUPT, "%s: no %s in it: it was not finished", folder, LIST_NAME);
  ath_buffer list = ath_buffer_make(LIST_BYTES_MAX);
  ath_status status = ath_file_read(path, &list);
  if (status == ATH_OK) status = check_list(folder, &list, required, count);
  ath_buffer_free(&list);
  return status;
}
