/* file.c: the local file system. */
#include "storage/file.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  WRITE_BUFFER = 1 << 18,
  FOLDER_DEPTH_MAX = 64,
  NAMES_MAX = 1 << 24, /* entries of one folder */
};

ath_status ath_path_join(char out[ATH_PATH_MAX], const char *folder, const char *name) {
  size_t length = strlen(folder);
  const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
  int needed = snprintf(out, ATH_PATH_MAX, "%s%s%s", folder, slash, name);
  if (needed < 0 || needed >= ATH_PATH_MAX)
    return ath_fail(ATH_INVALID, "%.60s…: the path is longer than %d bytes", folder, ATH_PATH_MAX);
  return ATH_OK;
}

bool ath_path_exists(const char *path) { return access(path, F_OK) == 0; }

bool ath_path_is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool ath_path_is_pipe(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
}

/* From the top down; EEXIST is looked into at the end alone, where a file in the way can be told
 * from a folder that another process has just made. */
ath_status ath_folder_create(const char *path) {
  char partial[ATH_PATH_MAX];
  size_t length = strlen(path);
  if (length == 0 || length >= sizeof partial)
    return ath_fail(ATH_INVALID, "\"%.60s\" cannot be a folder's name", path);
  memcpy(partial, path, length + 1);
  for (size_t i = 1; i <= length; i++) {
    if (partial[i] != '/' && partial[i] != '\0') continue;
    char kept = partial[i];
    partial[i] = '\0';
    if (mkdir(partial, 0777) != 0 && errno != EEXIST)
      return ath_fail_errno(errno, "%s: cannot make this folder", partial);
    partial[i] = kept;
  }
  if (!ath_path_is_folder(path))
    return ath_fail(ATH_INVALID, "%s: a file of that name is in the way of the folder", path);
  return ATH_OK;
}

/* The next entry but for . and .., NULL at the end: readdir tells an end from a failure by errno
 * alone, and half a list taken for a whole one would lose shards or checkpoints. */
static ath_status next_entry(DIR *stream, const char *path, struct dirent **out) {
  do {
    errno = 0;
    *out = readdir(stream);
    if (*out == NULL && errno != 0) return ath_fail_errno(errno, "%s: cannot list", path);
  } while (*out != NULL && (strcmp((*out)->d_name, ".") == 0 || strcmp((*out)->d_name, "..") == 0));
  return ATH_OK;
}

/* By folder handles, not by paths: a folder that somebody replaces by a link meanwhile is not
 * followed out of the tree. */
static ath_status remove_tree(int parent, const char *name, const char *shown, int depth) {
  if (depth > FOLDER_DEPTH_MAX) return ath_fail(ATH_INVALID, "%s: too many folders deep", shown);
  if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return ATH_OK;
  if (errno != EISDIR && errno != EPERM) return ath_fail_errno(errno, "%s: cannot remove", shown);
  int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return ath_fail_errno(errno, "%s: cannot remove", shown);
  DIR *stream = fdopendir(folder);
  if (stream == NULL) {
    int reason = errno;
    close(folder);
    return ath_fail_errno(reason, "%s: cannot list", shown);
  }
  ath_status status = ATH_OK;
  struct dirent *entry = NULL;
  while (status == ATH_OK && (status = next_entry(stream, shown, &entry)) == ATH_OK &&
         entry != NULL)
    status = remove_tree(dirfd(stream), entry->d_name, shown, depth + 1);
  closedir(stream);
  if (status == ATH_OK && unlinkat(parent, name, AT_REMOVEDIR) != 0)
    status = ath_fail_errno(errno, "%s: cannot remove", shown);
  return status;
}

ath_status ath_folder_remove(const char *path) { return remove_tree(AT_FDCWD, path, path, 0); }

ath_status ath_folder_sync(const char *path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return ath_fail_errno(errno, "%s", path);
  int failed = fsync(folder) != 0 && errno != EINVAL; /* some file systems cannot; not a fault */
  int reason = errno;
  close(folder);
  return failed ? ath_fail_errno(reason, "%s: cannot flush to disk", path) : ATH_OK;
}

