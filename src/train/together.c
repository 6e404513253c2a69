/* together.c: a run by several processes: joining, agreeing, and parting.
 *
 * All take the same decisions at the same points, from what is the same everywhere: losses, which
 * the devices add up; options; and words that go with each step from each process to all. What
 * only one can know (which checkpoint is the newest, how long a step took, whether the folder is
 * locked) the first one says. */
#include "train/together.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/outcome.h"
#include "train/state_json.h"

/* --- joining ------------------------------------------------------------------------------- */

static ath_status refuse(const char *device, const ath_launch *launch) {
  return ath_fail(ATH_UNSUPPORTED, "started as process %d of %d by %s, but a run on the device %s "
                  "is one process: start it without %s; threads use all cores of a machine, and "
                  "mesh shares each batch among its devices (xla:cpu is as many as are asked for)",
                  launch->rank, launch->size, launch->launcher, device, launch->launcher);
}

static bool is_one_process(const char *device) {
  return strcmp(device, "cpu") == 0 || strcmp(device, "xla:cpu") == 0;
}

/* Messages begin with the number that the device counts by, as soon as it is known. */
static ath_status open_joined(ath_run *self) {
  ATH_TRY(ath_backend_join(self->options.device, &self->mesh, self->store, &self->backend));
  self->group = ath_backend_group(self->backend);
  ath_log_set_process(self->group.process, self->group.processes);
  if (self->group.processes > 1)
    ath_log(ATH_LOG_INFO, "%d processes, %s", self->group.processes,
            ath_backend_name(self->backend));
  return ATH_OK;
}

ath_status ath_run_join(ath_run *self) {
  const char *device = self->options.device;
  ath_launch launch = ath_launch_read();
  if (launch.size > 1 && is_one_process(device)) return refuse(device, &launch);
  if (launch.size == 1 && !ath_device_finds_processes(device)) return ATH_OK;
  if (self->options.threads > 0) omp_set_num_threads((int)self->options.threads);
  if (launch.size > 1) {
    ATH_TRY(ath_store_open(&self->store));
    self->group = (ath_group){self->store->rank, self->store->size};
    ath_log_set_process(self->group.process, self->group.processes);
  }
  return open_joined(self);
}

ath_share ath_run_share(const ath_run *self) {
  ath_share share = {0};
  if (self->group.processes > 1)
    ath_backend_share(self->backend, &share.first_group, &share.group_count);
  return share;
}

/* --- words --------------------------------------------------------------------------------- */

/* What a process says: 64-bit numbers, whatever they mean. */
typedef union message {
  int32_t words[ATH_WORDS];
  struct { int64_t first, second, third, fourth; };
} message;
_Static_assert(sizeof(message) == ATH_WORDS * sizeof(int32_t), "four numbers fill the words");

/* Waits for what all told `ago` tellings before the latest. The caller frees the list. */
static ath_status hear(ath_run *self, int ago, message **out) {
  *out = calloc((size_t)self->group.processes, sizeof **out);
  if (*out == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a few words");
  ath_status status = ath_backend_hear(self->backend, ago, &(*out)->words);
  if (status == ATH_OK) return ATH_OK;
  free(*out);
  return status;
}

static ath_status hear_first(ath_run *self, const message *mine, message *out) {
  message *all;
  ATH_TRY(ath_backend_tell(self->backend, mine->words));
  ATH_TRY(hear(self, 0, &all));
  *out = all[0];
  free(all);
  return ATH_OK;
}

ath_status ath_run_agree(ath_run *self, ath_status status, int64_t *value) {
  message said = {.first = status, .second = *value}, heard;
  ath_outcome own;
  if (self->group.processes == 1) return status;
  ath_outcome_keep(&own, status);
  ath_status hearing = hear_first(self, &said, &heard);
  if (hearing != ATH_OK && status != ATH_OK) return ath_outcome_return(&own); /* came first */
  ATH_TRY(hearing);
  *value = heard.second;
  self->agreed = heard.first != ATH_OK;
  if (ath_run_leads(self)) return ath_outcome_return(&own);
  if (heard.first == ATH_OK) return ATH_OK;
  return ath_fail((ath_status)heard.first, "process 0 has failed");
}

ath_status ath_run_agree_number(ath_run *self, double *value) {
  int64_t bits;
  memcpy(&bits, value, sizeof bits);
  ATH_TRY(ath_run_agree(self, ATH_OK, &bits));
  memcpy(value, &bits, sizeof bits);
  return ATH_OK;
}

/* --- comparing ------------------------------------------------------------------------------- */

enum { SETTINGS_BYTES_MAX = 1 << 16 };

/* FNV-1a (Fowler, Noll, Vo). */
static int64_t hash_of(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text != '\0'; text++) hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
  return (int64_t)hash;
}

