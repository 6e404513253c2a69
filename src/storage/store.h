/* store.h: objects, local or in Cloud Storage, behind one interface.
 *
 * Local locations go to file.h; gs:// to the JSON API of Cloud Storage
 * (cloud.google.com/storage/docs/json_api) through gcs.h. Every failure names the location.
 * Functions are safe from any thread; handles belong to one at a time. */
#ifndef ATHANOR_STORAGE_STORE_H
#define ATHANOR_STORAGE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "athanor/status.h"
#include "storage/location.h"

/* ATH_NOT_FOUND when there is none. */
ath_status ath_object_stat(const char *location, ath_object_info *out) ATH_MUST_CHECK;

/* Calls `visit` with each object below the folder `location`, its name relative to it, in the order
 * of names, until it fails. All pages are read; a missing local folder is ATH_NOT_FOUND. */
ath_status ath_object_list(const char *location,
                           ath_status (*visit)(void *context, const char *name,
                                               const ath_object_info *info),
                           void *context) ATH_MUST_CHECK;

/* Reads an object from front to back or by ranges, with parallel read-ahead when remote. The object
 * may be replaced meanwhile: what is read is one version (ATH_MISMATCH otherwise). A remote object
 * read whole from front to back is checked against its crc32c (ATH_CORRUPT). */
typedef struct ath_object ath_object;
ath_status ath_object_open(const char *location, ath_object **out) ATH_MUST_CHECK;
void ath_object_close(ath_object *self); /* NULL is allowed */
const ath_object_info *ath_object_info_of(const ath_object *self);
/* The next bytes, *count = 0 at the end. */
ath_status ath_object_read(ath_object *self, void *bytes, size_t room, size_t *count)
    ATH_MUST_CHECK;
ath_status ath_object_seek(ath_object *self, uint64_t at) ATH_MUST_CHECK;

/* Copies one file whole, either way (or between two local ones). Uploads are resumable and checked
 * by crc32c; downloads arrive under a temporary name, are checked, and renamed. */
ath_status ath_object_copy(const char *from, const char *to) ATH_MUST_CHECK;
ath_status ath_object_delete(const char *location) ATH_MUST_CHECK; /* a missing one is fine */
/* Where the store can (local; gs:// by rewrite and delete). */
ath_status ath_object_rename(const char *from, const char *to) ATH_MUST_CHECK;

/* A local path with the content of an object or a folder, or a folder of what a pattern with * ? or
 * [ ] matches: the path itself when it is local, else a copy in the cache (ATHANOR_CACHE_DIR,
 * default ~/.cache/athanor/gs), fetched in parallel where it is not there in this version. The
 * cache holds at most ATHANOR_CACHE_SIZE (default 50GB): what was used longest ago goes first,
 * never what a process uses that still runs. Without `deep` a folder comes without its folders. */
ath_status ath_cache_fetch(const char *location, bool deep, char path[ATH_LOCATION_MAX])
    ATH_MUST_CHECK;

/* A folder in the cache for what is written here and belongs at `location`; nothing of it is given
 * up to make room. The name is the location's. */
ath_status ath_cache_place(const char *location, char path[ATH_LOCATION_MAX]) ATH_MUST_CHECK;

#endif
