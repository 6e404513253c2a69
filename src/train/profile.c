/* profile.c: recording a few steps of a run for TensorBoard. */
#include "train/profile.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "storage/file.h"

enum { PROFILE_BYTES_MAX = 1 << 30, STEPS_BEFORE = 5, STEPS_RECORDED = 3, DIGITS_MAX = 15 };

/* --- which steps --------------------------------------------------------------------------- */

/* A number above 0; NULL where there is none. */
static const char *read_step(const char *at, int64_t *out) {
  int digits = 0;
  *out = 0;
  for (; isdigit((unsigned char)*at) && digits < DIGITS_MAX; at++, digits++)
    *out = 10 * *out + (*at - '0');
  return *out > 0 ? at : NULL;
}

ath_status ath_profile_steps_parse(const char *text, int64_t *first, int64_t *last) {
  const char *at = read_step(text, first);
  *last = *first;
  if (at != NULL && *at == ':') at = read_step(at + 1, last);
  if (at != NULL && *at == '\0' && *last >= *first) return ATH_OK;
  return ath_fail(ATH_USAGE, "profile_steps is \"%.40s\"; it is written as 10:13, the first and "
                  "the last step, counted from 1", text);
}

static bool has_steps(const ath_train_options *o) {
  return o->profile_steps != NULL && *o->profile_steps != '\0';
}

bool ath_profile_is_wanted(const ath_train_options *options) {
  return options->profile || has_steps(options);
}

static int64_t at_most(int64_t value, int64_t bound) { return value < bound ? value : bound; }

ath_status ath_profile_plan(const ath_train_options *options, int64_t done, int64_t total,
                            ath_run_profile *out) {
  int64_t first = at_most(done + STEPS_BEFORE + 1, total);
  int64_t last = at_most(first + STEPS_RECORDED - 1, total);
  *out = (ath_run_profile){0};
  if (!ath_profile_is_wanted(options) || done >= total) return ATH_OK;
  if (has_steps(options)) ATH_TRY(ath_profile_steps_parse(options->profile_steps, &first, &last));
  if (first > total)
    return ath_fail(ATH_USAGE, "profile_steps is %s, but the run ends with step %lld",
                    options->profile_steps, (long long)total);
  if (last <= done) {
    ath_log(ATH_LOG_INFO, "profile: steps %s are done already; nothing is recorded",
            options->profile_steps);
    return ATH_OK;
  }
  *out = (ath_run_profile){.first = first > done ? first : done + 1, .last = at_most(last, total)};
  return ATH_OK;
}

bool ath_profile_is_border(const ath_run_profile *self, int64_t done) {
  return self->first > 0 && (done == self->first - 1 || done == self->last);
}

/* --- recording ----------------------------------------------------------------------------- */

/* "HOST.xplane.pb". */
static void make_name(char out[HOST_NAME_MAX + 32]) {
  char host[HOST_NAME_MAX + 1] = "localhost";
  gethostname(host, sizeof host - 1);
  snprintf(out, HOST_NAME_MAX + 32, "%s.xplane.pb", host);
}

/* ".../runs/plugins/profile/<time>", as TensorFlow and JAX name it. */
static ath_status make_folder(const char *output_dir, char out[ATH_PATH_MAX]) {
  char runs[ATH_PATH_MAX], profiles[ATH_PATH_MAX], name[32];
  time_t now = time(NULL);
  struct tm parts;
  localtime_r(&now, &parts);
  strftime(name, sizeof name, "%Y_%m_%d_%H_%M_%S", &parts);
  ATH_TRY(ath_path_join(runs, output_dir, "runs"));
  ATH_TRY(ath_path_join(profiles, runs, "plugins/profile"));
  ATH_TRY(ath_path_join(out, profiles, name));
  return ath_folder_create(out);
}

static ath_status write_profile(const char *output_dir, const ath_buffer *bytes,
                                char path[ATH_PATH_MAX]) {
  char folder[ATH_PATH_MAX], name[HOST_NAME_MAX + 32];
  make_name(name);
  ATH_TRY(make_folder(output_dir, folder));
  ATH_TRY(ath_path_join(path, folder, name));
  return ath_file_write(path, bytes->length > 0 ? bytes->bytes : "", bytes->length);
}

void ath_profile_start(ath_run_profile *self, ath_backend *backend, int64_t done) {
  if (self->first == 0 || done != self->first - 1) return;
  assert(!self->recording);
  self->recording = ath_backend_profile_start(backend) == ATH_OK;
  if (self->recording) return;
  self->first = 0;
  ath_log(ATH_LOG_WARNING, "no profile is recorded: %s", ath_error_text());
}

void ath_profile_finish(ath_run_profile *self, ath_backend *backend, int64_t done, bool over,
                        const char *output_dir) {
  if (!self->recording || (!over && done != self->last)) return;
  char path[ATH_PATH_MAX];
  ath_buffer bytes = ath_buffer_make(PROFILE_BYTES_MAX);
  assert(done >= self->first - 1 && done <= self->last);
  self->recording = false;
  ath_status status = ath_backend_profile_stop(backend, &bytes);
  if (status == ATH_OK) status = write_profile(output_dir, &bytes, path);
  if (status != ATH_OK) ath_log(ATH_LOG_WARNING, "the profile is lost: %s", ath_error_text());
  else
    ath_log(ATH_LOG_INFO, "profile of steps %lld to %lld: %s; tensorboard --logdir %s shows it",
            (long long)self->first, (long long)done, path, output_dir);
  ath_buffer_free(&bytes);
}
