/* mirror_files.h: what a mirror knows of its files, and the record of it. */
#ifndef ATHANOR_STORAGE_MIRROR_FILES_H
#define ATHANOR_STORAGE_MIRROR_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"

typedef struct ath_mirror_file {
  char *name;
  uint64_t size, changed; /* of the file here when it was last the same as there; time in ns */
  uint64_t version;       /* of the object there; 0: never sent */
  double pushed;          /* when, by seconds_now */
} ath_mirror_file;

typedef struct ath_mirror_files {
  ath_mirror_file *items; /* in the order of names */
  size_t count, capacity;
} ath_mirror_files;

/* Names are copied; they come in order. */
ath_status ath_mirror_files_add(ath_mirror_files *self, const ath_mirror_file *file)
    ATH_MUST_CHECK;
ath_mirror_file *ath_mirror_files_find(const ath_mirror_files *self, const char *name);
void ath_mirror_files_free(ath_mirror_files *self);

/* A missing record is an empty one, and so is one that is damaged. */
ath_status ath_mirror_files_read(ath_mirror_files *self, const char *path) ATH_MUST_CHECK;
ath_status ath_mirror_files_write(const ath_mirror_files *self, const char *path) ATH_MUST_CHECK;

#endif
