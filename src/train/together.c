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
