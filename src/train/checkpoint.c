/* checkpoint.c: writing checkpoint folders, and keeping only the newest.
 *
 * A folder is written as "checkpoint-<step>.partial", every file flushed to disk, its checksums
 * last; then it is renamed and the rename flushed. Removing goes the same way back. So a folder
 * called checkpoint-<step> is whole unless the disk itself failed, and the checksums tell that. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "athanor/safetensors.h"
#include "base/outcome.h"
#include "train/checksums.h"
#include "train/run.h"
#include "train/state_json.h"

static const char BEGINNING[] = "checkpoint-";
static const char UNFINISHED[] = ".partial";

ath_status ath_checkpoint_path(char out[ATH_PATH_MAX], const char *output_dir, int64_t step) {
  char name[64];
  snprintf(name, sizeof name, "%s%lld", BEGINNING, (long long)step);
  return ath_path_join(out, output_dir, name);
}

static ath_status partial_path(char out[ATH_PATH_MAX], const char *output_dir, int64_t step) {
  char name[64];
  snprintf(name, sizeof name, "%s%lld%s", BEGINNING, (long long)step, UNFINISHED);
  return ath_path_join(out, output_dir, name);
}

/* The step of "checkpoint-<step>" followed by `ending`; −1 for any other name. */
static int64_t step_of(const char *name, const char *ending) {
  size_t length = strlen(BEGINNING);
  if (strncmp(name, BEGINNING, length) != 0 || name[length] < '1' || name[length] > '9') return -1;
  char *end = NULL;
  errno = 0;
  long long step = strtoll(name + length, &end, 10);
  return errno == 0 && strcmp(end, ending) == 0 ? step : -1;
}

/* --- the list ------------------------------------------------------------------------------ */

static int compare_steps(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? -1 : x > y;
}

static ath_status list_ending(const char *output_dir, const char *ending, int64_t *steps,
                              size_t *count) {
  char **names = NULL;
  size_t name_count = 0;
  *count = 0;
  if (!ath_path_exists(output_dir)) return ATH_OK;
  ATH_TRY(ath_folder_list(output_dir, &names, &name_count));
  for (size_t i = 0; i < name_count && *count < ATH_CHECKPOINTS_MAX; i++) {
    int64_t step = step_of(names[i], ending);
    if (step > 0) steps[(*count)++] = step;
  }
  ath_folder_list_free(names, name_count);
  qsort(steps, *count, sizeof *steps, compare_steps);
  return ATH_OK;
}

ath_status ath_checkpoint_list(const char *output_dir, int64_t *steps, size_t *count) {
  return list_ending(output_dir, "", steps, count);
}

/* --- removing ------------------------------------------------------------------------------ */

ath_status ath_checkpoint_remove(const char *output_dir, int64_t step) {
  char path[ATH_PATH_MAX], partial[ATH_PATH_MAX];
  ATH_TRY(ath_checkpoint_path(path, output_dir, step));
  ATH_TRY(partial_path(partial, output_dir, step));
  ATH_TRY(ath_folder_remove(partial));
  if (rename(path, partial) != 0 && errno != ENOENT)
    return ath_fail_errno(errno, "%s: cannot rename it", path);
  return ath_folder_remove(partial);
}

