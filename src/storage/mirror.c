/* mirror.c: a local folder that is kept in Cloud Storage while a run writes to it. */
#include "storage/mirror.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/log.h"
#include "base/outcome.h"
#include "storage/file.h"
#include "storage/mirror_files.h"
#include "storage/mirror_pull.h"
#include "storage/names.h"
#include "storage/parallel.h"
#include "storage/store.h"

enum { PUSH_THREADS = 4 };
static const double look_seconds = 1, growing_seconds = 10;

struct ath_mirror {
  ath_mirror_options options;
  char record[ATH_PATH_MAX];
  ath_mirror_files files;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t ends_now;
  bool ends;
  bool warned;
};

/* --- pushing ------------------------------------------------------------------------------ */

typedef struct push {
  const ath_mirror *mirror;
  ath_mirror_files now;
  size_t *due, due_count; /* of `now`, those to send next */
  bool changed;           /* something was sent or deleted */
} push;

/* What is being written goes under names that are not final. */
static bool is_temporary(const char *name) {
  return strstr(name, ".tmp-") != NULL || strstr(name, ".partial/") != NULL;
}

/* 0 for most; those that say that others are complete come later. */
static int rank_of(const ath_mirror *self, const char *name) {
  const char *slash = strrchr(name, '/');
  for (int i = 0; self->options.last[i] != NULL; i++)
    if (strcmp(slash != NULL ? slash + 1 : name, self->options.last[i]) == 0) return i + 1;
  return 0;
}

static bool read_state(const char *path, ath_mirror_file *out) {
  struct stat state;
  if (lstat(path, &state) != 0 || !S_ISREG(state.st_mode)) return false;
  out->size = (uint64_t)state.st_size;
  out->changed = (uint64_t)state.st_mtim.tv_sec * 1000000000u + (uint64_t)state.st_mtim.tv_nsec;
  return true;
}

static ath_status push_one(void *context, size_t index) {
  const push *self = context;
  const ath_mirror_options *options = &self->mirror->options;
  ath_mirror_file *file = &self->now.items[self->due[index]], state = *file;
  char path[ATH_PATH_MAX], location[ATH_LOCATION_MAX];
  ath_object_info info;
  ATH_TRY(ath_path_join(path, options->folder, file->name));
  ATH_TRY(ath_location_join(location, options->location, file->name));
  if (!read_state(path, &state)) return ATH_OK; /* gone meanwhile */
  ath_status status = ath_object_copy(path, location);
  if (status == ATH_NOT_FOUND && !ath_path_exists(path)) return ATH_OK;
  if (status == ATH_OK) status = ath_object_stat(location, &info);
  if (status != ATH_OK) return status;
  state.version = info.version;
  state.pushed = seconds_now();
  *file = state;
  return ATH_OK;
}

static bool is_due(const ath_mirror *self, const ath_mirror_file *file, bool all) {
  char path[ATH_PATH_MAX];
  ath_mirror_file state;
  if (ath_path_join(path, self->options.folder, file->name) != ATH_OK || !read_state(path, &state))
    return false;
  if (file->version != 0 && state.size == file->size && state.changed == file->changed)
    return false;
  return all || file->version == 0 || seconds_now() - file->pushed > growing_seconds;
}

/* The files of one rank; none of a later one unless all of these arrived. */
static ath_status push_rank(push *self, int rank, bool all) {
  self->due_count = 0;
  for (size_t i = 0; i < self->now.count; i++)
    if (rank_of(self->mirror, self->now.items[i].name) == rank &&
        is_due(self->mirror, &self->now.items[i], all))
      self->due[self->due_count++] = i;
  self->changed |= self->due_count > 0;
  return ath_parallel(self->due_count, PUSH_THREADS, push_one, self);
}

/* Files that are here, with what is known of them. */
static ath_status look(const ath_mirror *self, ath_mirror_files *now) {
  ath_names names = {0};
  ath_status status = ath_folder_walk(self->options.folder, &names);
  for (size_t i = 0; i < names.count && status == ATH_OK; i++) {
    if (is_temporary(names.items[i])) continue;
    const ath_mirror_file *known = ath_mirror_files_find(&self->files, names.items[i]);
    status = ath_mirror_files_add(now, known != NULL ? known
                                       : &(ath_mirror_file){.name = names.items[i]});
  }
  ath_names_free(&names);
  return status;
}

