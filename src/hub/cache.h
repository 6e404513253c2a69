/* cache.h: the folder of one repository in the cache that is shared with huggingface_hub, whose
 * layout and locks it has (huggingface.co/docs/huggingface_hub/guides/manage-cache). */
#ifndef ATHANOR_HUB_CACHE_H
#define ATHANOR_HUB_CACHE_H

#include "hub/tree.h"

typedef struct ath_hub_cache {
  char root[ATH_PATH_MAX];   /* $HF_HUB_CACHE */
  char folder[ATH_PATH_MAX]; /* root/models--USER--NAME */
  char locks[ATH_PATH_MAX];  /* root/.locks/models--USER--NAME */
} ath_hub_cache;

/* Its paths only; nothing is made. */
ath_status ath_hub_cache_open(const ath_hub_place *place, ath_hub_cache *out) ATH_MUST_CHECK;
/* Makes the folders that a download needs, and marks the root as a cache. */
ath_status ath_hub_cache_prepare(const ath_hub_cache *self) ATH_MUST_CHECK;

/* The commit that a revision was when it was last asked for: false if it never was. A commit is
 * itself. */
bool ath_hub_cache_commit(const ath_hub_cache *self, const char *revision,
                          char commit[ATH_HUB_COMMIT_MAX]);
ath_status ath_hub_cache_set_commit(const ath_hub_cache *self, const char *revision,
                                    const char *commit) ATH_MUST_CHECK;

/* "<folder>/trees/<commit>.json", "<folder>/blobs/<blob>". */
ath_status ath_hub_cache_tree_path(const ath_hub_cache *self, const char *commit,
                                   char out[ATH_PATH_MAX]) ATH_MUST_CHECK;
ath_status ath_hub_cache_blob_path(const ath_hub_cache *self, const char *blob,
                                   char out[ATH_PATH_MAX]) ATH_MUST_CHECK;
/* "<folder>/snapshots/<commit>/<path>"; without a path the snapshot's folder. */
ath_status ath_hub_cache_file_path(const ath_hub_cache *self, const char *commit,
                                   const char *path, char out[ATH_PATH_MAX]) ATH_MUST_CHECK;
/* Whether the snapshot has the file, with its content. */
bool ath_hub_cache_has(const ath_hub_cache *self, const char *commit, const char *path);
/* Puts a blob that is there into the snapshot, as a relative link. */
ath_status ath_hub_cache_link(const ath_hub_cache *self, const char *commit,
                              const ath_hub_entry *entry) ATH_MUST_CHECK;

/* Waits until no other has the blob's lock, which is filelock's: <locks>/<blob>.lock
 * (storage/lock.h). */
ath_status ath_hub_cache_lock(const ath_hub_cache *self, const char *blob,
                              const volatile sig_atomic_t *stop, int *lock) ATH_MUST_CHECK;

#endif
