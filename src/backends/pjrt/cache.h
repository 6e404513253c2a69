/* cache.h: a folder of compiled programs, by key.
 *
 * Compiling a step takes seconds to minutes; a second start with the same program finds the result
 * on disk. A key is the SHA-256 of everything that decides what the compiler makes; an entry
 * carries its key and a checksum of its bytes. Processes may share a folder: entries appear by
 * renaming. The folder must be as trusted as the program itself, for what lies in it is run:
 * entries of other users, or that others may write, are passed over. */
#ifndef ATHANOR_BACKENDS_PJRT_CACHE_H
#define ATHANOR_BACKENDS_PJRT_CACHE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "formats/sha256.h"
#include "storage/file.h"

/* Where entries lie: $ATHANOR_COMPILE_CACHE, or athanor/executables in $XDG_CACHE_HOME or in
 * $HOME/.cache. `*on` is false for ATHANOR_COMPILE_CACHE=off, and where none of them is set. */
ath_status ath_cache_folder(char out[ATH_PATH_MAX], bool *on) ATH_MUST_CHECK;

/* Appends one named part of a key's material, so that no two lists of parts look the same. */
ath_status ath_cache_key_part(ath_buffer *material, const char *name, const void *bytes,
                              size_t size) ATH_MUST_CHECK;

/* Appends an entry's bytes to `out`. ATH_NOT_FOUND: there is none; ATH_CORRUPT: it is damaged,
 * another's, or belongs to another key: compile, and write it anew. */
ath_status ath_cache_read(const char *folder, const char key[ATH_SHA256_TEXT], ath_buffer *out)
    ATH_MUST_CHECK;

/* Writes an entry, in place of an older one, and then removes those that were used longest ago
 * until all of them take at most `limit` bytes. Larger than that, it is not kept (ATH_OK). */
ath_status ath_cache_write(const char *folder, const char key[ATH_SHA256_TEXT], const void *bytes,
                           size_t size, uint64_t limit) ATH_MUST_CHECK;

#endif
