/* fuzz_hub.c: any bytes as the Hub's listing of a repository's files, as the one that the cache
 * keeps, and as a place. What is taken for a path must stay below the snapshot's folder, and what
 * names a blob must be a checksum. */
#include "fuzzing.h"

#include "hub/place.h"
#include "hub/tree.h"

static void check_entry(const ath_hub_entry *entry) {
  const char *blob = ath_hub_entry_blob(entry);
  MUST(ath_hub_is_safe_path(entry->path) && entry->path[0] != '/');
  MUST(strstr(entry->path, "/../") == NULL && strncmp(entry->path, "../", 3) != 0);
  MUST(strlen(blob) == ATH_GIT_DIGITS || strlen(blob) == ATH_LFS_DIGITS);
  MUST(strspn(blob, "0123456789abcdef") == strlen(blob));
}

static void check_tree(ath_hub_tree *tree) {
  for (size_t i = 0; i < tree->count; i++) check_entry(&tree->entries[i]);
  ath_hub_tree_free(tree);
}

static void load_kept(const uint8_t *data, size_t size) {
  char path[64];
  ath_hub_tree tree = {0};
  int file = memfd_create("listing", MFD_CLOEXEC);
  MUST(file >= 0 && write(file, data, size) == (ssize_t)size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  bool loaded = ath_hub_tree_load(path, &tree);
  close(file);
  MUST(loaded || tree.count == 0);
  check_tree(&tree);
}

static void load_answer(const uint8_t *data, size_t size) {
  ath_hub_tree tree = {0};
  json_t *list = json_loadb((const char *)data, size, 0, NULL);
  ath_status status = ath_hub_tree_read(list, &tree);
  MUST(status == ATH_OK || *ath_error_text() != '\0');
  json_decref(list);
  check_tree(&tree);
}

static void parse_place(const uint8_t *data, size_t size) {
  ath_hub_place place;
  char *text = strndup((const char *)data, size);
  MUST(text != NULL);
  if (ath_hub_place_parse(text, &place) == ATH_OK)
    MUST(place.id[0] != '\0' && place.id[0] != '.' && ath_hub_is_safe_path(place.revision) &&
         (place.path[0] == '\0' || ath_hub_is_safe_path(place.path)));
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  say_nothing();
  load_kept(data, size);
  load_answer(data, size);
  parse_place(data, size);
  return 0;
}
