/* file.h: local files. Whole-file reads, atomic writes, folders. Every failure names the path. */
#ifndef ATHANOR_STORAGE_FILE_H
#define ATHANOR_STORAGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "athanor/status.h"
#include "base/buffer.h"

enum { ATH_PATH_MAX = 4096 }; /* bytes of a path, its NUL included */

/* Joins "folder/name"; ATH_INVALID when the result does not fit. */
ath_status ath_path_join(char out[ATH_PATH_MAX], const char *folder, const char *name)
    ATH_MUST_CHECK;

bool ath_path_exists(const char *path);
bool ath_path_is_folder(const char *path);
bool ath_path_is_pipe(const char *path);

/* Makes a folder and those above it; an existing one is fine. */
ath_status ath_folder_create(const char *path) ATH_MUST_CHECK;
/* Removes a folder and everything in it; a missing one is fine. Symbolic links are not followed. */
ath_status ath_folder_remove(const char *path) ATH_MUST_CHECK;
/* Flushes a folder's entries to disk, so that a rename in it survives a power cut. */
ath_status ath_folder_sync(const char *path) ATH_MUST_CHECK;

/* The names in a folder (without . and ..), sorted by byte value, all of them or a failure. The
 * caller frees them with ath_folder_list_free. */
ath_status ath_folder_list(const char *path, char ***names, size_t *count) ATH_MUST_CHECK;
void ath_folder_list_free(char **names, size_t count);

/* Makes the folder, if missing, and locks it against other processes (and other handles) that lock
 * it too: two runs in one folder would remove each other's files. ATH_DENIED "<path>: <busy>" while
 * another holds it. Closing *handle lets go; so does the end of the process. Where the file system
 * knows no locks there is none. On failure *handle is −1 or still to be closed. */
ath_status ath_folder_lock(const char *path, const char *busy, int *handle) ATH_MUST_CHECK;

ath_status ath_file_size(const char *path, uint64_t *size) ATH_MUST_CHECK;

/* Appends the whole file to `out`, whose maximum bounds the file's size (ATH_NO_MEMORY). After a
 * failure `out` may hold a part of it. A pipe, as a shell's <(command), is read to its end; one
 * that nobody writes to is ATH_INVALID at once. */
ath_status ath_file_read(const char *path, ath_buffer *out) ATH_MUST_CHECK;

/* A file being written under a temporary name beside its final one, "<path>.tmp-<pid>". Nobody
 * sees a half-written file: commit flushes to disk, renames and flushes the folder, in this order,
 * so that neither a kill nor a power cut leaves anything but the old file or the new one; abandon
 * removes what was written. Once a write has failed, commit fails too. A writer belongs to one
 * thread at a time. */
typedef struct ath_file_writer ath_file_writer;
ath_status ath_file_writer_open(const char *path, ath_file_writer **out) ATH_MUST_CHECK;
ath_status ath_file_writer_write(ath_file_writer *self, const void *bytes, size_t count)
    ATH_MUST_CHECK;
/* Closes and destroys the writer, whether it succeeds or not. */
ath_status ath_file_writer_commit(ath_file_writer *self) ATH_MUST_CHECK;
/* As commit, but under another final name in the same folder. */
ath_status ath_file_writer_commit_as(ath_file_writer *self, const char *path) ATH_MUST_CHECK;
void ath_file_writer_abandon(ath_file_writer *self); /* NULL is allowed */

/* Writes a whole file as above. A path that is neither a file nor a folder (/dev/null, a pipe) is
 * written to where it is. */
ath_status ath_file_write(const char *path, const void *bytes, size_t count) ATH_MUST_CHECK;

/* Adds to the end of a file, which must exist, and flushes it to disk. Not atomic: a kill or a full
 * disk may leave a part of the bytes there, and the reader must be able to tell. */
ath_status ath_file_append(const char *path, const void *bytes, size_t count) ATH_MUST_CHECK;

/* A file mapped for reading; its bytes stay valid until it is unmapped, for any thread. An empty
 * file maps to size 0 with a non-null pointer. Somebody who cuts a mapped file short kills the
 * process that reads behind the cut (SIGBUS): map only files that are replaced by renaming. */
typedef struct ath_mapping {
  const uint8_t *bytes;
  size_t size;
} ath_mapping;
ath_status ath_file_map(const char *path, ath_mapping *out) ATH_MUST_CHECK;
void ath_file_unmap(ath_mapping *self);
/* Lets go of the memory that what was looked at takes; it is read again when it is looked at. */
void ath_file_forget(const ath_mapping *self);

#endif
