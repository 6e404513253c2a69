/* files.h: the local files that a push is made of. */
#ifndef ATHANOR_HUB_FILES_H
#define ATHANOR_HUB_FILES_H

#include "base/arena.h"
#include "hub/digest.h"
#include "hub/place.h"

typedef struct ath_hub_file {
  const char *local, *remote;
  uint64_t size;
  int64_t changed;             /* time of its last change, in ns */
  bool large, ignored, same;   /* as the Hub says: LFS; not wanted there; there already */
  bool hashed;
  char oid[ATH_HUB_OID_MAX];   /* its content's name, of the kind that `large` asks for */
} ath_hub_file;

typedef struct ath_hub_files {
  ath_hub_file *items;
  size_t count, capacity;
  ath_arena *memory;
} ath_hub_files;

void ath_hub_files_free(ath_hub_files *self); /* an empty one is allowed */
/* A file, or what a folder holds, but for .git, .cache, .athanor (what `athanor run` notes)
 * and links to other folders. */
ath_status ath_hub_files_add(ath_hub_files *self, const ath_hub_source *source) ATH_MUST_CHECK;

/* Computes oid unless it is known for this `large`. */
ath_status ath_hub_file_hash(ath_hub_file *self, bool large) ATH_MUST_CHECK;
/* Opens it for reading; ATH_MISMATCH if it has changed since it was added. */
ath_status ath_hub_file_open(const ath_hub_file *self, int *file) ATH_MUST_CHECK;

#endif
