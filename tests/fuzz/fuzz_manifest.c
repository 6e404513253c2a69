/* fuzz_manifest.c: any bytes as a dataset's manifest.json. What is read is written, and read again
 * it is the same. */
#include "fuzzing.h"

#include "data/manifest.h"
#include "storage/file.h"

static const char *folder(void) {
  static char path[64];
  if (path[0] == '\0') snprintf(path, sizeof path, "/dev/shm/athanor-fuzz-%d", (int)getpid());
  return path;
}

static void put_manifest(const uint8_t *data, size_t size) {
  char path[ATH_PATH_MAX];
  MUST(ath_folder_create(folder()) == ATH_OK);
  MUST(ath_path_join(path, folder(), ATH_MANIFEST_NAME) == ATH_OK);
  FILE *file = fopen(path, "wb");
  MUST(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static void check_same(const ath_manifest *a, const ath_manifest *b) {
  MUST(strcmp(a->split, b->split) == 0 && a->records == b->records && a->lines == b->lines);
  MUST(a->max_length == b->max_length && a->vocab_size == b->vocab_size);
  MUST(a->shards.count == b->shards.count);
  for (size_t i = 0; i < a->shards.count; i++)
    MUST(strcmp(a->shards.items[i].name, b->shards.items[i].name) == 0 &&
         a->shards.items[i].crc == b->shards.items[i].crc);
  MUST(ath_recipe_compare(a->recipe, b->recipe) == ATH_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ath_manifest first, second;
  say_nothing();
  put_manifest(data, size);
  if (ath_manifest_read(folder(), &first) == ATH_OK) {
    MUST(ath_manifest_write(&first, folder()) == ATH_OK);
    MUST(ath_manifest_read(folder(), &second) == ATH_OK);
    check_same(&first, &second);
    ath_manifest_free(&first);
    ath_manifest_free(&second);
  } else {
    MUST(*ath_error_text() != '\0');
  }
  MUST(ath_folder_remove(folder()) == ATH_OK); /* so that nothing is left at the end */
  return 0;
}
