/* pull.c: repositories, and parts of them, from the Hub into the cache. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/log.h"
#include "base/outcome.h"
#include "hub/fetch.h"

enum { WORKERS_DEFAULT = 4, WORKERS_MAX = 32 };
#define LOOK_SECONDS 0.1

typedef struct pull {
  const ath_hub_place *place;
  const ath_hub_pull_options *options;
  ath_hub_cache cache;
  ath_hub_tree tree;
  ath_transfer transfer;
  /* Shared by the workers, under the lock: */
  pthread_mutex_t lock;
  pthread_cond_t done;
  size_t *missing, missing_count, next;
  int running;
  uint64_t fetched, bytes;
  ath_outcome failure;             /* the first one */
  volatile sig_atomic_t halt;      /* the others then stop, as they do when the user wants it */
} pull;

/* --- downloads ---------------------------------------------------------------------------- */

static ath_status fetch_next(pull *self, ath_hub *hub, const ath_hub_entry *entry) {
  uint64_t bytes;
  bool brought;
  ath_status status = ath_hub_fetch(hub, self->place, &self->cache, self->tree.commit, entry,
                                    &self->transfer, &bytes, &brought);
  pthread_mutex_lock(&self->lock);
  self->fetched += status == ATH_OK && brought;
  self->bytes += bytes;
  pthread_mutex_unlock(&self->lock);
  return status;
}

static const ath_hub_entry *take_next(pull *self) {
  const ath_hub_entry *entry = NULL;
  pthread_mutex_lock(&self->lock);
  if (self->next < self->missing_count && !self->halt)
    entry = &self->tree.entries[self->missing[self->next++]];
  pthread_mutex_unlock(&self->lock);
  return entry;
}

static void *work(void *context) {
  pull *self = context;
  ath_hub *hub = NULL;
  const ath_hub_entry *entry;
  ath_status status = ath_hub_open(self->options->token, false, &self->halt, &hub);
  while (status == ATH_OK && (entry = take_next(self)) != NULL)
    status = fetch_next(self, hub, entry);
  ath_hub_close(hub);
  pthread_mutex_lock(&self->lock);
  if (status != ATH_OK && self->failure.status == ATH_OK) ath_outcome_keep(&self->failure, status);
  if (status != ATH_OK) self->halt = 1;
  self->running--;
  pthread_cond_signal(&self->done);
  pthread_mutex_unlock(&self->lock);
  return NULL;
}

/* Each worker has connections of its own. */
static ath_status run_workers(pull *self, int count) {
  const volatile sig_atomic_t *stop = self->options->stop;
  pthread_t threads[WORKERS_MAX];
  int started = 0;
  self->running = count;
  while (started < count && pthread_create(&threads[started], NULL, work, self) == 0) started++;
  pthread_mutex_lock(&self->lock);
  self->running -= count - started;
  while (self->running > 0) {
    ath_condition_wait(&self->done, &self->lock, seconds_now() + LOOK_SECONDS);
    if (stop != NULL && *stop) self->halt = 1;
  }
  pthread_mutex_unlock(&self->lock);
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  if (started == 0) return ath_fail(ATH_NO_MEMORY, "no thread for a download");
  return ath_outcome_return(&self->failure);
}

static ath_status list_missing(pull *self) {
  self->missing = malloc((self->tree.count + 1) * sizeof *self->missing);
  if (self->missing == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list of files");
  for (size_t i = 0; i < self->tree.count; i++) {
    const ath_hub_entry *entry = &self->tree.entries[i];
    if (ath_hub_cache_has(&self->cache, self->tree.commit, entry->path)) continue;
    self->missing[self->missing_count++] = i;
    self->transfer.total += entry->size;
  }
  return ATH_OK;
}

static ath_status fetch_missing(pull *self) {
  size_t workers = self->options->workers > 0 ? (size_t)self->options->workers : WORKERS_DEFAULT;
  ATH_TRY(list_missing(self));
  if (self->missing_count == 0) return ATH_OK;
  ATH_TRY(ath_hub_cache_prepare(&self->cache));
  if (workers > self->missing_count) workers = self->missing_count;
  if (workers > WORKERS_MAX) workers = WORKERS_MAX;
  pthread_mutex_init(&self->lock, NULL);
  ath_condition_init(&self->done);
  ath_status status = run_workers(self, (int)workers);
  pthread_cond_destroy(&self->done);
  pthread_mutex_destroy(&self->lock);
  return status;
}

/* --- what there is ------------------------------------------------------------------------- */

/* A cache that cannot be written to does as well, while it has the files. */
static void note(ath_status kept) {
  if (kept != ATH_OK) ath_log(ATH_LOG_WARNING, "%s", ath_error_text());
}

/* A commit never changes, so that a listing of it that was kept is as good as the Hub's. */
static ath_status list(pull *self, ath_hub *hub) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_hub_cache_tree_path(&self->cache, self->tree.commit, path));
  if (ath_hub_tree_load(path, &self->tree)) return ATH_OK;
  ATH_TRY(ath_hub_tree_ask(hub, self->place, &self->tree));
  if (self->tree.whole) note(ath_hub_tree_save(&self->tree, path));
  return ATH_OK;
}

