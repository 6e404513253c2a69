/* tree.h: what a commit of a repository holds. */
#ifndef ATHANOR_HUB_TREE_H
#define ATHANOR_HUB_TREE_H

#include "base/arena.h"
#include "hub/client.h"
#include "hub/digest.h"

enum { ATH_HUB_COMMIT_MAX = 41 };

typedef struct ath_hub_entry {
  const char *path;          /* safe to be one here */
  uint64_t size;
  char git[ATH_HUB_OID_MAX]; /* of the file, or of the pointer that git has in its place */
  char lfs[ATH_HUB_OID_MAX]; /* of a large file; or "" */
  char xet[ATH_HUB_OID_MAX]; /* its name in another store, kept for huggingface_hub; or "" */
} ath_hub_entry;

/* The name of its blob in the cache. */
static inline const char *ath_hub_entry_blob(const ath_hub_entry *self) {
  return self->lfs[0] != '\0' ? self->lfs : self->git;
}

typedef struct ath_hub_tree {
  char commit[ATH_HUB_COMMIT_MAX];
  bool whole;                /* it holds all of the commit */
  ath_hub_entry *entries;
  size_t count, capacity;
  ath_arena *memory;
} ath_hub_tree;

void ath_hub_tree_free(ath_hub_tree *self); /* an empty one is allowed */

/* The commit that the place's revision is now; *hidden, which may be NULL: others do not see it. */
ath_status ath_hub_resolve(ath_hub *hub, const ath_hub_place *place,
                           char commit[ATH_HUB_COMMIT_MAX], bool *hidden) ATH_MUST_CHECK;
/* The files of out->commit, which is set, that the place's path stands for, before patterns. */
ath_status ath_hub_tree_ask(ath_hub *hub, const ath_hub_place *place, ath_hub_tree *out)
    ATH_MUST_CHECK;
/* Adds the files of one page of the Hub's answer. */
ath_status ath_hub_tree_read(const json_t *list, ath_hub_tree *out) ATH_MUST_CHECK;
/* Keeps the files that the path and the patterns choose; ATH_NOT_FOUND when none is left though the
 * path names something. */
ath_status ath_hub_tree_choose(ath_hub_tree *self, const ath_hub_place *place,
                               const ath_hub_pull_options *options) ATH_MUST_CHECK;

/* The listing as huggingface_hub keeps it, "trees/<commit>.json" in the repository's cache. False
 * where there is none, or none that can be used. */
bool ath_hub_tree_load(const char *path, ath_hub_tree *out);
ath_status ath_hub_tree_save(const ath_hub_tree *self, const char *path) ATH_MUST_CHECK;

/* Whether the path is a pattern. */
bool ath_hub_is_pattern(const char *path);

#endif