/* The text of one of them, a few words of each at a time. The caller frees it. */
static ath_status hear_text(ath_run *self, const char *mine, int from, size_t longest,
                            char **out) {
  size_t size = strlen(mine) + 1;
  *out = calloc(longest + sizeof(message), 1);
  if (*out == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a process's settings");
  ath_status status = ATH_OK;
  for (size_t at = 0; at < longest && status == ATH_OK; at += sizeof(message)) {
    message said = {.first = 0}, *all = NULL;
    if (at < size) memcpy(&said, mine + at, size - at < sizeof said ? size - at : sizeof said);
    status = ath_backend_tell(self->backend, said.words);
    if (status == ATH_OK) status = hear(self, 0, &all);
    if (status == ATH_OK) memcpy(*out + at, &all[from], sizeof said);
    free(all);
  }
  return status;
}

/* Which process's hash is not the first's, 0 if none; and the longest text, its NUL included. */
static int find_other(const message *all, int processes, size_t *longest) {
  int other = 0;
  *longest = 0;
  for (int p = processes - 1; p >= 0; p--) {
    if (all[p].first != all[0].first) other = p;
    if (all[p].second >= (int64_t)*longest) *longest = (size_t)all[p].second + 1;
  }
  return other;
}

static ath_status compare(ath_run *self, const char *mine) {
  message said = {.first = hash_of(mine), .second = (int64_t)strlen(mine)}, *all;
  size_t longest;
  ATH_TRY(ath_backend_tell(self->backend, said.words));
  ATH_TRY(hear(self, 0, &all));
  int other = find_other(all, self->group.processes, &longest);
  free(all);
  if (other == 0) return ATH_OK;
  if (longest > SETTINGS_BYTES_MAX)
    return ath_fail(ATH_INTERNAL, "a process tells %zu bytes of settings", longest);
  char *theirs;
  ath_status status = hear_text(self, mine, other, longest, &theirs);
  self->agreed = status == ATH_OK;
  if (status == ATH_OK) status = ath_state_json_differ(theirs, mine, other);
  free(theirs);
  return status;
}

ath_status ath_run_compare(ath_run *self) {
  char *mine;
  if (self->group.processes == 1) return ATH_OK;
  ATH_TRY(ath_state_json_describe(self, &mine));
  ath_status status = compare(self, mine);
  free(mine);
  return status;
}

/* --- steps --------------------------------------------------------------------------------- */

ath_status ath_run_tell_step(ath_run *self, const ath_run_flight *flight) {
  if (self->group.processes == 1) return ATH_OK;
  message said = {.first = self->options.stop != NULL && *self->options.stop,
                  .second = (int64_t)flight->tokens};
  memcpy(&said.third, &self->clock, sizeof said.third);
  return ath_backend_tell(self->backend, said.words);
}

ath_status ath_run_hear_step(ath_run *self, ath_run_flight *flight) {
  message *all;
  if (self->group.processes == 1) return ATH_OK;
  ATH_TRY(hear(self, self->in_flight - 1, &all));
  flight->tokens = 0;
  for (int p = 0; p < self->group.processes; p++) {
    self->stop_heard |= all[p].first != 0;
    flight->tokens += (uint64_t)all[p].second;
  }
  memcpy(&self->position.seconds, &all[0].third, sizeof self->position.seconds);
  free(all);
  return ATH_OK;
}

/* --- parting ------------------------------------------------------------------------------- */

/* All wait until the first has written what there is to write. */
static ath_status wait_for_all(ath_run *self) {
  message nothing = {.first = 0};
  return hear_first(self, &nothing, &nothing);
}

/* The others' devices wait for this process's, and would for ever. What is in the devices' hands
 * cannot be released. */
static ath_status end_all(ath_run *self, ath_status status) {
  self->lost = true;
  status = ath_context(status, "process %d of %d", self->group.process, self->group.processes);
  if (self->store == NULL) return status;
  ath_outcome failure;
  ath_outcome_keep(&failure, status);
  ath_log_set_process(0, 1); /* the text has it */
  ath_log(ATH_LOG_WARNING, "%s; this ends the others", failure.text);
  self->store->table->end_all(self->store, status, failure.text);
  return ath_outcome_return(&failure);
}

ath_status ath_run_part(ath_run *self, ath_status status) {
  if (self->group.processes == 1) return status;
  if (status != ATH_OK && !self->agreed) return end_all(self, status);
  ath_outcome own;
  ath_outcome_keep(&own, status);
  status = wait_for_all(self);
  if (status != ATH_OK) return end_all(self, status);
  return ath_run_leads(self) ? ath_outcome_return(&own) : ATH_OK;
}