ath_status ath_checkpoint_sweep(const char *output_dir) {
  static const size_t bytes = ATH_CHECKPOINTS_MAX * sizeof(int64_t);
  int64_t *steps = malloc(bytes);
  if (steps == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list of checkpoints");
  size_t count = 0;
  ath_status status = list_ending(output_dir, UNFINISHED, steps, &count);
  for (size_t i = 0; i < count && status == ATH_OK; i++) {
    char partial[ATH_PATH_MAX];
    status = partial_path(partial, output_dir, steps[i]);
    if (status == ATH_OK) status = ath_folder_remove(partial);
  }
  free(steps);
  return status;
}

/* Torn folders count like whole ones: they are few, and the sweep of age takes them too. */
ath_status ath_run_keep_newest(const ath_run *self) {
  const char *output_dir = self->options.output_dir;
  int64_t limit = self->options.save_total_limit, pushed = ath_run_push_reads(self);
  if (limit == 0) return ATH_OK;
  int64_t *steps = malloc(ATH_CHECKPOINTS_MAX * sizeof *steps);
  if (steps == NULL) return ath_fail(ATH_NO_MEMORY, "no memory for a list of checkpoints");
  size_t count = 0;
  ath_status status = ath_checkpoint_list(output_dir, steps, &count);
  for (size_t i = 0; i + (size_t)limit < count && status == ATH_OK; i++)
    if (steps[i] != pushed) status = ath_checkpoint_remove(output_dir, steps[i]);
  free(steps);
  return status;
}

/* --- writing ------------------------------------------------------------------------------- */

ath_status ath_run_save_model(const ath_run *self, const char *folder) {
  char path[ATH_PATH_MAX];
  ATH_TRY(ath_folder_create(folder));
  ATH_TRY(ath_path_join(path, folder, "config.json"));
  const ath_model_config *config = ath_model_get_config(self->model);
  ATH_TRY(ath_model_config_save(config, path));
  ATH_TRY(ath_tokenizer_save(self->tokenizer, folder, ath_model_config_max_length(config)));
  ATH_TRY(ath_run_save_card(self, folder));
  ATH_TRY(ath_path_join(path, folder, "model.safetensors"));
  return ath_model_save(self->model, self->state, path);
}

/* Moments as "m.<parameter>" and "v.<parameter>". */
static ath_status fill_moments(const ath_run *self, ath_tensor_entry *entries, char *values,
                               char (*names)[ATH_PARAMETER_NAME_MAX + 4]) {
  size_t count = ath_model_parameter_count(self->model), filled = 0;
  for (size_t i = 0; i < 2 * count; i++) {
    const ath_parameter *p = ath_model_parameter(self->model, i / 2);
    snprintf(names[i], sizeof names[i], "%c.%s", i % 2 == 0 ? 'm' : 'v', p->name);
    size_t bytes = ath_type_bytes(&p->type);
    ATH_TRY(ath_state_read(self->state, names[i], values + filled, bytes));
    entries[i] = (ath_tensor_entry){names[i], p->type, values + filled};
    filled += bytes;
  }
  assert(filled == 2 * (size_t)ath_model_size(self->model) * sizeof(float));
  return ATH_OK;
}

static ath_status save_moments(const ath_run *self, const char *path) {
  size_t count = 2 * ath_model_parameter_count(self->model);
  ath_tensor_entry *entries = calloc(count, sizeof *entries);
  char(*names)[ATH_PARAMETER_NAME_MAX + 4] = calloc(count, sizeof *names);
  char *values = malloc(2 * (size_t)ath_model_size(self->model) * sizeof(float));
  ath_status status = ATH_OK;
  if (entries == NULL || names == NULL || values == NULL)
    status = ath_fail(ATH_NO_MEMORY, "%s: no memory for the moments", path);
  if (status == ATH_OK) status = fill_moments(self, entries, values, names);
  if (status == ATH_OK) status = ath_safetensors_save(path, entries, count);
  free(values);
  free(names);
  free(entries);
  return status;
}

/* The checksums come last: a folder without them was not finished. */
static ath_status write_contents(const ath_run *self, const char *folder) {
  char training[ATH_PATH_MAX], path[ATH_PATH_MAX];
  ATH_TRY(ath_run_save_model(self, folder));
  ATH_TRY(ath_path_join(training, folder, "training"));
  ATH_TRY(ath_folder_create(training));
  ATH_TRY(ath_path_join(path, training, "optimizer.safetensors"));
  ATH_TRY(save_moments(self, path));
  ATH_TRY(ath_path_join(path, training, "state.json"));
  ATH_TRY(ath_state_json_write(self, path));
  ATH_TRY(ath_folder_sync(training));
  ATH_TRY(ath_checksums_write(folder));
  return ath_folder_sync(folder);
}

ath_status ath_run_save_checkpoint(ath_run *self) {
  const char *output_dir = self->options.output_dir;
  int64_t step = self->position.step;
  char path[ATH_PATH_MAX], partial[ATH_PATH_MAX];
  assert(step > 0);
  if (step == self->saved_step) return ATH_OK;
  ATH_TRY(ath_state_gather(self->state));
  if (!ath_run_leads(self)) {
    self->saved_step = step;
    return ATH_OK;
  }
  ATH_TRY(ath_checkpoint_path(path, output_dir, step));
  ATH_TRY(partial_path(partial, output_dir, step));
  ATH_TRY(ath_checkpoint_remove(output_dir, step)); /* a torn one of the same step */
  ath_status status = write_contents(self, partial);
  if (status == ATH_OK && rename(partial, path) != 0)
    status = ath_fail_errno(errno, "%s: cannot rename it", partial);
  if (status != ATH_OK) {
    ath_outcome failure;
    ath_outcome_keep(&failure, ath_context(status, "checkpoint of step %lld", (long long)step));
    /* The room is needed more than the half-written folder; its failure is of no interest. */
    status = ath_folder_remove(partial);
    return ath_outcome_return(&failure);
  }
  ATH_TRY(ath_folder_sync(output_dir));
  self->saved_step = step;
  return ath_run_keep_newest(self);
}
