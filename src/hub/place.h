/* place.h: kinds of repositories, and the patterns that choose among a repository's files. */
#ifndef ATHANOR_HUB_PLACE_H
#define ATHANOR_HUB_PLACE_H

#include "athanor/hub.h"

const char *ath_hub_kind_name(ath_hub_kind kind);   /* "dataset" */
const char *ath_hub_kind_plural(ath_hub_kind kind); /* "datasets" */
const char *ath_hub_kind_prefix(ath_hub_kind kind); /* of its pages: "datasets/", for models "" */

/* Relative, without "." or ".." in it: what the Hub names becomes a path here. */
bool ath_hub_is_safe_path(const char *path);

bool ath_hub_matches(const char *const *patterns, const char *path);
/* Among `include`, or that is NULL, and not among `exclude`. */
bool ath_hub_is_wanted(const char *const *include, const char *const *exclude, const char *path);

#endif
