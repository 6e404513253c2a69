/* events.c: the files that TensorBoard follows while a run writes them. The messages are in
 * event_message.c; here are the file's name, its place among older ones, and when bytes reach the
 * disk.
 *
 *     record: file_version "brain.Event:2"
 *     record: session_log START
 *     record: a scalar, and so on
 *
 * TensorBoard reads a folder's files in order of name as one history. A START after the first one
 * makes it forget all events at that step and later, so every file has one. */
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "athanor/events.h"
#include "base/buffer.h"
#include "formats/event_message.h"
#include "storage/file.h"

enum {
  RECORD_MAX = 1 << 16,     /* bytes of one record */
  SYNC_SECONDS = 5,         /* at least this long between two flushes to disk */
  NAME_TRIES = 100,
};
static const char name_prefix[] = "events.out.tfevents.";

struct ath_events {
  int file;
  off_t size;       /* of the whole records in the file */
  double synced_at; /* when they were last flushed to disk */
  ath_buffer record;
  char path[ATH_PATH_MAX];
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The time for a new file's name: now, but later than those of the files that are there, so that
 * it sorts behind them even within one second or after the clock was set back. */
static ath_status choose_time(const char *folder, int64_t *seconds) {
  char **names;
  size_t count;
  ATH_TRY(ath_folder_list(folder, &names, &count));
  *seconds = (int64_t)now();
  for (size_t i = 0; i < count; i++) {
    if (strncmp(names[i], name_prefix, sizeof name_prefix - 1) != 0) continue;
    int64_t found = strtoll(names[i] + sizeof name_prefix - 1, NULL, 10);
    if (found >= *seconds && found < INT32_MAX) *seconds = found + 1;
  }
  ath_folder_list_free(names, count);
  return ATH_OK;
}

/* Creates the file; the counter at the end keeps two of one process apart. */
static ath_status create_file(const char *folder, ath_events *self) {
  char host[HOST_NAME_MAX + 1] = "localhost", name[HOST_NAME_MAX + 128];
  int64_t seconds = 0;
  ATH_TRY(choose_time(folder, &seconds));
  gethostname(host, sizeof host - 1);
  for (int number = 0; number < NAME_TRIES; number++) {
    snprintf(name, sizeof name, "%s%010" PRId64 ".%s.%ld.%d", name_prefix, seconds, host,
             (long)getpid(), number);
    ATH_TRY(ath_path_join(self->path, folder, name));
    self->file = open(self->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (self->file >= 0) return ATH_OK;
    if (errno != EEXIST) break;
  }
  return ath_fail_errno(errno, "%s: cannot write", self->path);
}

/* Writes the record in the buffer as a whole or, on a full disk say, not at all: a half one would
 * hide all that follow it. */
static ath_status append_record(ath_events *self) {
  assert(self->file >= 0 && self->record.length > 0);
  size_t done = 0;
  while (done < self->record.length) {
    ssize_t put = write(self->file, self->record.bytes + done, self->record.length - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      int reason = put < 0 ? errno : EIO;
      if (ftruncate(self->file, self->size) == 0) lseek(self->file, self->size, SEEK_SET);
      return ath_fail_errno(reason, "%s: cannot write", self->path);
    }
    done += (size_t)put;
  }
  self->size += (off_t)done;
  ath_buffer_clear(&self->record);
  return ATH_OK;
}

static ath_status write_beginning(ath_events *self, int64_t resume_step) {
  double time = now();
  int64_t first_step = resume_step > 0 ? resume_step + 1 : 0;
  ATH_TRY(ath_event_version(time, &self->record));
  ATH_TRY(ath_event_session_start(time, first_step, &self->record));
  ATH_TRY(append_record(self));
  return ath_events_flush(self);
}

ath_status ath_events_create(const char *folder, int64_t resume_step, ath_events **out) {
  assert(resume_step >= 0);
  ATH_TRY(ath_folder_create(folder));
  ath_events *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "%s: no memory for its event file", folder);
  self->record = ath_buffer_make(RECORD_MAX);
  self->file = -1;
  ath_status status = create_file(folder, self);
  if (status == ATH_OK) status = write_beginning(self, resume_step);
  if (status != ATH_OK) {
    if (self->file >= 0) {
      close(self->file);
      unlink(self->path);
    }
    ath_buffer_free(&self->record);
    free(self);
    return status;
  }
  *out = self;
  return ATH_OK;
}

ath_status ath_events_scalar(ath_events *self, int64_t step, const char *tag, float value) {
  assert(step >= 0 && tag[0] != '\0');
  double time = now();
  ath_buffer_clear(&self->record);
  ATH_TRY_CONTEXT(ath_event_scalar(time, step, tag, value, &self->record), "%s", self->path);
  ATH_TRY(append_record(self));
  bool due = time - self->synced_at >= SYNC_SECONDS || time < self->synced_at;
  return due ? ath_events_flush(self) : ATH_OK;
}

ath_status ath_events_flush(ath_events *self) {
  self->synced_at = now();
  if (fdatasync(self->file) != 0 && errno != EINVAL)
    return ath_fail_errno(errno, "%s: cannot flush to disk", self->path);
  return ATH_OK;
}

ath_status ath_events_close(ath_events *self) {
  if (self == NULL) return ATH_OK;
  ath_status status = ath_events_flush(self);
  if (close(self->file) != 0 && status == ATH_OK)
    status = ath_fail_errno(errno, "%s: cannot close", self->path);
  ath_buffer_free(&self->record);
  free(self);
  return status;
}
