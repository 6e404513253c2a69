/* resume.c: where a run begins: at a checkpoint, at given weights, or at initial values. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/safetensors.h"
#include "base/log.h"
#include "train/checksums.h"
#include "train/state_json.h"
#include "train/together.h"

static const char *const required[] = {"config.json", "model.safetensors", "tokenizer.json",
                                       "training/optimizer.safetensors", "training/state.json"};
enum { REQUIRED_COUNT = sizeof required / sizeof *required };

/* --- finding ------------------------------------------------------------------------------- */

/* The newest whole checkpoint in output_dir; *step is 0 when there is none. Torn ones are told of
 * and passed over. */
static ath_status find_newest(const char *output_dir, char path[ATH_PATH_MAX], int64_t *step) {
  int64_t *steps = malloc(ATH_CHECKPOINTS_MAX * sizeof *steps);
  if (steps == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list of checkpoints");
  size_t count = 0;
  *step = 0;
  ath_status status = ath_checkpoint_list(output_dir, steps, &count);
  for (size_t i = count; i-- > 0 && status == ATH_OK && *step == 0;) {
    status = ath_checkpoint_path(path, output_dir, steps[i]);
    if (status != ATH_OK) break;
    ath_status found = ath_checksums_verify(path, required, REQUIRED_COUNT);
    if (found == ATH_OK) *step = steps[i];
    else if (found == ATH_CORRUPT || found == ATH_NOT_FOUND)
      ath_log(ATH_LOG_WARNING, "%s; this checkpoint is passed over", ath_error_text());
    else
      status = found;
  }
  free(steps);
  return status;
}

static ath_status remove_all(const char *output_dir) {
  int64_t *steps = malloc(ATH_CHECKPOINTS_MAX * sizeof *steps);
  if (steps == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list of checkpoints");
  size_t count = 0;
  ath_status status = ath_checkpoint_list(output_dir, steps, &count);
  for (size_t i = 0; i < count && status == ATH_OK; i++)
    status = ath_checkpoint_remove(output_dir, steps[i]);
  free(steps);
  return status;
}

/* --- loading ------------------------------------------------------------------------------- */

static ath_status load_moment(const ath_run *self, const ath_safetensors *file, const char *path,
                              const ath_parameter *p, char which) {
  char name[ATH_PARAMETER_NAME_MAX + 4];
  snprintf(name, sizeof name, "%c.%s", which, p->name);
  const ath_tensor_entry *entry = ath_safetensors_find(file, name);
  if (entry == NULL || !ath_type_equal(&entry->type, &p->type))
    return ath_fail(ATH_MISMATCH, "%s: no %s of the right shape in it", path, name);
  return ath_state_write(self->state, name, entry->data, ath_type_bytes(&p->type));
}

static ath_status load_moments(const ath_run *self, const char *path) {
  ath_safetensors *file = NULL;
  ATH_TRY(ath_safetensors_open(path, &file));
  ath_status status = ATH_OK;
  for (size_t i = 0; i < ath_model_parameter_count(self->model) && status == ATH_OK; i++) {
    const ath_parameter *p = ath_model_parameter(self->model, i);
    status = load_moment(self, file, path, p, 'm');
    if (status == ATH_OK) status = load_moment(self, file, path, p, 'v');
  }
  ath_safetensors_close(file);
  return status;
}

static ath_status load_checkpoint(ath_run *self, const char *folder) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, folder, "model.safetensors"));
  ATH_TRY(ath_model_load(self->model, self->state, path));
  ATH_TRY(ath_path_join(path, folder, "training/optimizer.safetensors"));
  ATH_TRY(load_moments(self, path));
  ATH_TRY(ath_batcher_seek(self->batcher, self->position.batch));
  self->resumed_from = self->position.step;
  ath_log(ATH_LOG_INFO, "going on from %s", folder);
  return ATH_OK;
}

/* --- starting anew ------------------------------------------------------------------------- */

/* Initial values even under given weights: those may lack the head. */
static ath_status load_initial(ath_run *self) {
  const ath_train_options *o = &self->options;
  int64_t rows = ath_model_get_config(self->model)->vocab_size;
  int64_t used = ath_tokenizer_size(self->tokenizer);
  assert(used <= rows);
  ATH_TRY(ath_model_initialise(self->model, self->state, (uint64_t)o->seed,
                               used < rows ? used : 0));
  if (o->model_name_or_path == NULL) return ATH_OK;
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, o->model_name_or_path, "model.safetensors"));
  return ath_model_load(self->model, self->state, path);
}

