/* seeded.h: the seeds as tokenizers, for the targets that use one. */
#ifndef ATHANOR_TESTS_SEEDED_H
#define ATHANOR_TESTS_SEEDED_H

#include <dirent.h>

#include "fuzzing.h"

enum { SEEDS_MAX = 64 };

static ath_tokenizer *seeded[SEEDS_MAX];
static size_t seeded_count;

static int is_json(const struct dirent *entry) {
  const char *end = strrchr(entry->d_name, '.');
  return end != NULL && strcmp(end, ".json") == 0;
}

/* In the order of their names, so that an input means the same tomorrow. */
static inline void load_seeds(void) {
  struct dirent **entries;
  if (seeded_count > 0) return;
  say_nothing();
  int count = scandir(seeds_folder(), &entries, is_json, alphasort);
  MUST(count > 0 && count <= SEEDS_MAX);
  for (int i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", seeds_folder(), entries[i]->d_name);
    MUST(ath_tokenizer_load(path, &seeded[seeded_count++]) == ATH_OK);
    free(entries[i]);
  }
  free(entries);
}

#endif
