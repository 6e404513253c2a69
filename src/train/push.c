/* push.c: the model on the Hub while it is being trained: after saves a thread of its own pushes
 * them, and training neither waits for it nor minds its failures; at the end the finished model
 * goes there. The strategies are those of Hugging Face's TrainingArguments, hub_strategy. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "athanor/hub.h"
#include "base/log.h"
#include "base/outcome.h"
#include "hub/client.h"
#include "train/run.h"

typedef enum strategy { EVERY_SAVE, CHECKPOINT, END } strategy;
static const char *const strategy_names[] = {
  [EVERY_SAVE] = "every_save", [CHECKPOINT] = "checkpoint", [END] = "end"};
enum { STRATEGY_COUNT = sizeof strategy_names / sizeof *strategy_names, MESSAGE_MAX = 64,
       LOOK_NANOSECONDS = 20 * 1000 * 1000 };

#define LAST_CHECKPOINT "last-checkpoint"

typedef struct ath_run_push {
  ath_hub_place place, named; /* named: with the user's name, once that is known; its id else "" */
  strategy when;
  const char *token;
  bool private_repo;
  /* The push under way, or the last one; the thread's alone until `over`. */
  pthread_t thread;
  bool started;
  atomic_bool over;
  volatile sig_atomic_t halt;
  int64_t step;
  char checkpoint[ATH_PATH_MAX];
  ath_outcome outcome;
  ath_hub_pushed pushed;
} ath_run_push;

/* --- where and when ----------------------------------------------------------------------- */

static ath_status find_strategy(const char *name, strategy *out) {
  for (int i = 0; i < STRATEGY_COUNT; i++)
    if (name != NULL && strcmp(name, strategy_names[i]) == 0) {
      *out = (strategy)i;
      return ATH_OK;
    }
  return ath_fail(ATH_USAGE, "hub_strategy is \"%s\"; it is every_save, checkpoint or end",
                  name != NULL ? name : "");
}

/* "runs/mine/" is called "mine". */
static ath_status name_of(const char *output_dir, char out[ATH_HUB_ID_MAX]) {
  size_t end = strlen(output_dir);
  while (end > 0 && output_dir[end - 1] == '/') end--;
  size_t start = end;
  while (start > 0 && output_dir[start - 1] != '/') start--;
  if (end - start >= ATH_HUB_ID_MAX)
    return ath_fail(ATH_USAGE, "output_dir has too long a name for the Hub; give hub_model_id");
  memcpy(out, output_dir + start, end - start);
  out[end - start] = '\0';
  return ATH_OK;
}

static ath_status find_place(const ath_train_options *o, ath_hub_place *out) {
  char name[ATH_HUB_ID_MAX];
  const char *id = o->hub_model_id;
  if (id == NULL || *id == '\0') {
    ATH_TRY(name_of(o->output_dir, name));
    id = name;
  }
  ATH_TRY_CONTEXT(ath_hub_place_parse(id, out), "hub_model_id");
  if (out->kind == ATH_HUB_MODEL && out->path[0] == '\0') return ATH_OK;
  return ath_fail(ATH_USAGE, "hub_model_id is \"%s\", which is no model's repository", id);
}

/* What can be known beforehand is better said before hours of training than after them. */
static ath_status check_token(const ath_train_options *o) {
  char token[ATH_HUB_TOKEN_MAX];
  ATH_TRY(ath_hub_token(o->hub_token, true, token));
  if (ath_hub_is_offline())
    return ath_fail(ATH_USAGE, "push_to_hub is set, and HF_HUB_OFFLINE too; drop one of them");
  return token[0] != '\0' ? ATH_OK : ath_fail(ATH_DENIED, "push_to_hub needs a token: athanor hub "
                                              "login keeps one, or set HF_TOKEN or hub_token");
}

static ath_status settle(ath_run_push *push, const ath_train_options *o) {
  ATH_TRY(find_strategy(o->hub_strategy, &push->when));
  ATH_TRY(find_place(o, &push->place));
  if (strchr(push->place.id, '/') != NULL) push->named = push->place;
  ATH_TRY(check_token(o));
  push->token = o->hub_token;
  push->private_repo = o->hub_private_repo;
  return ATH_OK;
}