/* Nothing that took time to make is written over unasked. */
static ath_status refuse_overwriting(const ath_run *self, size_t checkpoints) {
  const char *output_dir = self->options.output_dir;
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, output_dir, "model.safetensors"));
  if (checkpoints > 0)
    return ath_fail(ATH_USAGE, "%s holds checkpoints, but resume_from_checkpoint is none; set "
                    "overwrite_output_dir to remove them, or name another output_dir", output_dir);
  if (ath_path_exists(path))
    return ath_fail(ATH_USAGE, "%s holds a model and no checkpoint to go on from; set "
                    "overwrite_output_dir to train it anew, or name another output_dir",
                    output_dir);
  return ATH_OK;
}

/* --- the start ----------------------------------------------------------------------------- */

/* The state says whether a checkpoint belongs to this run at all. */
static ath_status read_position(ath_run *self) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_path_join(path, self->start, "training/state.json"));
  return ath_state_json_read(self, path, &self->position);
}

/* Torn checkpoints do not hinder a fresh start: there is nothing in them to lose. */
static ath_status find_fresh_start(ath_run *self) {
  int64_t newest;
  char path[ATH_PATH_MAX];
  ATH_TRY(find_newest(self->options.output_dir, path, &newest));
  return refuse_overwriting(self, newest > 0);
}

static ath_status find_checkpoint(ath_run *self, const char *from) {
  if (strcmp(from, "auto") != 0) {
    ATH_TRY(ath_checksums_verify(from, required, REQUIRED_COUNT));
    if (snprintf(self->start, sizeof self->start, "%s", from) >= ATH_PATH_MAX)
      return ath_fail(ATH_INVALID, "resume_from_checkpoint: the path is too long");
    return read_position(self);
  }
  ATH_TRY(find_newest(self->options.output_dir, self->start, &self->saved_step));
  if (self->saved_step > 0) return read_position(self);
  self->start[0] = '\0';
  return refuse_overwriting(self, 0);
}

/* What the only process does, or the first: it alone locks, sweeps and looks around. */
static ath_status find_start(ath_run *self) {
  const ath_train_options *o = &self->options;
  const char *from = o->resume_from_checkpoint;
  bool there = ath_path_exists(o->output_dir);
  ATH_TRY(ath_folder_lock(o->output_dir, "another process is training here; wait for it, or name "
                          "another output_dir", &self->lock));
  self->made_folder = !there; /* and nobody else's, who may have made it at the same time */
  ATH_TRY(ath_checkpoint_sweep(o->output_dir));
  if (o->overwrite_output_dir) return ATH_OK;
  return strcmp(from, "none") == 0 ? find_fresh_start(self) : find_checkpoint(self, from);
}

/* What the others do: they must see the very checkpoint that the first one found, `saved`. */
static ath_status follow_start(ath_run *self, int64_t saved) {
  const ath_train_options *o = &self->options;
  const char *from = o->resume_from_checkpoint;
  if (o->overwrite_output_dir || strcmp(from, "none") == 0) return ATH_OK;
  if (strcmp(from, "auto") != 0) return find_checkpoint(self, from);
  self->saved_step = saved;
  if (saved == 0) return ATH_OK;
  ATH_TRY(ath_checkpoint_path(self->start, o->output_dir, saved));
  ATH_TRY_CONTEXT(ath_checksums_verify(self->start, required, REQUIRED_COUNT),
                  "all processes must see the output_dir of the first");
  return read_position(self);
}

ath_status ath_run_find_start(ath_run *self) {
  ath_status status = ATH_OK;
  if (self->options.resume_from_checkpoint == NULL) self->options.resume_from_checkpoint = "auto";
  if (ath_run_leads(self)) status = find_start(self);
  int64_t saved = self->saved_step;
  ATH_TRY(ath_run_agree(self, status, &saved));
  return ath_run_leads(self) ? ATH_OK : follow_start(self, saved);
}

ath_status ath_run_start(ath_run *self) {
  assert(self->lock >= 0 || !ath_run_leads(self));
  if (self->start[0] != '\0') return load_checkpoint(self, self->start);
  if (self->options.overwrite_output_dir && ath_run_leads(self))
    ATH_TRY(remove_all(self->options.output_dir));
  return load_initial(self);
}
