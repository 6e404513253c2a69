/* retry.c: trying again with growing pauses. */
#include "storage/retry.h"

#include <jansson.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mix.h"

enum { MESSAGE_MAX = 300, EXPONENT_MAX = 20 };
static const double seconds_least = 0.1; /* of an exchange: none at all would be no bound */

const ath_retry_policy ath_retry_default = {
  .tries = 8, .first = 0.5, .longest = 32, .deadline = 600,
};

ath_retry ath_retry_begin(const ath_retry_policy *policy, const volatile sig_atomic_t *stop) {
  ath_retry self = {.policy = *policy, .stop = stop, .began = seconds_now()};
  const char *text = getenv("ATHANOR_RETRY_SECONDS");
  double deadline = text != NULL ? strtod(text, NULL) : 0;
  if (!(deadline > 0 && deadline < 1e9)) return self;
  if (deadline < policy->deadline) {
    self.policy.first *= deadline / policy->deadline;
    self.policy.longest *= deadline / policy->deadline;
  }
  self.policy.deadline = deadline;
  return self;
}

double ath_retry_seconds(const ath_retry *self) {
  double left = self->began + self->policy.deadline - seconds_now();
  return left > seconds_least ? left : seconds_least;
}

void ath_retry_renew(ath_retry *self, const ath_retry_policy *policy, uint64_t bytes) {
  if ((double)bytes > ATH_HTTP_SPEED_MIN * (seconds_now() - self->began))
    *self = ath_retry_begin(policy, self->stop);
}

/* Between 0 and 1, other for each thread and moment: those that failed together come back apart. */
static double jitter(void) {
  double now = seconds_now();
  uint64_t bits;
  memcpy(&bits, &now, sizeof bits);
  uint64_t word = ath_mix(bits ^ 0x9E3779B97F4A7C15u, (uintptr_t)pthread_self() | 1);
  return (double)(ath_mix(word, 0xD1B54A32D192ED03u) >> 11) * 0x1p-53;
}

static bool is_worth_it(ath_status status, const ath_http_answer *answer) {
  if (status != ATH_OK) return status == ATH_IO;
  return answer->status == 408 || answer->status == 429 ||
         (answer->status >= 500 && answer->status < 600);
}

static bool is_stopped(const ath_retry *self) { return self->stop != NULL && *self->stop; }

static void wait_until(const ath_retry *self, double end) {
  static const double slice = 0.05;
  for (double left = end - seconds_now(); left > 0 && !is_stopped(self);
       left = end - seconds_now()) {
    if (left > slice) left = slice;
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * left)}, NULL);
  }
}

bool ath_retry_again(ath_retry *self, ath_status status, const ath_http_answer *answer) {
  self->tries++;
  self->began += answer->sending;
  if (!is_worth_it(status, answer) || self->tries >= self->policy.tries || is_stopped(self))
    return false;
  int doublings = self->tries - 1 < EXPONENT_MAX ? self->tries - 1 : EXPONENT_MAX;
  double bound = self->policy.first * (double)(1 << doublings);
  if (bound > self->policy.longest) bound = self->policy.longest;
  double pause = bound * (0.5 + 0.5 * jitter());
  if (status == ATH_OK && answer->retry_after > pause) pause = answer->retry_after;
  double end = seconds_now() + pause;
  if (end > self->began + self->policy.deadline) return false;
  wait_until(self, end);
  return !is_stopped(self);
}

/* --- what to report ----------------------------------------------------------------------- */

/* {"error": {"message": …}} as Google has it; {"error": …, "error_description": …} as OAuth and the
 * Hub do. */
static const char *message_in(const json_t *root) {
  const json_t *error = json_object_get(root, "error");
  const char *message = json_string_value(json_object_get(error, "message"));
  if (message == NULL) message = json_string_value(json_object_get(root, "error_description"));
  if (message == NULL) message = json_string_value(error);
  return message != NULL ? message : json_string_value(json_object_get(root, "message"));
}

/* One line of it, without what could steer a terminal. */
static void copy_line(char out[MESSAGE_MAX], const char *text) {
  size_t length = 0;
  while (*text == ' ' || *text == '\r' || *text == '\n' || *text == '\t') text++;
  for (; *text != '\0' && *text != '\n' && *text != '\r' && length < MESSAGE_MAX - 1; text++)
    out[length++] = (unsigned char)*text >= ' ' && *text != 127 ? *text : ' ';
  out[length] = '\0';
}

static void describe(const ath_buffer *text, char out[MESSAGE_MAX]) {
  out[0] = '\0';
  if (text == NULL || text->length == 0) return;
  json_t *root = json_loadb(text->bytes, text->length, 0, NULL);
  const char *message = message_in(root);
  if (message != NULL) copy_line(out, message);
  else if (root == NULL && text->bytes[0] != '<') copy_line(out, text->bytes); /* no HTML page */
  json_decref(root);
}

static ath_status status_of(int answer) {
  switch (answer) {
    case 401: case 403: return ATH_DENIED;
    case 404: return ATH_NOT_FOUND;
    case 412: return ATH_MISMATCH;
    case 408: case 429: return ATH_IO;
    default: return answer >= 400 && answer < 500 ? ATH_INVALID : ATH_IO;
  }
}

ath_status ath_retry_fail(const ath_retry *self, ath_status status, const ath_http_answer *answer,
                          const ath_buffer *text, const char *what) {
  char effort[64] = "", message[MESSAGE_MAX];
  if (self->tries > 1)
    snprintf(effort, sizeof effort, " after %d tries in %.0f s", self->tries,
             seconds_now() - self->began);
  if (status != ATH_OK) return ath_context(status, "%s%s", what, effort);
  describe(text, message);
  return ath_fail(status_of(answer->status), "%s: %d%s%s%s", what, answer->status, effort,
                  message[0] != '\0' ? ": " : "", message);
}