static int by_bytes(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

void ath_folder_list_free(char **names, size_t count) {
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
}

static ath_status add_name(char ***list, size_t *used, size_t *capacity, const char *name,
                           const char *path) {
  assert(*used <= *capacity);
  if (*used == NAMES_MAX) return ath_fail(ATH_INVALID, "%s: over %d entries", path, NAMES_MAX);
  if (*used == *capacity) {
    size_t larger = *capacity == 0 ? 32 : *capacity * 2;
    char **more = realloc(*list, larger * sizeof *more);
    if (more == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to list it", path);
    *list = more;
    *capacity = larger;
  }
  (*list)[*used] = strdup(name);
  if ((*list)[*used] == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to list it", path);
  ++*used;
  return ATH_OK;
}

ath_status ath_folder_list(const char *path, char ***names, size_t *count) {
  DIR *stream = opendir(path);
  if (stream == NULL) return ath_fail_errno(errno, "%s", path);
  char **list = NULL;
  size_t used = 0, capacity = 0;
  struct dirent *entry = NULL;
  ath_status status;
  while ((status = next_entry(stream, path, &entry)) == ATH_OK && entry != NULL) {
    status = add_name(&list, &used, &capacity, entry->d_name, path);
    if (status != ATH_OK) break;
  }
  closedir(stream);
  if (status != ATH_OK) {
    ath_folder_list_free(list, used);
    return status;
  }
  if (used > 0) qsort(list, used, sizeof *list, by_bytes);
  *names = list;
  *count = used;
  return ATH_OK;
}

ath_status ath_folder_lock(const char *path, const char *busy, int *handle) {
  *handle = -1;
  ATH_TRY(ath_folder_create(path));
  *handle = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (*handle < 0) return ath_fail_errno(errno, "%s", path);
  if (flock(*handle, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return ath_fail(ATH_DENIED, "%s: %s", path, busy);
  return ATH_OK;
}

ath_status ath_file_size(const char *path, uint64_t *size) {
  struct stat info;
  if (stat(path, &info) != 0) return ath_fail_errno(errno, "%s", path);
  *size = (uint64_t)info.st_size;
  return ATH_OK;
}

/* Reads into the room the buffer has; without room, one byte tells whether the file goes on. */
static ath_status read_some(int file, ath_buffer *out, bool *ended) {
  size_t limit = out->capacity > out->maximum ? out->maximum + 1 : out->capacity;
  size_t room = limit > out->length + 1 ? limit - out->length - 1 : 0;
  assert(room <= out->maximum - out->length);
  char one_more;
  ssize_t got = room > 0 ? read(file, out->bytes + out->length, room) : read(file, &one_more, 1);
  if (got < 0 && errno == EINTR) return ATH_OK;
  if (got < 0) return ath_fail_errno(errno, "cannot read");
  *ended = got == 0;
  if (room == 0) return got == 0 ? ATH_OK : ath_buffer_byte(out, one_more);
  out->length += (size_t)got;
  out->bytes[out->length] = '\0';
  return ATH_OK;
}

/* The size is a hint: pipes and /proc have none, and a file may grow while it is read. */
static ath_status read_to_end(int file, const struct stat *info, ath_buffer *out) {
  if (S_ISREG(info->st_mode)) ATH_TRY(ath_buffer_reserve(out, (size_t)info->st_size));
  for (bool ended = false; !ended;) ATH_TRY(read_some(file, out, &ended));
  return ATH_OK;
}

/* Opens for reading without waiting: a FIFO would hold up a plain open until somebody writes. */
static ath_status open_file(const char *path, int *file, struct stat *info) {
  *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*file < 0) return ath_fail_errno(errno, "%s", path);
  int flags = fcntl(*file, F_GETFL);
  if (flags >= 0 && fcntl(*file, F_SETFL, flags & ~O_NONBLOCK) == 0 && fstat(*file, info) == 0)
    return ATH_OK;
  int reason = errno;
  close(*file);
  return ath_fail_errno(reason, "%s", path);
}

ath_status ath_file_read(const char *path, ath_buffer *out) {
  int file;
  struct stat info;
  size_t before = out->length;
  ATH_TRY(open_file(path, &file, &info));
  ath_status status = read_to_end(file, &info, out);
  close(file);
  if (status == ATH_OK && S_ISFIFO(info.st_mode) && out->length == before)
    return ath_fail(ATH_INVALID, "%s: a pipe that nobody writes to; name a file", path);
  return ath_context(status, "%s", path);
}

struct ath_file_writer {
  int file;
  int failure; /* errno of a write that failed, after which there is a hole in the file; or 0 */
  size_t used;
  char path[ATH_PATH_MAX], temporary[ATH_PATH_MAX];
  char pending[WRITE_BUFFER];
};

/* The process's number keeps two processes from writing into one temporary file. */
ath_status ath_file_writer_open(const char *path, ath_file_writer **out) {
  if (*path == '\0') return ath_fail(ATH_INVALID, "the name of a file to write is empty");
  if (ath_path_is_folder(path))
    return ath_fail(ATH_INVALID, "%s: is a folder; name a file to write", path);
  ath_file_writer *self = malloc(sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory to write it", path);
  self->used = 0;
  self->failure = 0;
  int a = snprintf(self->path, sizeof self->path, "%s", path);
  int b = snprintf(self->temporary, sizeof self->temporary, "%s.tmp-%ld", path, (long)getpid());
  if (a < 0 || b < 0 || b >= ATH_PATH_MAX) {
    free(self);
    return ath_fail(ATH_INVALID, "%.60s…: the path is too long", path);
  }
  self->file = open(self->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (self->file < 0) {
    int reason = errno;
    free(self);
    return ath_fail_errno(reason, "%s: cannot write", path);
  }
  *out = self;
  return ATH_OK;
}

/* 0, or the errno of the write that failed. */
static int write_bytes(int file, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t put = write(file, bytes, count);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return put < 0 ? errno : EIO;
    bytes += put;
    count -= (size_t)put;
  }
  return 0;
}

static ath_status write_all(ath_file_writer *self, const char *bytes, size_t count) {
  int reason = write_bytes(self->file, bytes, count);
  if (reason == 0) return ATH_OK;
  self->failure = reason;
  return ath_fail_errno(reason, "%s: cannot write", self->path);
}

static ath_status flush_pending(ath_file_writer *self) {
  size_t count = self->used;
  assert(count <= WRITE_BUFFER);
  self->used = 0;
  return write_all(self, self->pending, count);
}

ath_status ath_file_writer_write(ath_file_writer *self, const void *bytes, size_t count) {
  assert(self->file >= 0 && self->used <= WRITE_BUFFER);
  if (count > WRITE_BUFFER - self->used) ATH_TRY(flush_pending(self));
  if (count >= WRITE_BUFFER) return write_all(self, bytes, count);
  if (count > 0) memcpy(self->pending + self->used, bytes, count);
  self->used += count;
  return ATH_OK;
}

void ath_file_writer_abandon(ath_file_writer *self) {
  if (self == NULL) return;
  if (self->file >= 0) close(self->file);
  unlink(self->temporary);
  free(self);
}

/* The data must be on the disk before the name points to it, or a power cut could leave a file that
 * is complete by name and empty inside; then the folder, or the name itself could be lost. */
ath_status ath_file_writer_commit(ath_file_writer *self) {
  assert(self->file >= 0);
  /* A caller that went on after a failed write must not get a file with a hole in it. */
  ath_status status = self->failure == 0
                          ? flush_pending(self)
                          : ath_fail_errno(self->failure, "%s: cannot write", self->path);
  if (status == ATH_OK && fsync(self->file) != 0)
    status = ath_fail_errno(errno, "%s: cannot flush to disk", self->path);
  int closed = close(self->file);
  self->file = -1;
  if (status == ATH_OK && closed != 0)
    status = ath_fail_errno(errno, "%s: cannot close", self->path);
  if (status == ATH_OK && rename(self->temporary, self->path) != 0)
    status = ath_fail_errno(errno, "%s: cannot rename into place", self->path);
  if (status != ATH_OK) {
    ath_file_writer_abandon(self);
    return status;
  }
  char folder[ATH_PATH_MAX];
  memcpy(folder, self->path, sizeof folder);
  free(self);
  char *slash = strrchr(folder, '/');
  if (slash == NULL) return ath_folder_sync(".");
  slash[slash == folder ? 1 : 0] = '\0';
  return ath_folder_sync(folder);
}

ath_status ath_file_writer_commit_as(ath_file_writer *self, const char *path) {
  size_t length = strlen(path);
  if (length >= sizeof self->path) {
    ath_file_writer_abandon(self);
    return ath_fail(ATH_INVALID, "%.60s…: the path is too long", path);
  }
  memcpy(self->path, path, length + 1);
  return ath_file_writer_commit(self);
}

/* Something that exists and is neither a file nor a folder: /dev/null, a pipe. To rename a file
 * onto its name would put the file in its place. */
static bool is_device(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static ath_status write_in_place(const char *path, int flags, const void *bytes, size_t count) {
  int file = open(path, flags | O_CLOEXEC);
  if (file < 0) return ath_fail_errno(errno, "%s: cannot write", path);
  int reason = write_bytes(file, bytes, count);
  /* EINVAL: a pipe or a terminal has nothing to flush. */
  if (reason == 0 && fsync(file) != 0 && errno != EINVAL) reason = errno;
  if (close(file) != 0 && reason == 0) reason = errno;
  return reason == 0 ? ATH_OK : ath_fail_errno(reason, "%s: cannot write", path);
}

ath_status ath_file_write(const char *path, const void *bytes, size_t count) {
  ath_file_writer *writer = NULL;
  if (is_device(path)) return write_in_place(path, O_WRONLY, bytes, count);
  ATH_TRY(ath_file_writer_open(path, &writer));
  ath_status status = ath_file_writer_write(writer, bytes, count);
  if (status != ATH_OK) {
    ath_file_writer_abandon(writer);
    return status;
  }
  return ath_file_writer_commit(writer);
}

ath_status ath_file_append(const char *path, const void *bytes, size_t count) {
  return write_in_place(path, O_WRONLY | O_APPEND, bytes, count);
}

ath_status ath_file_map(const char *path, ath_mapping *out) {
  static const uint8_t nothing;
  int file;
  struct stat info;
  ATH_TRY(open_file(path, &file, &info));
  if (!S_ISREG(info.st_mode)) {
    close(file);
    return ath_fail(ATH_INVALID, "%s: not a regular file", path);
  }
  *out = (ath_mapping){&nothing, (size_t)info.st_size};
  if (out->size > 0) {
    void *memory = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) {
      int reason = errno;
      close(file);
      return ath_fail_errno(reason, "%s: cannot map", path);
    }
    out->bytes = memory;
  }
  close(file);
  return ATH_OK;
}

void ath_file_forget(const ath_mapping *self) {
  if (self->size > 0) madvise((void *)(uintptr_t)self->bytes, self->size, MADV_DONTNEED);
}

void ath_file_unmap(ath_mapping *self) {
  if (self->size > 0) munmap((void *)(uintptr_t)self->bytes, self->size);
  *self = (ath_mapping){0};
}