/* Those that say that others are complete go first. */
static ath_status delete_gone(const ath_mirror *self, push *work) {
  for (int early = 1; early >= 0; early--)
    for (size_t i = 0; i < self->files.count; i++) {
      char location[ATH_LOCATION_MAX];
      const char *name = self->files.items[i].name;
      if ((rank_of(self, name) > 0) != early || ath_mirror_files_find(&work->now, name) != NULL)
        continue;
      work->changed = true;
      ATH_TRY(ath_location_join(location, self->options.location, name));
      ATH_TRY(ath_object_delete(location));
    }
  return ATH_OK;
}

/* Adds what is gone here and, since something failed, perhaps not there: to be deleted later. */
static ath_status keep_gone(const ath_mirror *self, ath_mirror_files *now) {
  ath_mirror_files both = {0};
  ath_status status = ATH_OK;
  size_t old = 0;
  for (size_t i = 0; i <= now->count && status == ATH_OK; i++) {
    const char *next = i < now->count ? now->items[i].name : NULL;
    for (; old < self->files.count && status == ATH_OK; old++) {
      int order = next != NULL ? strcmp(self->files.items[old].name, next) : -1;
      if (order > 0) break;
      if (order < 0) status = ath_mirror_files_add(&both, &self->files.items[old]);
    }
    if (next != NULL && status == ATH_OK) status = ath_mirror_files_add(&both, &now->items[i]);
  }
  ath_mirror_files_free(now);
  *now = both;
  return status;
}

/* What was sent is known even where something failed. */
static ath_status synchronise(ath_mirror *self, bool all) {
  push work = {.mirror = self};
  ath_outcome outcome;
  ath_status status = look(self, &work.now);
  work.due = calloc(work.now.count + 1, sizeof *work.due);
  if (work.due == NULL) status = ath_fail(ATH_NO_MEMORY, "no memory for a list of files");
  for (int rank = 0; status == ATH_OK; rank++) {
    status = push_rank(&work, rank, all);
    if (self->options.last[rank] == NULL) break;
  }
  if (status == ATH_OK) status = delete_gone(self, &work);
  ath_outcome_keep(&outcome, status);
  free(work.due);
  if (status != ATH_OK) status = keep_gone(self, &work.now);
  ath_mirror_files_free(&self->files);
  self->files = work.now;
  if (status == ATH_OK && work.changed)
    status = ath_mirror_files_write(&self->files, self->record);
  return outcome.status != ATH_OK ? ath_outcome_return(&outcome) : status;
}

/* --- the thread --------------------------------------------------------------------------- */

static void *watch(void *context) {
  ath_mirror *self = context;
  pthread_mutex_lock(&self->lock);
  while (!self->ends) {
    ath_condition_wait(&self->ends_now, &self->lock, seconds_now() + look_seconds);
    if (self->ends) break;
    pthread_mutex_unlock(&self->lock);
    if (synchronise(self, false) != ATH_OK && !self->warned) {
      self->warned = true; /* the end tells of it again, if it lasts */
      ath_log(ATH_LOG_WARNING, "%s; the run goes on, and so do the attempts", ath_error_text());
    }
    pthread_mutex_lock(&self->lock);
  }
  pthread_mutex_unlock(&self->lock);
  return NULL;
}

static void destroy(ath_mirror *self) {
  ath_mirror_files_free(&self->files);
  pthread_cond_destroy(&self->ends_now);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

static ath_status begin(ath_mirror *self) {
  if (snprintf(self->record, sizeof self->record, "%s.mirror", self->options.folder) >=
      (int)sizeof self->record)
    return ath_fail(ATH_INVALID, "%.60s…: the path is too long", self->options.folder);
  ATH_TRY(ath_mirror_pull(&self->options, self->record, &self->files));
  int reason = pthread_create(&self->thread, NULL, watch, self);
  return reason == 0 ? ATH_OK : ath_fail_errno(reason, "no thread for %s", self->options.location);
}

ath_status ath_mirror_open(const ath_mirror_options *options, ath_mirror **out) {
  ath_mirror *self = calloc(1, sizeof *self);
  *out = NULL;
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a mirror");
  self->options = *options;
  pthread_mutex_init(&self->lock, NULL);
  ath_condition_init(&self->ends_now);
  ath_status status = begin(self);
  if (status == ATH_OK) *out = self;
  else destroy(self);
  return status;
}

ath_status ath_mirror_close(ath_mirror *self) {
  if (self == NULL) return ATH_OK;
  pthread_mutex_lock(&self->lock);
  self->ends = true;
  pthread_cond_signal(&self->ends_now);
  pthread_mutex_unlock(&self->lock);
  pthread_join(self->thread, NULL);
  ath_status status = synchronise(self, true);
  destroy(self);
  return status;
}
