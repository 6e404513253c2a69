/* await.c: waiting for a device: alone for as long as it takes, with other processes, which may be
 * gone, for a time. */
#include <pthread.h>
#include <stdlib.h>

#include "backends/pjrt/api.h"
#include "base/clock.h"
#include "base/condition.h"

enum { PATIENCE = 1800, PATIENCE_MAX = 1 << 24 };

ath_status ath_pjrt_read_patience(int *seconds) {
  const char *text = getenv("ATHANOR_PROCESS_TIMEOUT");
  *seconds = PATIENCE;
  if (text == NULL || *text == '\0') return ATH_OK;
  char *end;
  long value = strtol(text, &end, 10);
  if (*end != '\0' || value < 1 || value > PATIENCE_MAX)
    return ath_fail(ATH_USAGE, "ATHANOR_PROCESS_TIMEOUT is \"%.40s\"; it is a number of seconds, 1 "
                    "to %d", text, PATIENCE_MAX);
  *seconds = (int)value;
  return ATH_OK;
}

/* Shared with a callback that may come after nobody waits any more, or never: whoever is last frees
 * it. */
typedef struct waiter {
  const ath_pjrt_plugin *plugin;
  pthread_mutex_t lock;
  pthread_cond_t change;
  bool ready, left;
  PJRT_Error *error;
} waiter;

static waiter *make_waiter(const ath_pjrt_plugin *plugin) {
  waiter *self = calloc(1, sizeof *self);
  if (self == NULL) return NULL;
  self->plugin = plugin;
  pthread_mutex_init(&self->lock, NULL);
  ath_condition_init(&self->change);
  return self;
}

static void free_waiter(waiter *self) {
  pthread_cond_destroy(&self->change);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

static void on_ready(PJRT_Error *error, void *argument) {
  waiter *self = argument;
  pthread_mutex_lock(&self->lock);
  bool left = self->left;
  self->ready = true;
  self->error = error;
  pthread_cond_signal(&self->change);
  pthread_mutex_unlock(&self->lock);
  if (!left) return;
  if (error != NULL) ath_pjrt_ignore(self->plugin, error);
  free_waiter(self);
}

/* Whether the event came in time; if not, the waiter is the callback's. */
static bool wait_for(waiter *self, int seconds) {
  double end = seconds_now() + seconds;
  bool in_time = true;
  pthread_mutex_lock(&self->lock);
  while (!self->ready && in_time) in_time = ath_condition_wait(&self->change, &self->lock, end);
  bool ready = self->ready;
  self->left = !ready;
  pthread_mutex_unlock(&self->lock);
  return ready;
}

static ath_status await_for(const ath_pjrt_plugin *plugin, const char *what, PJRT_Event *event) {
  waiter *self = make_waiter(plugin);
  if (self == NULL) return ath_fail(ATH_NO_MEMORY, "no memory to wait for a device");
  ATH_PJRT_ARGS(args, Event_OnReady, .event = event, .callback = on_ready, .user_arg = self);
  ath_status status = ATH_PJRT_CALL(plugin, Event_OnReady, &args);
  if (status != ATH_OK) {
    free_waiter(self);
    return status;
  }
  if (!wait_for(self, plugin->patience))
    return ath_fail(ATH_IO, "%s: nothing has come from the devices for %d s; another process has "
                    "ended or hangs (ATHANOR_PROCESS_TIMEOUT is how long it is waited for)", what,
                    plugin->patience);
  if (self->error != NULL) status = ath_pjrt_check(plugin, what, self->error);
  free_waiter(self);
  return status;
}

ath_status ath_pjrt_await(const ath_pjrt_plugin *plugin, const char *what, PJRT_Event *event) {
  if (event == NULL) return ATH_OK;
  ath_status status;
  if (plugin->patience > 0) {
    status = await_for(plugin, what, event);
  } else {
    ATH_PJRT_ARGS(args, Event_Await, .event = event);
    status = ath_pjrt_check(plugin, what, plugin->api->PJRT_Event_Await(&args));
  }
  ATH_PJRT_RELEASE(plugin, Event_Destroy, .event = event);
  return status;
}