/* A snapshot that another version of the library made has no listing; then it must do as it is. */
static ath_status look_in_cache(pull *self) {
  char path[ATH_PATH_MAX];
  const char *commit = self->tree.commit;
  const ath_hub_place *place = self->place;
  if (!ath_hub_cache_commit(&self->cache, place->revision, self->tree.commit))
    return ath_fail(ATH_NOT_FOUND, "%s@%s is not in the cache %s", place->id, place->revision,
                    self->cache.root);
  ATH_TRY(ath_hub_cache_tree_path(&self->cache, commit, path));
  if (!ath_hub_tree_load(path, &self->tree)) {
    if (!ath_hub_is_pattern(place->path) && ath_hub_cache_has(&self->cache, commit, place->path))
      return ATH_OK;
    return ath_fail(ATH_NOT_FOUND, "%s@%s: %s is not in the cache %s", place->id, place->revision,
                    place->path[0] != '\0' ? place->path : "its snapshot", self->cache.root);
  }
  ATH_TRY(ath_hub_tree_choose(&self->tree, place, self->options));
  for (size_t i = 0; i < self->tree.count; i++)
    if (!ath_hub_cache_has(&self->cache, commit, self->tree.entries[i].path))
      return ath_fail(ATH_NOT_FOUND, "%s@%s: %s is not in the cache %s", place->id,
                      place->revision, self->tree.entries[i].path, self->cache.root);
  return ATH_OK;
}

/* --- pull --------------------------------------------------------------------------------- */

static ath_status find_commit(pull *self, ath_hub *hub) {
  const char *revision = self->place->revision;
  bool known = ath_hub_cache_commit(&self->cache, revision, self->tree.commit);
  if (ath_hub_is_hex(revision, ATH_GIT_DIGITS)) return ATH_OK;
  if (known || self->options->brief) hub->policy = ath_hub_brief;
  ath_status status = ath_hub_resolve(hub, self->place, self->tree.commit, NULL);
  hub->policy = ath_retry_default;
  return status;
}

static ath_status ask_and_fetch(pull *self, ath_hub *hub) {
  const ath_hub_place *place = self->place;
  ATH_TRY(find_commit(self, hub));
  ATH_TRY(list(self, hub));
  ATH_TRY(ath_hub_tree_choose(&self->tree, place, self->options));
  ath_transfer_init(&self->transfer, "pulling", place->id, false);
  ath_status status = fetch_missing(self);
  ath_transfer_finish(&self->transfer, status == ATH_OK);
  ATH_TRY_CONTEXT(status, "%s", place->id);
  note(ath_hub_cache_set_commit(&self->cache, place->revision, self->tree.commit));
  return ATH_OK;
}

static ath_status ask(pull *self) {
  ath_hub *hub = NULL;
  ATH_TRY(ath_hub_open(self->options->token, false, self->options->stop, &hub));
  ath_status status = ask_and_fetch(self, hub);
  ath_hub_close(hub);
  return status;
}

/* Without an answer, or with one that is no answer to the question, the cache may do. */
static ath_status pull_or_look(pull *self, bool *offline) {
  ath_outcome failure;
  char commit[ATH_HUB_COMMIT_MAX];
  bool named = ath_hub_is_hex(self->place->revision, ATH_GIT_DIGITS);
  *offline = ath_hub_is_offline();
  if (*offline) return ath_context(look_in_cache(self), "HF_HUB_OFFLINE is set");
  if (named && look_in_cache(self) == ATH_OK && self->tree.count > 0) return ATH_OK;
  ath_hub_tree_free(&self->tree);
  ath_status status = ask(self);
  if (status != ATH_IO || !ath_hub_cache_commit(&self->cache, self->place->revision, commit))
    return status;
  ath_outcome_keep(&failure, status);
  ath_hub_tree_free(&self->tree);
  if (look_in_cache(self) != ATH_OK) return ath_outcome_return(&failure);
  ath_log(ATH_LOG_WARNING, "%s; taking %s@%s from the cache, as it was when last asked for",
          failure.text, self->place->id, self->place->revision);
  *offline = true;
  return ATH_OK;
}

static ath_status describe(const pull *self, ath_hub_pulled *out) {
  const char *path = ath_hub_is_pattern(self->place->path) ? "" : self->place->path;
  out->files = self->tree.count;
  out->fetched = self->fetched;
  out->bytes = self->bytes;
  memcpy(out->commit, self->tree.commit, ATH_HUB_COMMIT_MAX);
  return ath_hub_cache_file_path(&self->cache, self->tree.commit, path, out->path);
}

ath_status ath_hub_pull(const ath_hub_place *place, const ath_hub_pull_options *options,
                        ath_hub_pulled *out) {
  static const ath_hub_pull_options none = {0};
  _Static_assert((int)ATH_HUB_LOCAL_MAX == (int)ATH_PATH_MAX, "a path fits");
  *out = (ath_hub_pulled){0};
  pull *self = calloc(1, sizeof *self);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to pull %s", place->id);
  self->place = place;
  self->options = options != NULL ? options : &none;
  ath_status status = ath_hub_cache_open(place, &self->cache);
  if (status == ATH_OK) status = pull_or_look(self, &out->offline);
  if (status == ATH_OK) status = describe(self, out);
  free(self->missing);
  ath_hub_tree_free(&self->tree);
  free(self);
  return status;
}