ath_status ath_run_push_open(ath_run *self) {
  if (!self->options.push_to_hub || !ath_run_leads(self)) return ATH_OK;
  self->push = calloc(1, sizeof *self->push);
  if (self->push == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to push to the Hub");
  return settle(self->push, &self->options);
}

/* --- what it is called -------------------------------------------------------------------- */

const char *ath_run_push_name(const ath_run *self) {
  if (self->push == NULL) return NULL;
  const char *slash = strchr(self->push->place.id, '/');
  return slash != NULL ? slash + 1 : self->push->place.id;
}

const char *ath_run_push_repository(const ath_run *self) {
  return self->push != NULL && self->push->named.id[0] != '\0' ? self->push->named.id : NULL;
}

/* For no longer than a moment, and without it the push asks again: its failure is then told. */
void ath_run_push_find_user(ath_run *self) {
  ath_run_push *push = self->push;
  ath_hub *hub = NULL;
  if (push == NULL || push->named.id[0] != '\0') return;
  if (ath_hub_open(push->token, true, self->options.stop, &hub) != ATH_OK) return;
  hub->policy = ath_hub_brief;
  ath_hub_place named = push->place;
  if (ath_hub_add_user(hub, &named) == ATH_OK) push->named = named;
  ath_hub_close(hub);
}

/* --- a push ------------------------------------------------------------------------------- */

/* Of output_dir only what a run writes there: it may hold data and other runs, too. */
static const char *const run_files[] = {
  "config.json", "model.safetensors", "README.md", "tokenizer.json", "tokenizer_config.json",
  "special_tokens_map.json", "config.yaml", "log.jsonl", "all_results.json", "train_results.json",
  "eval_results.json", "runs/", NULL};
static const char *const training_files[] = {"training/", "SHA256SUMS", NULL};

static ath_status push_sources(ath_run_push *self, const ath_hub_source *sources, size_t count,
                               const char *message, bool quiet, const volatile sig_atomic_t *stop) {
  ath_hub_push_options how = {.message = message, .token = self->token,
                              .private_repo = self->private_repo, .quiet = quiet, .stop = stop};
  return ath_hub_push(&self->place, sources, count, &how, &self->pushed);
}

static void *push_checkpoint(void *context) {
  ath_run_push *self = context;
  char message[MESSAGE_MAX];
  const ath_hub_source sources[] = {
    {.local = self->checkpoint, .exclude = training_files},
    {.local = self->checkpoint, .remote = LAST_CHECKPOINT},
  };
  snprintf(message, sizeof message, "Training in progress, step %lld", (long long)self->step);
  ath_status status = push_sources(self, sources, self->when == CHECKPOINT ? 2 : 1, message, true,
                                   &self->halt);
  ath_outcome_keep(&self->outcome, status);
  atomic_store(&self->over, true);
  return NULL;
}

/* Waits for the thread, unless the user does not, and tells what became of its push. */
static void finish(ath_run_push *self, const volatile sig_atomic_t *stop) {
  const struct timespec pause = {.tv_nsec = LOOK_NANOSECONDS};
  if (!self->started) return;
  while (stop != NULL && !atomic_load(&self->over) && !self->halt) {
    nanosleep(&pause, NULL);
    if (*stop) self->halt = 1;
  }
  pthread_join(self->thread, NULL);
  self->started = false;
  if (self->outcome.status == ATH_OK)
    ath_log(ATH_LOG_INFO, "checkpoint-%lld is on the Hub: %s", (long long)self->step,
            self->pushed.url);
  else ath_log(ATH_LOG_WARNING, "checkpoint-%lld was not pushed: %s", (long long)self->step,
               self->outcome.text);
}

static bool is_under_way(const ath_run_push *self) {
  return self->started && !atomic_load(&self->over);
}

/* --- during the run ----------------------------------------------------------------------- */

void ath_run_push_checkpoint(ath_run *self) {
  ath_run_push *push = self->push;
  if (push == NULL || push->when == END) return;
  if (is_under_way(push)) {
    ath_log(ATH_LOG_INFO, "checkpoint-%lld is not pushed: that of step %lld is still on its way",
            (long long)self->saved_step, (long long)push->step);
    return;
  }
  finish(push, NULL);
  push->step = self->saved_step;
  atomic_store(&push->over, false);
  push->started =
      ath_checkpoint_path(push->checkpoint, self->options.output_dir, push->step) == ATH_OK &&
      pthread_create(&push->thread, NULL, push_checkpoint, push) == 0;
  if (!push->started)
    ath_log(ATH_LOG_WARNING, "checkpoint-%lld was not pushed: no thread for it",
            (long long)push->step);
}

int64_t ath_run_push_reads(const ath_run *self) {
  return self->push != NULL && is_under_way(self->push) ? self->push->step : 0;
}

/* --- the end ------------------------------------------------------------------------------ */

/* The newest checkpoint: of a run that was finished before, there may be none any more. */
static size_t add_last_checkpoint(const ath_run *self, char path[ATH_PATH_MAX],
                                  ath_hub_source *out) {
  if (self->push->when != CHECKPOINT || self->saved_step == 0 ||
      ath_checkpoint_path(path, self->options.output_dir, self->saved_step) != ATH_OK ||
      !ath_path_exists(path))
    return 0;
  *out = (ath_hub_source){.local = path, .remote = LAST_CHECKPOINT};
  return 1;
}

ath_status ath_run_push_end(ath_run *self) {
  ath_run_push *push = self->push;
  char path[ATH_PATH_MAX];
  if (push == NULL) return ATH_OK;
  finish(push, self->options.stop);
  ATH_TRY(ath_run_keep_newest(self));
  ath_hub_source sources[2] = {{.local = self->options.output_dir, .include = run_files}};
  size_t count = 1 + add_last_checkpoint(self, path, &sources[1]);
  ath_status status = push_sources(push, sources, count, "End of training", false,
                                   self->options.stop);
  ATH_TRY_CONTEXT(status, "the model is trained and saved in %s, but not pushed; the same command "
                  "tries that again", self->options.output_dir);
  ath_log(ATH_LOG_INFO, "the model is on the Hub: %s", push->pushed.url);
  return ATH_OK;
}

void ath_run_push_close(ath_run *self) {
  if (self->push == NULL) return;
  self->push->halt = 1;
  finish(self->push, NULL);
  free(self->push);
  self->push = NULL;
}
