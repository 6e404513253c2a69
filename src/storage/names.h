/* names.h: lists of names, as of the files below a folder. */
#ifndef ATHANOR_STORAGE_NAMES_H
#define ATHANOR_STORAGE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "athanor/status.h"

enum { ATH_NAMES_MAX = 1 << 24 };

typedef struct ath_names {
  char **items; /* copies of what was added */
  size_t count, capacity;
} ath_names;
ath_status ath_names_add(ath_names *self, const char *name) ATH_MUST_CHECK;
void ath_names_sort(ath_names *self); /* by bytes */
bool ath_names_contain(const ath_names *self, const char *name); /* of a sorted list */
void ath_names_free(ath_names *self);

/* Whether the name of a remote object may be that of a local file below a folder: ATH_INVALID for
 * one that leads elsewhere ("..", "a//b", "/a"). */
ath_status ath_name_check(const char *name) ATH_MUST_CHECK;
/* Makes the folders above a path. */
ath_status ath_folder_create_above(const char *path) ATH_MUST_CHECK;

/* Adds the names below a local folder that are no folders, relative to it, sorted. Symbolic links
 * to folders are not followed. */
ath_status ath_folder_walk(const char *folder, ath_names *out) ATH_MUST_CHECK;

#endif
